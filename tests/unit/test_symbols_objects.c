/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbol tables of real objects: this program, its C library, the vDSO.  What is
 * found is compared with a search of all symbols, read here by other means.
 * Given files as arguments: the time and memory that loading them takes.
 */
#include "symbolize/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/sys.h"
#include "check.h"
#include "elf_loader.h"
#include "symbolize/debug_file.h"

/* A function of known size, with bytes around it that belong to none. */
__asm__(".pushsection .text\n"
	".skip 16\n"
	".globl test_global_function\n"
	".type test_global_function, %function\n"
	"test_global_function:\n"
	".skip 48\n"
	".size test_global_function, 48\n"
	".skip 16\n"
	".type test_local_function, %function\n"
	"test_local_function:\n"
	".skip 32\n"
	".size test_local_function, 32\n"
	"test_after_local:\n"
	".skip 16\n"
	".popsection\n");
extern const char test_global_function[] __attribute__((visibility("hidden")));

static __attribute__((noinline)) int a_static_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

/* Run-time address - ELF virtual address of this program. */
static uint64_t load_bias(void)
{
	const Elf64_Phdr *segment = (const void *)getauxval(AT_PHDR);
	unsigned long i, count = getauxval(AT_PHNUM);

	for (i = 0; i < count; i++) {
		if (segment[i].p_type == PT_PHDR)
			return (uint64_t)(uintptr_t)segment - segment[i].p_vaddr;
	}
	return 0;
}

static void finds_own_functions(void)
{
	uint64_t bias = load_bias(), start = (uint64_t)(uintptr_t)test_global_function - bias;
	struct hs_symbols *symbols = NULL;

	CHECK_INT(load_path("/proc/self/exe", "", NULL, &symbols), 0);
	CHECK(hs_symbols_find(symbols, start - 1) == NULL);
	CHECK_STR(hs_symbols_find(symbols, start), "test_global_function");
	CHECK_STR(hs_symbols_find(symbols, start + 24), "test_global_function");
	CHECK_STR(hs_symbols_find(symbols, start + 47), "test_global_function");
	CHECK(hs_symbols_find(symbols, start + 48) == NULL);
	CHECK(hs_symbols_find(symbols, start + 63) == NULL);
	CHECK_STR(hs_symbols_find(symbols, start + 64), "test_local_function");
	CHECK_STR(hs_symbols_find(symbols, start + 95), "test_local_function");
	CHECK(hs_symbols_find(symbols, start + 96) == NULL);
	CHECK_STR(hs_symbols_find(symbols, (uint64_t)(uintptr_t)a_static_function - bias),
		  "a_static_function");
	CHECK_STR(hs_symbols_find(symbols, (uint64_t)(uintptr_t)hs_symbols_find - bias),
		  "hs_symbols_find");
	CHECK_INT(a_static_function(1), 2);
	hs_symbols_free(symbols);
}

/* An object mapped as a whole, and its functions. */
struct object {
	const unsigned char *data;
	size_t bytes;
	struct elf_symbol *functions;
	size_t count;
};

static void add_functions(struct object *object, const Elf64_Shdr *sections,
			  const Elf64_Shdr *table)
{
	const Elf64_Sym *symbols = (const void *)(object->data + table->sh_offset);
	const char *names = (const char *)object->data + sections[table->sh_link].sh_offset;
	size_t total = table->sh_size / sizeof *symbols, i;

	object->functions = realloc(object->functions,
				    (object->count + total) * sizeof *object->functions);
	for (i = 0; i < total; i++) {
		unsigned char type = ELF64_ST_TYPE(symbols[i].st_info);
		bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
		char *name;

		if (symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_shndx >= SHN_LORESERVE)
			continue;
		if (type == STT_NOTYPE && symbols[i].st_size > 0)
			is_function = sections[symbols[i].st_shndx].sh_flags & SHF_EXECINSTR;
		if (!is_function)
			continue;
		name = strdup(names + symbols[i].st_name);
		if (table->sh_type == SHT_SYMTAB)
			name[strcspn(name, "@")] = '\0';
		object->functions[object->count++] = (struct elf_symbol){
			name, symbols[i].st_value, symbols[i].st_size,
			ELF64_ST_BIND(symbols[i].st_info), type, symbols[i].st_shndx,
		};
	}
}

static void open_object(struct object *object, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const Elf64_Shdr *sections;
	const Elf64_Ehdr *header;
	struct stat status;
	unsigned i;

	memset(object, 0, sizeof *object);
	if (fd < 0 || fstat(fd, &status) < 0)
		SKIP("the object is not there as a file");
	object->bytes = (size_t)status.st_size;
	object->data = mmap(NULL, object->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	header = (const void *)object->data;
	sections = (const void *)(object->data + header->e_shoff);
	for (i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM)
			add_functions(object, sections, &sections[i]);
	}
}

