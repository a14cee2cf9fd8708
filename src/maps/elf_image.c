/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads ELF objects from memory.  Run by the unwinding worker. */
#include "maps/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/elf_header.h"
#include "base/sys.h"

/* Bounds on what a damaged header can make us do. */
#define MAX_HEADERS 64
#define MAX_NOTES 64

/* Segments are mapped in whole pages, which may be larger than HS_PAGE_BYTES. */
static uint64_t page_bytes(void)
{
	return getauxval(AT_PAGESZ);
}

static uint64_t page_down(uint64_t value)
{
	return value & ~(page_bytes() - 1);
}

static uint64_t page_up(uint64_t value)
{
	return page_down(value + page_bytes() - 1);
}

int hs_elf_headers_find(struct hs_elf_headers *headers, uint64_t base, uint64_t limit)
{
	ElfW(Ehdr) header;
	int error;

	if (limit <= base || limit - base < sizeof header)
		return -ENOEXEC;
	error = hs_sys_read_memory_all(base, &header, sizeof header);
	if (error < 0)
		return error;
	if (!hs_elf_header_is_ours(&header) ||
	    (header.e_type != ET_DYN && header.e_type != ET_EXEC) ||
	    header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0 ||
	    header.e_phnum > MAX_HEADERS)
		return -ENOEXEC;
	*headers = (struct hs_elf_headers){header.e_phoff, header.e_phnum * sizeof(ElfW(Phdr))};
	return 0;
}

/* Run-time address of what a header describes, if a segment holds all of it; else 0. */
static uint64_t locate(const struct hs_elf_image *image, const ElfW(Phdr) *header)
{
	uint64_t address = image->load_bias + header->p_vaddr;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct hs_elf_segment *segment = &image->segments[i];
		if (address >= segment->start && address < segment->end)
			return header->p_memsz <= segment->end - address ? address : 0;
	}
	return 0;
}

static void add_segment(struct hs_elf_image *image, const ElfW(Phdr) *header)
{
	uint64_t start = page_down(header->p_vaddr);
	uint64_t bytes = header->p_vaddr - start + header->p_memsz;
	struct hs_elf_segment *segment = &image->segments[image->segment_count];

	if (header->p_memsz == 0 || header->p_memsz > INT64_MAX - page_bytes() ||
	    header->p_vaddr > INT64_MAX - header->p_memsz || header->p_offset > INT64_MAX ||
	    image->segment_count == HS_ELF_SEGMENTS)
		return;
	*segment = (struct hs_elf_segment){
		.start = image->load_bias + start,
		.end = image->load_bias + start + page_up(bytes),
		.offset = page_down(header->p_offset),
		.executable = (header->p_flags & PF_X) != 0,
	};
	if (segment->start < segment->end)
		image->segment_count++;
}

static void set_build_id(struct hs_elf_image *image, uint64_t address, uint32_t bytes)
{
	unsigned char id[HS_BUILD_ID_HEX_BYTES / 2];

	if (bytes > sizeof id)
		bytes = sizeof id;
	if (hs_sys_read_memory_all(address, id, bytes) == 0)
		hs_build_id_format(image->build_id, id, bytes);
}

/* One step through a note segment: address of the next note, 0 at the end. */
static uint64_t read_note(struct hs_elf_image *image, uint64_t address, uint64_t end,
			  uint64_t align)
{
	char head[HS_NOTE_HEAD_BYTES];
	struct hs_note note;

	if (end - address < sizeof head || hs_sys_read_memory_all(address, head, sizeof head) < 0 ||
	    !hs_note_read(&note, head, end - address, align))
		return 0;
	if (!note.is_build_id)
		return address + note.next;
	set_build_id(image, address + note.contents, note.bytes);
	return 0;
}

static void read_notes(struct hs_elf_image *image, const ElfW(Phdr) *header)
{
	uint64_t address = locate(image, header);
	uint64_t end = address + header->p_memsz;

	for (int i = 0; i < MAX_NOTES && address != 0 && address < end; i++)
		address = read_note(image, address, end, header->p_align);
}

static bool find_bias(const ElfW(Phdr) *headers, unsigned count, uint64_t base, uint64_t *bias)
{
	for (unsigned i = 0; i < count; i++) {
		if (headers[i].p_type == PT_LOAD && page_down(headers[i].p_offset) == 0) {
			*bias = base - page_down(headers[i].p_vaddr);
			return true;
		}
	}
	return false;
}

int hs_elf_image_read_by_headers(struct hs_elf_image *image, uint64_t base, uint64_t address,
				 uint32_t bytes)
{
	ElfW(Phdr) headers[MAX_HEADERS];
	unsigned count = bytes / sizeof headers[0];
	int error;

	memset(image, 0, sizeof *image);
	if (count > MAX_HEADERS)
		return -ENOEXEC;
	error = hs_sys_read_memory_all(address, headers, count * sizeof headers[0]);
	if (error < 0)
		return error;
	if (!find_bias(headers, count, base, &image->load_bias))
		return -ENOEXEC;
	for (unsigned i = 0; i < count; i++) {
		if (headers[i].p_type == PT_LOAD)
			add_segment(image, &headers[i]);
	}
	for (unsigned i = 0; i < count; i++) {
		if (headers[i].p_type == PT_NOTE && image->build_id[0] == '\0')
			read_notes(image, &headers[i]);
		if (headers[i].p_type == PT_GNU_EH_FRAME) {
			image->eh_frame_hdr = locate(image, &headers[i]);
			if (image->eh_frame_hdr != 0)
				image->eh_frame_hdr_bytes = headers[i].p_memsz;
		}
	}
	return 0;
}

int hs_elf_image_read(struct hs_elf_image *image, uint64_t base, uint64_t limit)
{
	struct hs_elf_headers headers;
	int error = hs_elf_headers_find(&headers, base, limit);

	if (error < 0)
		return error;
	if (headers.offset > limit - base || headers.bytes > limit - base - headers.offset)
		return -ENOEXEC;
	return hs_elf_image_read_by_headers(image, base, base + headers.offset, headers.bytes);
}

const struct hs_elf_segment *hs_elf_image_code_segment(const struct hs_elf_image *image,
						       uint64_t start, uint64_t end,
						       uint64_t offset)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct hs_elf_segment *segment = &image->segments[i];
		if (segment->executable && start < segment->end && end > segment->start &&
		    start - offset == segment->start - segment->offset)
			return segment;
	}
	return NULL;
}
