/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of the GDB JIT interface, which the test maintains as a compiler does. */
#include "symbolize/gdb_jit.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "elf_writer.h"
#include "process_vm.h"
#include "symbolize/data_symbol.h"

#define MIB ((size_t)1 << 20)
#define OBJECTS 4

struct entry {
	struct entry *next;
	struct entry *previous;
	const void *start;
	uint64_t bytes;
};

struct descriptor {
	uint32_t version;
	uint32_t action;
	struct entry *relevant;
	struct entry *first;
};

/* Found by its name in this program. */
struct descriptor test_jit_descriptor = {.version = 1};

static struct hs_jit_map map;
static struct hs_gdb_jit gdb;
static struct entry entries[OBJECTS];
static struct elf_image images[OBJECTS];
static uint64_t skipped; /* before the case */

static const char *name_at(uint64_t address)
{
	struct hs_jit_name name;
	uint32_t object, number = hs_jit_map_find(&map, address, &object);

	if (number == 0)
		return "";
	CHECK(object != HS_JIT_PERF_MAP);
	hs_jit_map_name(&map, number, &name);
	return name.system_name;
}

/* Reads the list.  Returns in how many calls. */
static unsigned look_if(bool at_once)
{
	unsigned count = 1;

	while (hs_gdb_jit_read(&gdb, &map, at_once))
		count++;
	return count;
}

static void look(void)
{
	look_if(true);
}

/* An object with one function of 256 bytes at address. */
static void compile(unsigned i, uint64_t address, const char *name)
{
	const struct elf_symbol symbols[] = {
		{"data", 0x10, 8, STB_GLOBAL, STT_OBJECT, ELF_DATA},
		{name, address, 0x100, STB_GLOBAL, STT_FUNC, ELF_TEXT},
		{"extern", 0, 0, STB_GLOBAL, STT_FUNC, SHN_UNDEF},
	};

	elf_write(&images[i], &(struct elf_spec){.symbols = symbols, .count = 3});
	entries[i].start = images[i].data;
	entries[i].bytes = images[i].bytes;
}

static void enter(unsigned i)
{
	entries[i].previous = NULL;
	entries[i].next = test_jit_descriptor.first;
	if (entries[i].next != NULL)
		entries[i].next->previous = &entries[i];
	test_jit_descriptor.first = &entries[i];
	test_jit_descriptor.relevant = &entries[i];
	test_jit_descriptor.action = 1;
}

static void leave(unsigned i)
{
	if (entries[i].next != NULL)
		entries[i].next->previous = entries[i].previous;
	if (entries[i].previous != NULL)
		entries[i].previous->next = entries[i].next;
	else
		test_jit_descriptor.first = entries[i].next;
	test_jit_descriptor.relevant = &entries[i];
	test_jit_descriptor.action = 2;
}

static void begin(void)
{
	test_jit_descriptor = (struct descriptor){.version = 1};
	CHECK_INT(hs_jit_map_init(&map, 16 * MIB), 0);
	CHECK_INT(hs_gdb_jit_init(&gdb), 0);
	hs_gdb_jit_add(&gdb, (uintptr_t)&test_jit_descriptor);
	skipped = hs_stats_get(jit_skipped);
}

static void end(void)
{
	hs_sys_fault = NULL;
	hs_gdb_jit_fini(&gdb);
	hs_jit_map_fini(&map);
	CHECK_INT(hs_arena_used(), 0);
}

static void functions_come_and_go_with_their_objects(void)
{
	begin();
	look();
	CHECK_INT(map.ranges.count, 0);
	compile(0, 0x1000, "first");
	enter(0);
	look();
	CHECK_STR(name_at(0x10ff), "first");
	CHECK_STR(name_at(0x1100), "");
	CHECK_INT(map.ranges.count, 1);
	compile(1, 0x2000, "second");
	enter(1);
	compile(2, 0x3000, "third");
	enter(2);
	look();
	CHECK_STR(name_at(0x1000), "first");
	CHECK_STR(name_at(0x2000), "second");
	CHECK_STR(name_at(0x3000), "third");
	leave(1);
	look();
	CHECK_STR(name_at(0x1000), "first");
	CHECK_STR(name_at(0x2000), "");
	CHECK_STR(name_at(0x3000), "third");
	leave(0);
	leave(2);
	look();
	CHECK_INT(map.ranges.count, 0);
	CHECK_INT(hs_stats_get(jit_skipped), skipped);
	end();
}

