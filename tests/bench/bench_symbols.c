/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time and peak memory for naming 5,000 addresses in an object with 86,000 functions, as many
 * as a large program has.
 *
 * usage: bench_symbols [OBJECT...]
 *
 * For an OBJECT the addresses are spread evenly over its largest executable segment.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/elf_header.h"
#include "bench.h"
#include "symbolize/symbols.h"

enum { FUNCTIONS = 86000, FUNCTION_BYTES = 256, NAME_BYTES = 80, WANTED = 5000, ROUNDS = 5 };
enum { TEXT = 1, SYMBOLS, NAMES, SECTIONS };

#define TEXT_START UINT64_C(0x400000)

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void set_sections(Elf64_Shdr sections[SECTIONS], uint64_t at)
{
	sections[TEXT] = (Elf64_Shdr){
		.sh_type = SHT_NOBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = TEXT_START,
		.sh_size = (uint64_t)FUNCTIONS * FUNCTION_BYTES,
	};
	sections[SYMBOLS] = (Elf64_Shdr){
		.sh_type = SHT_SYMTAB,
		.sh_offset = at,
		.sh_size = (uint64_t)FUNCTIONS * sizeof(Elf64_Sym),
		.sh_link = NAMES,
		.sh_entsize = sizeof(Elf64_Sym),
	};
	sections[NAMES] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = at + sections[SYMBOLS].sh_size,
		.sh_size = (uint64_t)FUNCTIONS * NAME_BYTES,
	};
}

/* The symbols are not sorted by address, as in the output of a linker. */
static void write_functions(FILE *file)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		Elf64_Sym symbol = {
			.st_name = i * NAME_BYTES,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = TEXT,
			.st_value = TEXT_START + (uint64_t)i * 7919 % FUNCTIONS * FUNCTION_BYTES,
			.st_size = FUNCTION_BYTES,
		};
		fwrite(&symbol, sizeof symbol, 1, file);
	}
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char name[NAME_BYTES] = {0};

		snprintf(name, sizeof name,
			 "_ZN2v88internal12_GLOBAL__N_118function_number%06u"
			 "EPNS0_7IsolateE",
			 i);
		fwrite(name, sizeof name, 1, file);
	}
}

static void make_object(char *path)
{
	Elf64_Ehdr header = __ehdr_start;
	Elf64_Shdr sections[SECTIONS] = {0};
	FILE *file = fdopen(mkstemp(path), "w");

	check(file != NULL, "no file");
	header.e_type = ET_EXEC;
	header.e_phoff = 0;
	header.e_phnum = 0;
	header.e_shoff = sizeof header;
	header.e_shnum = SECTIONS;
	header.e_shstrndx = SHN_UNDEF;
	set_sections(sections, sizeof header + sizeof sections);
	fwrite(&header, sizeof header, 1, file);
	fwrite(sections, sizeof sections, 1, file);
	write_functions(file);
	check(fclose(file) == 0, "the file is not written");
}

/* Returns the number of wanted addresses that have names, or -1 if loading failed. */
static int load(const char *path, const struct hs_wanted *wanted)
{
	struct hs_mapping object = {.path = path, .flags = HS_MAPPING_FILE};
	struct hs_symbols *symbols;
	struct stat status;
	int found = 0;

	check(stat(path, &status) == 0, path);
	object.inode = status.st_ino;
	if (hs_symbols_load(&object, wanted, NULL, &symbols) != 0)
		return -1;
	for (size_t i = 0; i < wanted->count; i++)
		found += hs_symbols_find(symbols, wanted->addresses[i]) != NULL;
	hs_symbols_free(symbols);
	return found;
}

/* The smallest budget beyond what is in use with which no name is missing. */
static size_t most_memory(const char *path, const struct hs_wanted *wanted, int found)
{
	size_t low = 0, high = (size_t)64 << 20, used = hs_arena_used();

	while (high - low > 4096) {
		size_t middle = low + (high - low) / 2;

		hs_arena_set_budget(used + middle);
		if (load(path, wanted) == found)
			high = middle;
		else
			low = middle;
	}
	hs_arena_set_budget((size_t)256 << 20);
	return high;
}

static void measure(const char *path, uint64_t start, uint64_t bytes)
{
	static uint64_t addresses[WANTED];
	const struct hs_wanted wanted = {addresses, WANTED};
	double best = 1e9;
	size_t used;
	int found = 0;

	for (uint64_t i = 0; i < WANTED; i++)
		addresses[i] = start + bytes / WANTED * i;
	load(path, &wanted);
	used = hs_arena_used();
	for (int i = 0; i < ROUNDS; i++) {
		double began = now_ms(), took;

		found = load(path, &wanted);
		took = now_ms() - began;
		best = took < best ? took : best;
	}
	check(found >= 0 && hs_arena_used() == used, "memory is not given back");
	printf("%s: %d of %d addresses named in %.1f ms, with %zu KiB of memory\n", path, found,
	       WANTED, best, most_memory(path, &wanted, found) >> 10);
}

static void measure_object(const char *path)
{
	FILE *file = fopen(path, "rb");
	Elf64_Phdr segment, code = {0};
	Elf64_Ehdr header;

	check(file != NULL && fread(&header, sizeof header, 1, file) == 1 &&
		      hs_elf_header_is_ours(&header) &&
		      fseek(file, (long)header.e_phoff, SEEK_SET) == 0,
	      path);
	for (unsigned i = 0; i < header.e_phnum; i++) {
		check(fread(&segment, sizeof segment, 1, file) == 1, path);
		if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
		    segment.p_memsz > code.p_memsz)
			code = segment;
	}
	fclose(file);
	measure(path, code.p_vaddr, code.p_memsz);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/bench_symbols.XXXXXX";

	check(hs_arena_init((size_t)256 << 20) == 0, "no memory");
	for (int i = 1; i < argc; i++)
		measure_object(argv[i]);
	if (argc > 1)
		return 0;
	make_object(path);
	measure(path, TEXT_START, (uint64_t)FUNCTIONS * FUNCTION_BYTES);
	unlink(path);
	return 0;
}
