/* SPDX-License-Identifier: BSD-2-Clause */
/* Damaged objects, failing system calls and short memory: the symbol reader survives them. */
#include "symbolize/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/arena.h"
#include "base/sys.h"
#include "check.h"
#include "elf_loader.h"
#include "symbolize/debug_file.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define FUNCTION(name, value, bytes) { name, value, bytes, STB_GLOBAL, STT_FUNC, ELF_TEXT }
#define MUTATIONS 20000

/* The contents of .gnu_debuglink, and the name that they have. */
static void damaged_links_are_none(void)
{
	static const struct {
		const char *name;
		size_t bytes;
		char contents[16];
	} cases[] = {
		{"abc", 8, "abc\0CRC!"},      {"abcd", 12, "abcd\0\0\0\0CRC!"},
		{"", 7, "abc\0CRC"},           {"", 8, "abcdCRC!"},
		{"", 12, "../a\0\0\0\0CRC!"}, {"", 0, ""},
	};
	char path[PATH_MAX];

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct hs_debug_key key = {.path = "/dir/object"};

		hs_debug_key_set_link(&key, cases[i].contents, cases[i].bytes);
		CHECK_STR(key.link, cases[i].name);
		CHECK(key.checksum == 0 || memcmp(&key.checksum, "CRC!", 4) == 0);
		CHECK_INT(key.checksum != 0, cases[i].name[0] != '\0');
		CHECK_INT(hs_debug_file_path(&key, 1, path), cases[i].name[0] != '\0');
		/* Beside a file of which only a part of the path is known there is none. */
		key.path = "dir/object";
		CHECK(!hs_debug_file_path(&key, 1, path));
		/* Nor by the first byte of a build id. */
		memcpy(key.build_id, "ab", sizeof "ab");
		CHECK(!hs_debug_file_path(&key, 0, path));
	}
}

static const unsigned char id[] = { 0xab, 0xcd, 0xef, 0x01 };
static const struct elf_symbol plain[] = {
	FUNCTION("first", 0x1000, 0x20),
	FUNCTION("second", 0x1020, 0x20),
	FUNCTION("third@@V1", 0x1100, 0x40),
};
static const struct elf_symbol exported[] = {
	FUNCTION("fourth", 0x1200, 0x40),
	FUNCTION("outer", 0x1000, 0x400),
};
static const struct elf_spec full = {
	.symbols = plain,
	.count = COUNT(plain),
	.dynamic = exported,
	.dynamic_count = COUNT(exported),
	.build_id = id,
	.build_id_bytes = sizeof id,
	.debug_name = ".debug_info",
};

static struct elf_image image;

/* Loads the image as it is.  The name found at address must be name (NULL: none). */
static void check_image(uint64_t address, const char *name)
{
	struct hs_symbols *symbols;
	int result;

	symbols = load_image(&image, &result);
	CHECK_INT(result, 0);
	if (symbols != NULL && !same_name(hs_symbols_find(symbols, address), name)) {
		fprintf(stderr, "at %#llx: expected %s\n", (unsigned long long)address,
			name ? name : "nothing");
		CHECK(!"name");
	}
	hs_symbols_free(symbols);
}

static void check_refused(void)
{
	int result;

	CHECK(load_image(&image, &result) == NULL);
	CHECK_INT(result, -ENOEXEC);
}