/* LLVM's objects: the section's header says where the code is. */
static void symbols_of_relocatable_objects_are_relative(void)
{
	begin();
	compile(0, 0x80, "relative");
	elf_header(&images[0])->e_type = ET_REL;
	elf_section(&images[0], ELF_TEXT)->sh_addr = 0x7f0000001000;
	enter(0);
	look();
	CHECK_STR(name_at(0x7f0000001080), "relative");
	CHECK_STR(name_at(0x80), "");
	CHECK_INT(map.ranges.count, 1);
	end();
}

/* The same entry, addresses and sizes, but another function. */
static void an_object_in_the_place_of_another_is_new(void)
{
	begin();
	compile(0, 0x1000, "one");
	enter(0);
	look();
	leave(0);
	compile(0, 0x1000, "two");
	enter(0);
	look();
	CHECK_STR(name_at(0x1000), "two");
	CHECK_INT(map.ranges.count, 1);
	end();
}

/* The code of large ones may be equal; the names are behind it. */
static void a_large_object_in_the_place_of_another_is_new(void)
{
	enum { LARGE = 1 << 20 };
	char *image = calloc(1, LARGE);
	size_t bytes;

	begin();
	for (int i = 0; i < 2; i++) {
		compile(0, 0x1000, i == 0 ? "one" : "two");
		bytes = images[0].bytes;
		memcpy(image, images[0].data, bytes);
		memcpy(image + LARGE - bytes, images[0].data, bytes);
		entries[0].start = image;
		entries[0].bytes = LARGE;
		enter(0);
		look();
		CHECK_STR(name_at(0x1000), i == 0 ? "one" : "two");
		leave(0);
	}
	end();
	free(image);
}

/* As no compiler should, it puts new objects behind the first. */
static void a_profile_reads_all_lists(void)
{
	begin();
	compile(0, 0x1000, "one");
	compile(1, 0x2000, "first");
	enter(0);
	enter(1);
	look();
	compile(0, 0x1000, "two");
	look();
	CHECK_STR(name_at(0x1000), "one");
	hs_gdb_jit_begin_profile(&gdb);
	look();
	CHECK_STR(name_at(0x1000), "two");
	CHECK_STR(name_at(0x2000), "first");
	end();
}

static unsigned calls;

static long count_calls(long number)
{
	/* The clock is one only where there is no vDSO. */
	calls += number >= 0 && number != SYS_clock_gettime;
	return 0;
}

static void an_unchanged_list_costs_three_reads(void)
{
	begin();
	for (unsigned i = 0; i < OBJECTS; i++) {
		compile(i, 0x1000 * (i + 1), "code");
		enter(i);
	}
	look();
	calls = 0;
	hs_sys_fault = count_calls;
	look();
	/*
	 * Of the descriptor, the first entry, and the end of its object: process_vm_readv and
	 * its getpid; if it is refused also open, pread and close.
	 */
	CHECK_INT(calls, 3 * (may_read_by_process_vm() ? 2 : 5));
	hs_sys_fault = NULL;
	end();
}

static void a_list_is_read_when_it_is_time(void)
{
	begin();
	compile(0, 0x1000, "first");
	enter(0);
	look_if(false);
	CHECK_STR(name_at(0x1000), "first");
	gdb.again_ns = UINT64_MAX;
	compile(1, 0x2000, "second");
	enter(1);
	look_if(false);
	CHECK_STR(name_at(0x2000), "");
	gdb.again_ns = 0;
	look_if(false);
	CHECK_STR(name_at(0x2000), "second");
	end();
}

