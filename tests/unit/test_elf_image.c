/* SPDX-License-Identifier: BSD-2-Clause */
#include "maps/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/elf_header.h"
#include "check.h"

#define IMAGE_BYTES ((size_t)16 * 4096)

/* A made-up object in memory.  Its first page holds the headers and a note. */
static unsigned char *memory;
static ElfW(Ehdr) *header;
static ElfW(Phdr) *headers;
static struct hs_elf_image image;

#define NOTE_OFFSET 0x800

static ElfW(Phdr) *add_header(unsigned type, unsigned flags, uint64_t vaddr, uint64_t offset,
			      uint64_t bytes)
{
	ElfW(Phdr) *added = &headers[header->e_phnum++];

	*added = (ElfW(Phdr)){
		.p_type = type,
		.p_flags = flags,
		.p_vaddr = vaddr,
		.p_offset = offset,
		.p_filesz = bytes,
		.p_memsz = bytes,
		.p_align = type == PT_LOAD ? 4096 : 4,
	};
	return added;
}

static void begin_image(void)
{
	memset(memory, 0, IMAGE_BYTES);
	header = (ElfW(Ehdr) *)(void *)memory;
	headers = (ElfW(Phdr) *)(void *)(memory + sizeof *header);
	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_type = ET_DYN;
	header->e_machine = __ehdr_start.e_machine;
	header->e_phoff = sizeof *header;
	header->e_phentsize = sizeof *headers;
}

static size_t add_note(size_t offset, unsigned type, const char *name, const void *data,
		       size_t bytes)
{
	ElfW(Nhdr) note = { (unsigned)strlen(name) + 1, (unsigned)bytes, type };

	memcpy(memory + offset, &note, sizeof note);
	offset += sizeof note;
	memcpy(memory + offset, name, strlen(name) + 1);
	offset += (strlen(name) + 4) & ~(size_t)3;
	memcpy(memory + offset, data, bytes);
	return offset + ((bytes + 3) & ~(size_t)3);
}

static int read_image(void)
{
	return hs_elf_image_read(&image, (uintptr_t)memory, (uintptr_t)memory + 4096);
}

/* As GNU ld lays objects out: each segment follows the one before in memory and file. */
static void make_contiguous(void)
{
	begin_image();
	add_header(PT_LOAD, PF_R, 0, 0, 0x1780);
	add_header(PT_LOAD, PF_R | PF_X, 0x2000, 0x2000, 0x2345);
	add_header(PT_LOAD, PF_R, 0x5000, 0x5000, 0x1000);
	add_header(PT_LOAD, PF_R | PF_W, 0x7df0, 0x6df0, 0x400);
}

static bool code_span(uint64_t vaddr, uint64_t bytes, uint64_t offset, struct hs_elf_segment *span)
{
	uint64_t start = (uintptr_t)memory + vaddr;
	const struct hs_elf_segment *segment =
		hs_elf_image_code_segment(&image, start, start + bytes, offset);

	if (segment != NULL)
		*span = *segment;
	return segment != NULL;
}

static void test_code_is_its_segment(void)
{
	struct hs_elf_segment span;

	make_contiguous();
	CHECK_INT(read_image(), 0);
	CHECK_INT(image.segment_count, 4);
	CHECK_INT(image.load_bias, (uintptr_t)memory);
	CHECK(code_span(0x2000, 0x3000, 0x2000, &span));
	CHECK_INT(span.start, (uintptr_t)memory + 0x2000);
	CHECK_INT(span.end, (uintptr_t)memory + 0x5000);
	CHECK_INT(span.offset, 0x2000);
	/* From a part of the segment follows all of it. */
	CHECK(code_span(0x3000, 0x1000, 0x3000, &span));
	CHECK_INT(span.start, (uintptr_t)memory + 0x2000);
	CHECK_INT(span.end, (uintptr_t)memory + 0x5000);
}