static void refuses_what_is_no_object_of_this_machine(void)
{
	Elf64_Ehdr *header = elf_header(&image);
	int result;

	elf_write(&image, &full);
	check_image(0x1000, "first");
	header->e_machine = EM_NONE;
	check_refused();
	elf_write(&image, &full);
	header->e_ident[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
	check_refused();
	elf_write(&image, &full);
	header->e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	check_refused();
	elf_write(&image, &full);
	header->e_ident[EI_MAG0] = 0;
	check_refused();
	elf_write(&image, &full);
	header->e_type = ET_CORE;
	check_refused();
	CHECK(load_bytes("", 0, "", &result) == NULL);
	CHECK_INT(result, -ENOEXEC);
}

/* Only symbols of the text section count; if there are two, none is taken for it. */
static void reads_relocatable_objects(void)
{
	static const struct elf_symbol symbols[] = {
		{"in_text", 0x1010, 16, STB_GLOBAL, STT_FUNC, ELF_TEXT},
		{"in_data", 0x4010, 16, STB_GLOBAL, STT_FUNC, ELF_DATA},
	};
	const struct elf_spec spec = {.symbols = symbols, .count = 2};
	Elf64_Shdr *sections;

	elf_write(&image, &spec);
	check_image(0x1010, "in_text");
	check_image(0x4010, "in_data");
	elf_header(&image)->e_type = ET_REL;
	check_image(0x1010, "in_text");
	check_image(0x4010, NULL);
	sections = (void *)(image.data + elf_header(&image)->e_shoff);
	sections[ELF_DATA].sh_flags |= SHF_EXECINSTR;
	check_image(0x1010, NULL);
	check_image(0x4010, NULL);
}

static void refuses_what_is_no_file(void)
{
	struct hs_symbols *symbols = NULL;
	char path[] = "/tmp/test_symbols.XXXXXX";

	CHECK_INT(load_path("/nonexistent", "", NULL, &symbols), -ENOENT);
	CHECK_INT(load_path("", "", NULL, &symbols), -ENOENT);
	CHECK_INT(load_path("/", "", NULL, &symbols), -ENOEXEC);
	CHECK_INT(load_path("/dev/zero", "", NULL, &symbols), -ENOEXEC);
	/* A pipe without a writer: opening it would block. */
	close(mkstemp(path));
	unlink(path);
	CHECK_INT(mkfifo(path, 0600), 0);
	CHECK_INT(load_path(path, "", NULL, &symbols), -ENOEXEC);
	unlink(path);
	CHECK(symbols == NULL);
}

static void survives_truncation(void)
{
	size_t step, whole;
	int result;

	elf_write(&image, &full);
	whole = image.bytes;
	for (step = 0; step < 64; step++) {
		struct hs_symbols *symbols;

		symbols = load_bytes(image.data, whole * step / 64, "", &result);
		CHECK_INT(result, whole * step / 64 < sizeof(Elf64_Ehdr) ? -ENOEXEC : 0);
		/* The section headers come last: without them nothing has a name. */
		CHECK(symbols == NULL || hs_symbols_find(symbols, 0x1000) == NULL);
		hs_symbols_free(symbols);
	}
	check_image(0x1000, "first");
}

static void survives_damaged_section_tables(void)
{
	Elf64_Ehdr *header = elf_header(&image);

	elf_write(&image, &full);
	header->e_shoff = image.bytes;
	check_image(0x1000, NULL);
	header->e_shoff = UINT64_MAX - 8;
	check_image(0x1000, NULL);
	header->e_shnum = 0;
	check_image(0x1000, NULL);
	/* Only one size is right. */
	elf_write(&image, &full);
	header->e_shentsize = 40;
	check_image(0x1000, "first");
	elf_write(&image, &full);
	header->e_shnum = UINT16_MAX;
	check_image(0x1000, NULL);
	elf_write(&image, &full);
	header->e_shstrndx = 5000;
	check_image(0x1000, "first");
}

static void leaves_out_damaged_tables(void)
{
	static const struct {
		unsigned section;
		uint64_t offset, size, entry_size;
		uint32_t link;
	} cases[] = {
		{ ELF_SYMTAB, 1 << 30, 96, 24, ELF_STRTAB },
		{ ELF_SYMTAB, UINT64_MAX - 16, 96, 24, ELF_STRTAB },
		{ ELF_SYMTAB, 64, UINT64_MAX - 32, 24, ELF_STRTAB },
		{ ELF_SYMTAB, 64, (1ull << 30) + 24, 24, ELF_STRTAB },
		{ ELF_SYMTAB, 64, 0, 24, ELF_STRTAB },
		{ ELF_SYMTAB, 64, 96, 0, ELF_STRTAB },
		{ ELF_SYMTAB, 64, 96, 16, ELF_STRTAB },
		{ ELF_SYMTAB, 64, 96, 24, 77 },
		{ ELF_SYMTAB, 64, 96, 24, UINT32_MAX },
		{ ELF_SYMTAB, 64, 96, 24, ELF_SYMTAB },
		{ ELF_STRTAB, 1 << 30, 30, 0, 0 },
		{ ELF_STRTAB, 64, UINT64_MAX - 64, 0, 0 },
		{ ELF_STRTAB, 64, 0, 0, 0 },
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		Elf64_Shdr *section;

		elf_write(&image, &full);
		section = elf_section(&image, cases[i].section);
		section->sh_offset = cases[i].offset;
		section->sh_size = cases[i].size;
		section->sh_entsize = cases[i].entry_size;
		section->sh_link = cases[i].link;
		/* The other table is still used. */
		check_image(0x1000, "outer");
		check_image(0x1210, "fourth");
	}
}

static Elf64_Sym *symbol_at(unsigned table, unsigned index)
{
	return (Elf64_Sym *)(void *)(image.data + elf_section(&image, table)->sh_offset) + index;
}

static void leaves_out_damaged_symbols(void)
{
	elf_write(&image, &full);
	symbol_at(ELF_SYMTAB, 1)->st_name = UINT32_MAX;
	check_image(0x1000, "outer");
	check_image(0x1020, "second");
	symbol_at(ELF_SYMTAB, 1)->st_name =
		(uint32_t)elf_section(&image, ELF_STRTAB)->sh_size;
	check_image(0x1000, "outer");
	/* The last name has no end. */
	elf_write(&image, &full);
	elf_section(&image, ELF_STRTAB)->sh_size -= 2;
	check_image(0x1100, "outer");
	check_image(0x1020, "second");
	/* A symbol and a half less. */
	elf_write(&image, &full);
	elf_section(&image, ELF_SYMTAB)->sh_size -= 36;
	check_image(0x1000, "first");
	check_image(0x1020, "outer");
	/* A section that wraps around the address space. */
	elf_write(&image, &full);
	elf_section(&image, ELF_TEXT)->sh_size = UINT64_MAX;
	check_image(0x1000, NULL);
	/* The end of the address space itself. */
	elf_write(&image, &full);
	elf_section(&image, ELF_TEXT)->sh_size = UINT64_MAX - ELF_TEXT_START;
	symbol_at(ELF_SYMTAB, 1)->st_value = UINT64_MAX - 1;
	symbol_at(ELF_SYMTAB, 1)->st_size = UINT64_MAX;
	check_image(UINT64_MAX - 1, "first");
	check_image(UINT64_MAX, NULL);
	/* A size larger than any function's. */
	elf_write(&image, &full);
	elf_section(&image, ELF_TEXT)->sh_size = (uint64_t)1 << 40;
	symbol_at(ELF_SYMTAB, 3)->st_size = (uint64_t)1 << 33;
	check_image(0x1100, "third");
	check_image(0x1100 + (1 << 28), "third");
}

static void leaves_out_names_without_an_end(void)
{
	static const size_t lengths[] = { 1, 255, 256, 5000, 16384, 20000 };
	static char name[20001];
	struct elf_symbol symbols[] = { FUNCTION("good", 0x1020, 0x20),
					FUNCTION(name, 0x1000, 0x20) };
	struct elf_spec spec = {.symbols = symbols, .count = COUNT(symbols)};

	for (size_t i = 0; i < COUNT(lengths); i++) {
		memset(name, 'a', lengths[i]);
		elf_write(&image, &spec);
		elf_section(&image, ELF_STRTAB)->sh_size--;
		check_image(0x1000, NULL);
		check_image(0x1020, "good");
	}
}

static void survives_damaged_notes(void)
{
	static const uint32_t sizes[] = { 0, 3, 5, 1000, UINT32_MAX - 3, UINT32_MAX };
	struct hs_symbols *symbols;
	size_t i, field;
	int result;

	/* Fields 0 and 1 are the sizes of the first note, 5 and 6 those of the second. */
	for (field = 0; field <= 6; field += field == 1 ? 4 : 1) {
		for (i = 0; i < COUNT(sizes); i++) {
			elf_write(&image, &full);
			memcpy(image.data + elf_section(&image, ELF_NOTE)->sh_offset + 4 * field,
			       &sizes[i], sizeof sizes[i]);
			symbols = load_bytes(image.data, image.bytes, "abcdef01", &result);
			CHECK(result == -ESTALE || result == 0);
			hs_symbols_free(symbols);
		}
	}
	elf_write(&image, &full);
	hs_symbols_free(load_bytes(image.data, image.bytes, "abcdef01", &result));
	CHECK_INT(result, 0);
	elf_section(&image, ELF_NOTE)->sh_size--;
	CHECK(load_bytes(image.data, image.bytes, "abcdef01", &result) == NULL);
	CHECK_INT(result, -ESTALE);
}

static void reads_build_id_without_section_headers(void)
{
	Elf64_Phdr segment = {.p_type = PT_NOTE, .p_align = 4};
	int result;

	elf_write(&image, &full);
	segment.p_offset = elf_section(&image, ELF_NOTE)->sh_offset;
	segment.p_filesz = elf_section(&image, ELF_NOTE)->sh_size;
	elf_header(&image)->e_phoff = elf_append(&image, &segment, sizeof segment);
	elf_header(&image)->e_phnum = 1;
	elf_header(&image)->e_phentsize = sizeof segment;
	elf_header(&image)->e_shoff = 0;
	hs_symbols_free(load_bytes(image.data, image.bytes, "abcdef01", &result));
	CHECK_INT(result, 0);
	check_image(0x1000, NULL);
	elf_header(&image)->e_phoff = UINT64_MAX - 8;
	CHECK(load_bytes(image.data, image.bytes, "abcdef01", &result) == NULL);
	CHECK_INT(result, -ESTALE);
}

static void survives_random_mutations(void)
{
	static struct elf_image original;
	size_t used = hs_arena_used(), count, loaded = 0;
	struct elf_spec spec = full;

	spec.many_sections = true;
	srand(2);
	for (count = 0; count < MUTATIONS; count++) {
		unsigned changes = 1 + (unsigned)rand() % 8;
		struct hs_symbols *symbols;
		uint64_t address;
		int result;

		elf_write(&original, count % 2 ? &spec : &full);
		while (changes-- > 0)
			original.data[(size_t)rand() % original.bytes] = (unsigned char)rand();
		symbols = load_image(&original, &result);
		if (symbols == NULL)
			continue;
		loaded++;
		for (address = 0xff0; address < 0x1410; address += 8) {
			const char *name = hs_symbols_find(symbols, address);
			CHECK(name == NULL || strlen(name) > 0);
		}
		hs_symbols_free(symbols);
	}
	CHECK(loaded > MUTATIONS / 2);
	CHECK_INT(hs_arena_used(), used);
}

static _Atomic long calls_left;

static long fail_later(long number)
{
	/* A descriptor is closed whatever close() returns. */
	return number != SYS_close && --calls_left < 0 ? -EIO : 0;
}

static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static void survives_failing_system_calls(void)
{
	int fd = memfd_create("image", MFD_CLOEXEC), free_fd = next_descriptor(), result;
	struct hs_symbols *symbols;
	unsigned named = 0;
	char path[64];
	long calls;

	elf_write(&image, &full);
	CHECK_INT(write(fd, image.data, image.bytes), image.bytes);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	for (calls = 0; calls < 40; calls++) {
		symbols = NULL;
		calls_left = calls;
		hs_sys_fault = fail_later;
		result = load_path(path, "abcdef01", NULL, &symbols);
		hs_sys_fault = NULL;
		CHECK((result == 0) == (symbols != NULL));
		if (symbols != NULL && same_name(hs_symbols_find(symbols, 0x1000), "first"))
			named++;
		hs_symbols_free(symbols);
		CHECK_INT(next_descriptor(), free_fd);
	}
	CHECK(named > 0 && named < 40);
	close(fd);
}

struct readings {
	bool outer, inner; /* whether a read fails in the call, and in the one inside it */
	bool found;        /* what the inner call said */
};

static int read_file(bool fails)
{
	const struct hs_elf_file file = {.descriptor = {.fd = -1}, .bytes = 1};
	char byte;

	calls_left = 0;
	hs_sys_fault = fails ? fail_later : NULL;
	if (fails)
		CHECK_INT(hs_elf_file_read(&file, &byte, 1, 0), -EIO);
	hs_sys_fault = NULL;
	return 0;
}

static int read_inner(void *context)
{
	return read_file(((struct readings *)context)->inner);
}

static int read_outer(void *context)
{
	struct readings *readings = context;

	read_file(readings->outer);
	return hs_elf_file_catch(read_inner, readings, &readings->found);
}

/* As when a name is needed at once, in a pause of the reading of another object. */
static void failed_reads_are_of_their_own_call(void)
{
	for (unsigned i = 0; i < 4; i++) {
		struct readings readings = {.outer = i & 1, .inner = i & 2};
		bool failed;

		CHECK_INT(hs_elf_file_catch(read_outer, &readings, &failed), 0);
		CHECK_INT(failed, readings.outer);
		CHECK_INT(readings.found, readings.inner);
	}
}

static long count_reads(long number)
{
	calls_left += number == SYS_pread64;
	return 0;
}

/* One procedure linkage table, and thousands of relocation sections in the same megabyte. */
static void reads_overlapping_relocations_within_bounds(void)
{
	static const unsigned char jump[16] = { 0xff, 0x25 };
	static Elf64_Shdr sections[4000];
	static const struct elf_spec spec = {.dynamic = exported, .dynamic_count = COUNT(exported),
					     .debug_name = ".plt"};
	int fd = memfd_create("image", MFD_CLOEXEC), result;
	size_t bytes = (size_t)1 << 20;
	struct hs_symbols *symbols = NULL;
	char path[64];

	elf_write(&image, &spec);
	memcpy(sections, elf_section(&image, 0), ELF_SECTIONS * sizeof *sections);
	sections[ELF_DEBUG].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	sections[ELF_DEBUG].sh_offset = elf_append(&image, jump, sizeof jump);
	for (size_t i = ELF_SECTIONS; i < COUNT(sections); i++)
		sections[i] = (Elf64_Shdr){.sh_type = SHT_RELA, .sh_link = ELF_DYNSYM,
					   .sh_size = bytes};
	elf_header(&image)->e_shoff = bytes;
	elf_header(&image)->e_shnum = COUNT(sections);
	CHECK_INT(write(fd, image.data, image.bytes), image.bytes);
	CHECK_INT(pwrite(fd, sections, sizeof sections, (off_t)bytes), sizeof sections);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	calls_left = 0;
	hs_sys_fault = count_reads;
	result = load_path(path, "", NULL, &symbols);
	hs_sys_fault = NULL;
	CHECK_INT(result, 0);
	/* A gibibyte in pieces of 12 KiB, and some. */
	CHECK(calls_left > 1000 && calls_left < 100000);
	hs_symbols_free(symbols);
	close(fd);
}

static void survives_short_memory(void)
{
	size_t used = hs_arena_used(), budget = hs_arena_budget(), more;
	int result = -ENOMEM, free_fd = next_descriptor();
	struct hs_symbols *symbols;

	elf_write(&image, &full);
	for (more = 0; more < 60000; more += 16) {
		hs_arena_set_budget(used + more);
		symbols = load_image(&image, &result);
		CHECK(result == 0 || result == -ENOMEM);
		CHECK((result == 0) == (symbols != NULL));
		CHECK(symbols == NULL || same_name(hs_symbols_find(symbols, 0x1000), "first"));
		hs_symbols_free(symbols);
		CHECK_INT(hs_arena_used(), used);
		CHECK_INT(next_descriptor(), free_fd);
	}
	CHECK_INT(result, 0);
	hs_arena_set_budget(budget);
}

/* 400 names of 99 bytes; one of them is wanted. */
static void needs_no_memory_for_what_is_not_wanted(void)
{
	size_t used = hs_arena_used(), budget = hs_arena_budget();
	static const uint64_t address = ELF_TEXT_START + 8 * 250 + 3;
	const struct hs_wanted wanted = { &address, 1 };
	static struct elf_symbol many[400];
	static char names[400][100];
	struct elf_spec spec = {.symbols = many, .count = 400};
	struct hs_symbols *symbols;
	int result;

	for (size_t i = 0; i < 400; i++) {
		snprintf(names[i], sizeof names[i], "%099zu", i);
		many[i] = (struct elf_symbol){ names[i], ELF_TEXT_START + 8 * i, 8, STB_GLOBAL,
					       STT_FUNC, ELF_TEXT };
	}
	elf_write(&image, &spec);
	hs_arena_set_budget(used + (40 << 10));
	CHECK(load_bytes(image.data, image.bytes, "", &result) == NULL);
	CHECK_INT(result, -ENOMEM);
	symbols = load_wanted(image.data, image.bytes, "", &wanted, &result);
	CHECK_INT(result, 0);
	CHECK_STR(hs_symbols_find(symbols, address), names[250]);
	CHECK(hs_symbols_find(symbols, address + 8) == NULL);
	hs_symbols_free(symbols);
	hs_arena_set_budget(budget);
}

static void reads_no_memory_past_the_image(void)
{
	struct hs_symbols *symbols = NULL;
	uint64_t start = (uintptr_t)image.data;

	elf_write(&image, &full);
	CHECK_INT(hs_symbols_load_memory(start, image.bytes, NULL, &symbols), 0);
	CHECK_STR(hs_symbols_find(symbols, 0x1000), "first");
	hs_symbols_free(symbols);
	CHECK_INT(hs_symbols_load_memory(start, image.bytes - 1, NULL, &symbols), 0);
	CHECK(hs_symbols_find(symbols, 0x1000) == NULL);
	hs_symbols_free(symbols);
}

static void leaves_descriptors_alone(void)
{
	int free_fd = next_descriptor();
	struct stat before, after;

	CHECK_INT(fstat(0, &before), 0);
	elf_write(&image, &full);
	check_image(0x1000, "first");
	elf_header(&image)->e_machine = EM_NONE;
	check_refused();
	CHECK_INT(next_descriptor(), free_fd);
	CHECK_INT(fstat(0, &after), 0);
	CHECK(before.st_ino == after.st_ino && before.st_dev == after.st_dev);
}

int main(void)
{
	if (hs_arena_init((size_t)64 << 20) < 0)
		return 1;
	hs_debug_file_root = "/nonexistent";
	RUN(damaged_links_are_none);
	RUN(leaves_descriptors_alone);
	RUN(refuses_what_is_no_object_of_this_machine);
	RUN(reads_relocatable_objects);
	RUN(refuses_what_is_no_file);
	RUN(reads_no_memory_past_the_image);
	RUN(survives_truncation);
	RUN(survives_damaged_section_tables);
	RUN(leaves_out_damaged_tables);
	RUN(leaves_out_damaged_symbols);
	RUN(leaves_out_names_without_an_end);
	RUN(survives_damaged_notes);
	RUN(reads_build_id_without_section_headers);
	RUN(survives_random_mutations);
	RUN(survives_failing_system_calls);
	RUN(failed_reads_are_of_their_own_call);
	RUN(reads_overlapping_relocations_within_bounds);
	RUN(survives_short_memory);
	RUN(needs_no_memory_for_what_is_not_wanted);
	return CHECK_RESULT();
}