static void a_list_without_sense_changes_nothing(void)
{
	begin();
	compile(0, 0x1000, "first");
	compile(1, 0x2000, "second");
	enter(0);
	enter(1);
	look();
	entries[0].next = &entries[1]; /* a loop */
	test_jit_descriptor.action = 7;
	CHECK_INT(gdb.again_ns, 0);
	look();
	CHECK_INT(map.ranges.count, 2);
	CHECK(gdb.again_ns > 0); /* it is not read again at once */
	entries[0].next = (struct entry *)0x10; /* nothing is there */
	look();
	entries[0].next = NULL;
	leave(0);
	look();
	CHECK_STR(name_at(0x1000), "");
	CHECK_STR(name_at(0x2000), "second");
	test_jit_descriptor.version = 2;
	look();
	CHECK_INT(map.ranges.count, 0);
	end();
}

static void damaged_objects_are_passed_over(void)
{
	begin();
	for (unsigned i = 0; i < OBJECTS; i++) {
		compile(i, 0x1000 * (i + 1), "code");
		enter(i);
	}
	entries[0].start = (const void *)0x10;
	entries[1].bytes = UINT64_MAX;
	images[2].data[0] = 0;
	look();
	CHECK_INT(map.ranges.count, 1);
	CHECK_STR(name_at(0x4000), "code");
	CHECK_INT(hs_stats_get(jit_skipped), skipped + 3);
	hs_gdb_jit_begin_profile(&gdb);
	look(); /* not again and again */
	CHECK_INT(hs_stats_get(jit_skipped), skipped + 3);
	end();
}

static void damaged_symbols_are_passed_over(void)
{
	static const struct elf_symbol symbols[] = {
		{"wraps", UINT64_MAX - 0x10, 0x100, STB_GLOBAL, STT_FUNC, ELF_TEXT},
		{"no section", 0x1000, 0x100, STB_GLOBAL, STT_FUNC, 999},
		{"no size", 0x2000, 0, STB_GLOBAL, STT_FUNC, ELF_TEXT},
		{"", 0x3000, 0x100, STB_GLOBAL, STT_FUNC, ELF_TEXT},
		{"good", 0x4000, 0x100, STB_LOCAL, STT_FUNC, ELF_TEXT},
		{"name outside", 0x5000, 0x100, STB_GLOBAL, STT_FUNC, ELF_TEXT},
	};
	Elf64_Sym *last;

	begin();
	compile(0, 0, "");
	elf_write(&images[0], &(struct elf_spec){.symbols = symbols, .count = 6});
	entries[0].bytes = images[0].bytes;
	last = (Elf64_Sym *)(void *)(images[0].data +
				     elf_section(&images[0], ELF_SYMTAB)->sh_offset) +
	       6;
	last->st_name = UINT32_MAX;
	/* Notes outside of the image are none. */
	elf_section(&images[0], ELF_NOTE)->sh_type = SHT_NOTE;
	elf_section(&images[0], ELF_NOTE)->sh_offset = UINT64_C(1) << 45;
	elf_section(&images[0], ELF_NOTE)->sh_size = 64;
	enter(0);
	look();
	CHECK_INT(map.ranges.count, 1);
	CHECK_STR(name_at(0x4000), "good");
	end();
}

static long leave_at(long number)
{
	if (number == SYS_process_vm_readv && calls-- == 0) {
		leave(0);
		entries[0] = (struct entry){ 0 };
	}
	return 0;
}

/* During each read in turn the program takes an entry out of the list, and puts it back. */
static void the_list_may_change_while_it_is_read(void)
{
	for (unsigned moment = 0; moment < 20; moment++) {
		begin();
		compile(0, 0x1000, "leaves");
		compile(1, 0x2000, "stays");
		compile(2, 0x3000, "stays");
		enter(1);
		enter(0);
		enter(2);
		look();
		test_jit_descriptor.action = 9;
		calls = moment;
		hs_sys_fault = leave_at;
		look();
		hs_sys_fault = NULL;
		CHECK_STR(name_at(0x2000), "stays");
		CHECK_STR(name_at(0x3000), "stays");
		look();
		CHECK_STR(name_at(0x1000), calls > 20 ? "" : "leaves"); /* below 0: it has left */
		end();
	}
}