static void close_object(struct object *object)
{
	size_t i;

	for (i = 0; i < object->count; i++)
		free((char *)(uintptr_t)object->functions[i].name);
	free(object->functions);
	munmap((void *)(uintptr_t)object->data, object->bytes);
}

static bool is_of_plt(const char *name)
{
	size_t bytes = name != NULL ? strlen(name) : 0;

	return bytes > 4 && strcmp(name + bytes - 4, "@plt") == 0;
}

static void compare_all(const char *path)
{
	struct hs_symbols *symbols = NULL;
	size_t i, j, wrong = 0, gaps = 0;
	struct object object;

	open_object(&object, path);
	CHECK(object.count > 20);
	CHECK_INT(load_path(path, "", NULL, &symbols), 0);
	for (i = 0; i < object.count; i++) {
		const struct elf_symbol *function = &object.functions[i];
		uint64_t value = function->value, end = value + function->bytes;
		uint64_t at[] = { value - 1, value, value + function->bytes / 2, end - 1, end };

		for (j = 0; j < sizeof at / sizeof *at; j++) {
			const char *name = expected_name(object.functions, object.count, at[j]);
			const char *found = hs_symbols_find(symbols, at[j]);

			gaps += name == NULL;
			/* Linkage tables have no symbols, and may end where a function begins. */
			if (same_name(name, found) || (name == NULL && is_of_plt(found)))
				continue;
			wrong++;
			fprintf(stderr, "%#llx: %s, expected %s\n", (unsigned long long)at[j],
				found ? found : "(none)", name ? name : "(none)");
		}
	}
	printf("%s: %zu functions, %zu addresses of none\n", path, object.count, gaps);
	CHECK_INT(wrong, 0);
	CHECK(gaps > 0);
	hs_symbols_free(symbols);
	close_object(&object);
}

static void agrees_with_a_search_of_this_program(void)
{
	compare_all("/proc/self/exe");
}

/* The path of the mapping whose path contains part; its range in *start and *end. */
static bool find_mapping(const char *part, char *path, unsigned long *start, unsigned long *end)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[5000];
	bool found = false;

	while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
		path[0] = '\0';
		found = strstr(line, part) != NULL &&
			sscanf(line, "%lx-%lx %*s %*s %*s %*s %4095s", start, end, path) == 3;
	}
	if (maps != NULL)
		fclose(maps);
	return found;
}

static void agrees_with_a_search_of_libc(void)
{
	unsigned long start, end;
	char path[4096];

	if (!find_mapping("/libc.so.6", path, &start, &end) &&
	    !find_mapping("/libc-", path, &start, &end))
		CHECK(!"libc is mapped");
	else
		compare_all(path);
}

static void reads_the_vdso(void)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct hs_symbols *symbols = NULL;
	unsigned long start, end;
	uint64_t address;
	char path[4096];
	bool found = false;

	if (header == NULL || !find_mapping("[vdso]", path, &start, &end))
		return;
	CHECK_INT(hs_symbols_load_memory(start, end - start, NULL, &symbols), 0);
	/* The names are the kernel's choice, but all have these. */
	for (address = 0; address < end - start; address++) {
		const char *name = hs_symbols_find(symbols, address);
		found |= name != NULL && strstr(name, "clock_gettime") != NULL;
	}
	CHECK_INT(found, header->e_shnum > 0);
	hs_symbols_free(symbols);
}

static void refuses_memory_that_is_no_object(void)
{
	struct hs_symbols *symbols = NULL;
	static char zeros[256];

	CHECK_INT(hs_symbols_load_memory((uintptr_t)zeros, sizeof zeros, NULL, &symbols), -ENOEXEC);
	CHECK_INT(hs_symbols_load_memory((uintptr_t)zeros, 8, NULL, &symbols), -ENOEXEC);
	CHECK_INT(hs_symbols_load_memory(0, 4096, NULL, &symbols), -EFAULT);
	CHECK_INT(hs_symbols_load_memory(UINT64_MAX - 8, 4096, NULL, &symbols), -EINVAL);
	CHECK(symbols == NULL);
}

static void report(const char *path)
{
	size_t before = hs_arena_used();
	uint64_t start = hs_sys_monotonic_ns();
	struct hs_symbols *symbols = NULL;
	int result = load_path(path, "", NULL, &symbols);

	printf("%s: %d, %llu us, %zu KiB kept\n", path, result,
	       (unsigned long long)(hs_sys_monotonic_ns() - start) / 1000,
	       (hs_arena_used() - before) >> 10);
	hs_symbols_free(symbols);
}

int main(int argc, char **argv)
{
	int i;

	if (hs_arena_init((size_t)256 << 20) < 0)
		return 1;
	for (i = 1; i < argc; i++)
		report(argv[i]);
	hs_debug_file_root = "/nonexistent";
	RUN(finds_own_functions);
	RUN(agrees_with_a_search_of_this_program);
	RUN(agrees_with_a_search_of_libc);
	RUN(reads_the_vdso);
	RUN(refuses_memory_that_is_no_object);
	return CHECK_RESULT();
}