static void test_other_layouts(void)
{
	struct hs_elf_segment span;

	/* As lld: addresses are a page ahead of the offsets. */
	begin_image();
	add_header(PT_LOAD, PF_R, 0, 0, 0x1780);
	add_header(PT_LOAD, PF_R | PF_X, 0x2780, 0x1780, 0x2000);
	CHECK_INT(read_image(), 0);
	CHECK(code_span(0x2000, 0x3000, 0x1000, &span));
	CHECK_INT(span.start, (uintptr_t)memory + 0x2000);
	CHECK_INT(span.end, (uintptr_t)memory + 0x5000);
	CHECK_INT(span.offset, 0x1000);

	/* The first segment begins behind the headers, which are mapped with its first page. */
	begin_image();
	add_header(PT_LOAD, PF_R | PF_X, 0x1540, 0x540, 0x1000);
	CHECK_INT(read_image(), 0);
	CHECK_INT(image.load_bias, (uintptr_t)memory - 0x1000);
	CHECK(code_span(0, 0x2000, 0, &span));
	CHECK_INT(span.start, (uintptr_t)memory);
	CHECK_INT(span.end, (uintptr_t)memory + 0x2000);

	/* A hole in the addresses and in the file. */
	begin_image();
	add_header(PT_LOAD, PF_R, 0, 0, 0x1780);
	add_header(PT_LOAD, PF_R | PF_X, 0x3000, 0x3000, 0x2000);
	CHECK_INT(read_image(), 0);
	CHECK(code_span(0x3000, 0x2000, 0x3000, &span));
	CHECK_INT(span.start, (uintptr_t)memory + 0x3000);

	/* Other code between them has a mapping of its own. */
	begin_image();
	add_header(PT_LOAD, PF_R, 0, 0, 0x1000);
	add_header(PT_LOAD, PF_R | PF_X, 0x1000, 0x1000, 0x1000);
	add_header(PT_LOAD, PF_R | PF_X, 0x2000, 0x2000, 0x1000);
	CHECK_INT(read_image(), 0);
	CHECK(code_span(0x2000, 0x1000, 0x2000, &span));
	CHECK_INT(span.start, (uintptr_t)memory + 0x2000);
	CHECK_INT(span.offset, 0x2000);
	CHECK(code_span(0x1000, 0x1000, 0x1000, &span));
	CHECK_INT(span.start, (uintptr_t)memory + 0x1000);
}

static void test_code_that_is_not_where_the_file_says(void)
{
	struct hs_elf_segment span;

	make_contiguous();
	CHECK_INT(read_image(), 0);
	CHECK(!code_span(0x2000, 0x1000, 0x3000, &span));
	CHECK(!code_span(0x5000, 0x1000, 0x5000, &span));
	CHECK(!code_span(0x20000, 0x1000, 0x20000, &span));
}

static void test_fixed_address(void)
{
	make_contiguous();
	header->e_type = ET_EXEC;
	for (unsigned i = 0; i < header->e_phnum; i++)
		headers[i].p_vaddr += (uintptr_t)memory;
	CHECK_INT(read_image(), 0);
	CHECK_INT(image.load_bias, 0);
	CHECK_INT(image.segments[1].start, (uintptr_t)memory + 0x2000);
}