/* A fork must not wait for a whole list: each call reads a part. */
/* Entries of one object, that of images[1], in front of those behind; more than a call reads. */
static struct entry *enter_many(struct entry *behind)
{
	enum { ENTRIES = 100000 };
	struct entry *many = calloc(ENTRIES, sizeof *many);

	for (size_t i = 0; i < ENTRIES; i++) {
		many[i].start = images[1].data;
		many[i].bytes = images[1].bytes;
		many[i].next = i > 0 ? &many[i - 1] : behind;
	}
	test_jit_descriptor.first = &many[ENTRIES - 1];
	return many;
}

static void long_lists_are_read_in_parts(void)
{
	struct entry *many;

	begin();
	compile(0, 0x1000, "first");
	compile(1, 0x2000, "many");
	compile(2, 0x3000, "last");
	enter(2);
	many = enter_many(&entries[2]);
	entries[0].next = test_jit_descriptor.first;
	test_jit_descriptor.first = &entries[0];
	CHECK(hs_gdb_jit_read(&gdb, &map, true));
	CHECK_STR(name_at(0x1000), "first");
	CHECK_STR(name_at(0x3000), "");
	CHECK(look_if(true) >= 2);
	CHECK_STR(name_at(0x3000), "last");
	/* The removal of an entry that has been read already is noticed at the next reading. */
	test_jit_descriptor.action = 7;
	CHECK(hs_gdb_jit_read(&gdb, &map, true));
	test_jit_descriptor.first = entries[0].next;
	look();
	CHECK_STR(name_at(0x1000), "first");
	look();
	CHECK_STR(name_at(0x1000), "");
	CHECK_STR(name_at(0x3000), "last");
	/* The list may also end early. */
	test_jit_descriptor.action = 9;
	CHECK(hs_gdb_jit_read(&gdb, &map, true));
	end();
	free(many);
}

/* What is registered after a batch has begun to read is behind that reading already. */
static void a_profile_reads_what_came_during_a_reading(void)
{
	struct entry *many;

	begin();
	compile(0, 0x1000, "new");
	compile(1, 0x2000, "many");
	many = enter_many(NULL);
	CHECK(hs_gdb_jit_read(&gdb, &map, false));
	entries[0].next = test_jit_descriptor.first;
	test_jit_descriptor.first = &entries[0];
	hs_gdb_jit_begin_profile(&gdb);
	look();
	CHECK_STR(name_at(0x1000), "new");
	CHECK(!gdb.is_stale);
	/* Also if the batches during the profile end that reading. */
	gdb.again_ns = 0;
	compile(2, 0x3000, "newer");
	entries[2].next = test_jit_descriptor.first;
	test_jit_descriptor.first = &entries[2];
	CHECK(hs_gdb_jit_read(&gdb, &map, false));
	compile(0, 0x1000, "newest");
	hs_gdb_jit_begin_profile(&gdb);
	look_if(false);
	CHECK_STR(name_at(0x1000), "new");
	look();
	CHECK_STR(name_at(0x1000), "newest");
	end();
	free(many);
}

static void a_list_is_gone_with_its_library(void)
{
	struct descriptor *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin();
	compile(0, 0x1000, "own");
	enter(0);
	compile(1, 0x2000, "library's");
	entries[1].next = NULL;
	*page = (struct descriptor){1, 1, &entries[1], &entries[1]};
	hs_gdb_jit_add(&gdb, (uintptr_t)page);
	hs_gdb_jit_add(&gdb, (uintptr_t)page);
	CHECK_INT(gdb.list_count, 2);
	look();
	CHECK_STR(name_at(0x1000), "own");
	CHECK_STR(name_at(0x2000), "library's");
	munmap(page, 4096);
	look();
	CHECK_STR(name_at(0x1000), "own");
	CHECK_STR(name_at(0x2000), "");
	end();
}

static void works_on_after_an_allocation_failed(void)
{
	size_t used, extra = 0;

	begin();
	compile(0, 0x1000, "code");
	enter(0);
	used = hs_arena_used();
	while (name_at(0x1000)[0] == '\0' && extra < MIB) {
		hs_arena_set_budget(used + extra);
		test_jit_descriptor.action++;
		look();
		extra += 512;
	}
	CHECK(extra > 512 && extra < MIB);
	hs_arena_set_budget(64 * MIB);
	end();
}