static void test_build_id(void)
{
	static const unsigned char id[] = { 0x01, 0xab, 0xff, 0x00, 0x9c };
	unsigned char long_id[40];
	size_t end;

	memset(long_id, 0x5a, sizeof long_id);
	make_contiguous();
	end = add_note(NOTE_OFFSET, NT_GNU_ABI_TAG, "GNU", "0123456789abcdef", 16);
	end = add_note(end, NT_GNU_BUILD_ID, "Go", "xx", 2);
	end = add_note(end, NT_GNU_BUILD_ID, "GNU", id, sizeof id);
	add_header(PT_NOTE, PF_R, NOTE_OFFSET, NOTE_OFFSET, end - NOTE_OFFSET);
	CHECK_INT(read_image(), 0);
	CHECK_STR(image.build_id, "01abff009c");

	/* Where the segment is aligned to 8 bytes so are its notes. */
	make_contiguous();
	add_note(NOTE_OFFSET, NT_GNU_ABI_TAG, "GNU", "0123", 4);
	end = add_note(NOTE_OFFSET + 24, NT_GNU_BUILD_ID, "GNU", id, sizeof id);
	add_header(PT_NOTE, PF_R, NOTE_OFFSET, NOTE_OFFSET, end - NOTE_OFFSET)->p_align = 8;
	CHECK_INT(read_image(), 0);
	CHECK_STR(image.build_id, "01abff009c");

	make_contiguous();
	end = add_note(NOTE_OFFSET, NT_GNU_BUILD_ID, "GNU", long_id, sizeof long_id);
	add_header(PT_NOTE, PF_R, NOTE_OFFSET, NOTE_OFFSET, end - NOTE_OFFSET);
	CHECK_INT(read_image(), 0);
	CHECK_INT(strlen(image.build_id), HS_BUILD_ID_HEX_BYTES - 1);

	/* After notes of two pages. */
	make_contiguous();
	end = add_note(0x2000, NT_GNU_PROPERTY_TYPE_0, "GNU", "0123", 4);
	((ElfW(Nhdr) *)(void *)(memory + 0x2000))->n_descsz = 0x2000;
	end = add_note(end - 4 + 0x2000, NT_GNU_BUILD_ID, "GNU", id, sizeof id);
	add_header(PT_NOTE, PF_R, 0x2000, 0x2000, end - 0x2000);
	CHECK_INT(read_image(), 0);
	CHECK_STR(image.build_id, "01abff009c");
}

static void test_bad_notes(void)
{
	static const unsigned lengths[] = { 5, 0xfffffff0, 0xffffffff, 0x7fffffff };

	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		ElfW(Nhdr) *note = (ElfW(Nhdr) *)(void *)(memory + NOTE_OFFSET);

		make_contiguous();
		add_note(NOTE_OFFSET, NT_GNU_BUILD_ID, "GNU", "0123", 4);
		add_header(PT_NOTE, PF_R, NOTE_OFFSET, NOTE_OFFSET, 20);
		note->n_descsz = lengths[i];
		CHECK_INT(read_image(), 0);
		CHECK_STR(image.build_id, "");
		note->n_descsz = 4;
		note->n_namesz = lengths[i];
		CHECK_INT(read_image(), 0);
		CHECK_STR(image.build_id, "");
	}
}

static void test_eh_frame_hdr_must_lie_in_a_segment(void)
{
	ElfW(Phdr) *frames;

	make_contiguous();
	frames = add_header(PT_GNU_EH_FRAME, PF_R, 0x5100, 0x5100, 0x100);
	CHECK_INT(read_image(), 0);
	CHECK_INT(image.eh_frame_hdr, (uintptr_t)memory + 0x5100);
	CHECK_INT(image.eh_frame_hdr_bytes, 0x100);
	frames->p_memsz = 0x1000;
	CHECK_INT(read_image(), 0);
	CHECK_INT(image.eh_frame_hdr, 0);
	CHECK_INT(image.eh_frame_hdr_bytes, 0);
	frames->p_memsz = UINT64_MAX;
	CHECK_INT(read_image(), 0);
	CHECK_INT(image.eh_frame_hdr, 0);
	frames->p_memsz = 0x10;
	frames->p_vaddr = 0x90000;
	CHECK_INT(read_image(), 0);
	CHECK_INT(image.eh_frame_hdr, 0);
}

static void test_bad_headers(void)
{
	make_contiguous();
	memory[0] = 'x';
	CHECK_INT(read_image(), -ENOEXEC);
	make_contiguous();
	header->e_machine = EM_386;
	CHECK_INT(read_image(), -ENOEXEC);
	make_contiguous();
	header->e_phnum = 0xffff;
	CHECK_INT(read_image(), -ENOEXEC);
	make_contiguous();
	header->e_phentsize--;
	CHECK_INT(read_image(), -ENOEXEC);
	make_contiguous();
	header->e_phoff = UINT64_MAX - 8;
	CHECK_INT(read_image(), -ENOEXEC);
	make_contiguous();
	header->e_phoff = 4096 - 8;
	CHECK_INT(read_image(), -ENOEXEC);
	make_contiguous();
	headers[0].p_offset = 0x1000;
	CHECK_INT(read_image(), -ENOEXEC);
	make_contiguous();
	CHECK_INT(hs_elf_image_read(&image, (uintptr_t)memory, (uintptr_t)memory + 63), -ENOEXEC);
	CHECK_INT(hs_elf_image_read(&image, (uintptr_t)memory, (uintptr_t)memory), -ENOEXEC);
	CHECK_INT(hs_elf_image_read(&image, 0x1000, 0x2000), -EFAULT);
}

static void test_random_damage(void)
{
	struct hs_elf_segment span;
	unsigned seed = 1;

	for (int round = 0; round < 20000; round++) {
		make_contiguous();
		add_note(NOTE_OFFSET, NT_GNU_BUILD_ID, "GNU", "0123456789", 10);
		add_header(PT_NOTE, PF_R, NOTE_OFFSET, NOTE_OFFSET, 28);
		add_header(PT_GNU_EH_FRAME, PF_R, 0x5100, 0x5100, 0x100);
		for (int i = 0; i < 4; i++) {
			size_t header_bytes = sizeof *header + 6 * sizeof *headers;
			size_t at = (size_t)rand_r(&seed) % (header_bytes + 28);
			if (at >= header_bytes)
				at += NOTE_OFFSET - header_bytes;
			memory[at] = (unsigned char)rand_r(&seed);
		}
		if (read_image() == 0) {
			CHECK(image.segment_count <= HS_ELF_SEGMENTS);
			CHECK(strlen(image.build_id) < sizeof image.build_id);
			code_span(0x2000, 0x1000, 0x2000, &span);
		}
	}
}

/* What the loader says about one object. */
static int compare_object(struct dl_phdr_info *info, size_t size, void *context)
{
	int *compared = context;
	const ElfW(Phdr) *first = NULL, *frames = NULL;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *program_header = &info->dlpi_phdr[i];
		if (program_header->p_type == PT_LOAD && program_header->p_offset == 0)
			first = program_header;
		if (program_header->p_type == PT_GNU_EH_FRAME)
			frames = program_header;
	}
	CHECK(first != NULL);
	CHECK_INT(hs_elf_image_read(&image, info->dlpi_addr + first->p_vaddr,
				    info->dlpi_addr + first->p_vaddr + first->p_memsz), 0);
	CHECK_INT(image.load_bias, info->dlpi_addr);
	CHECK(frames != NULL);
	CHECK_INT(image.eh_frame_hdr, info->dlpi_addr + frames->p_vaddr);
	CHECK_INT(image.eh_frame_hdr_bytes, frames->p_memsz);
	++*compared;
	return 0;
}

static void test_loaded_objects(void)
{
	int compared = 0;

	dl_iterate_phdr(compare_object, &compared);
	CHECK(compared >= 3);
}

static void test_vdso(void)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR);

	if (base == 0)
		return;
	CHECK_INT(hs_elf_image_read(&image, base, base + 4096), 0);
	CHECK(image.eh_frame_hdr > base);
	CHECK(image.build_id[0] != '\0');
}

int main(void)
{
	memory = mmap(NULL, IMAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (memory == MAP_FAILED)
		return 99;
	RUN(test_code_is_its_segment);
	RUN(test_other_layouts);
	RUN(test_code_that_is_not_where_the_file_says);
	RUN(test_fixed_address);
	RUN(test_build_id);
	RUN(test_bad_notes);
	RUN(test_eh_frame_hdr_must_lie_in_a_segment);
	RUN(test_bad_headers);
	RUN(test_random_damage);
	RUN(test_loaded_objects);
	RUN(test_vdso);
	return CHECK_RESULT();
}