/* Not static: unused static variables are left out. */
struct descriptor larger_descriptor[3], large_descriptor[4];
const struct descriptor constant_descriptor = {.version = 1};

/* As linkers copy such a variable of a library into a program that names it. */
struct descriptor variable_of_version = {.version = 1};
__asm__(".symver variable_of_version, versioned_descriptor@VERSION_1");

static int find_by_name(const char *name, const char *build_id, uint64_t *address)
{
	struct hs_mapping program = {.path = "/proc/self/exe",
				     .flags = HS_MAPPING_FILE | HS_MAPPING_MAIN};

	strcpy(program.build_id, build_id);
	return hs_data_symbol_find(&program, name, sizeof(struct hs_gdb_jit_descriptor), address);
}

static void a_descriptor_is_found_by_its_name(void)
{
	uint64_t address = 0, want = (uintptr_t)&test_jit_descriptor;
	int lowest, again;

	CHECK_INT(find_by_name("test_jit_descriptor", "", &address), 0);
	if (__ehdr_start.e_type == ET_DYN)
		want -= (uintptr_t)&__ehdr_start;
	CHECK_INT(address, want);
	CHECK_INT(find_by_name("versioned_descriptor", "", &address), 0);
	CHECK_INT(address - want, (char *)&variable_of_version - (char *)&test_jit_descriptor);
	CHECK_INT(find_by_name("versioned", "", &address), -ENOENT);
	CHECK_INT(find_by_name("no_such_variable", "", &address), -ENOENT);
	CHECK_INT(find_by_name("main", "", &address), -ENOENT);
	/* With more members; too large; read-only. */
	CHECK_INT(find_by_name("larger_descriptor", "", &address), 0);
	CHECK_INT(find_by_name("large_descriptor", "", &address), -ENOENT);
	CHECK_INT(find_by_name("constant_descriptor", "", &address), -ENOENT);
	lowest = dup(STDIN_FILENO);
	close(lowest);
	CHECK_INT(find_by_name("test_jit_descriptor", "00", &address), -ESTALE);
	again = dup(STDIN_FILENO);
	close(again);
	CHECK_INT(again, lowest);
	CHECK_INT(hs_arena_used(), 0);
}

/* Distributors strip libraries: no more symbols are left than the dynamic ones. */
static void a_variable_of_a_library_is_found(void)
{
	static const char name[] = "obstack_alloc_failed_handler";
	const char *variable = dlsym(RTLD_DEFAULT, name);
	struct hs_mapping library = {.flags = HS_MAPPING_FILE};
	uint64_t address = 0;
	Dl_info info;

	CHECK(variable != NULL && dladdr(variable, &info) != 0);
	library.path = info.dli_fname;
	CHECK_INT(hs_data_symbol_find(&library, name, sizeof(void *), &address), 0);
	CHECK_INT(address, variable - (const char *)info.dli_fbase);
	/* Too small. */
	CHECK_INT(hs_data_symbol_find(&library, name, sizeof(void *) + 1, &address), -ENOENT);
}

int main(void)
{
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	RUN(functions_come_and_go_with_their_objects);
	RUN(symbols_of_relocatable_objects_are_relative);
	RUN(an_object_in_the_place_of_another_is_new);
	RUN(a_large_object_in_the_place_of_another_is_new);
	RUN(a_profile_reads_all_lists);
	RUN(an_unchanged_list_costs_three_reads);
	RUN(a_list_is_read_when_it_is_time);
	RUN(a_list_without_sense_changes_nothing);
	RUN(damaged_objects_are_passed_over);
	RUN(damaged_symbols_are_passed_over);
	RUN(the_list_may_change_while_it_is_read);
	RUN(long_lists_are_read_in_parts);
	RUN(a_profile_reads_what_came_during_a_reading);
	RUN(a_list_is_gone_with_its_library);
	RUN(works_on_after_an_allocation_failed);
	RUN(a_descriptor_is_found_by_its_name);
	RUN(a_variable_of_a_library_is_found);
	return CHECK_RESULT();
}
