/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames in generated code, from records to the view of a profile: the code is a page of
 * this process, and the perf map is its own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sys.h"
#include "elf_writer.h"
#include "object_directory.h"
#include "profile/snapshot.h"
#include "profile_testing.h"

enum { PAGE = 4096 };

/* Of GDB's JIT interface. */
struct descriptor {
	uint32_t version;
	uint32_t action;
	void *relevant;
	void *first;
};

/* In this program's mapping. */
struct descriptor __jit_debug_descriptor = {.version = 1};

/* A library, with a descriptor of its own if NUMBER is not 0. */
static const char source[] =
	"int function(void) { return NUMBER; }\n"
	"#if NUMBER\n"
	"struct { int version, action; void *relevant, *first; } __jit_debug_descriptor = {1};\n"
	"#endif\n";

static struct hs_mapping_table *table;
static struct hs_producer *producer;
static struct hs_snapshot *snapshot;
static struct hs_view view;
static uint64_t next_address = 0x100000;
static char path[64];
static void *page;    /* generated code */
static uint64_t code; /* its address, */
static uint32_t in;   /* and its mapping */

static void say(uint64_t start, uint64_t bytes, const char *name)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	CHECK(dprintf(fd, "%llx %llx %s\n", (unsigned long long)start, (unsigned long long)bytes,
		      name) > 0);
	close(fd);
}

static void begin(void)
{
	CHECK_INT(unlink(path) == 0 || access(path, F_OK) != 0, 1);
	page = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code = (uint64_t)(uintptr_t)page;
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	in = hs_mapping_table_find(table, code);
	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.jit_sources = HS_JIT_SOURCE_PERF_MAP | HS_JIT_SOURCE_GDB,
		.jit_bytes = MIB,
	});
}

static void end(void)
{
	hs_snapshot_destroy(snapshot);
	snapshot = NULL;
	munmap(page, PAGE);
	unlink(path);
}

/* An allocation from the code at address, called by this program, in the same batch. */
static void sample_more(uint64_t address, uint32_t mapping)
{
	union test_record record = allocate(next_address += 16, 1, 1, 0);
	uint64_t caller = (uint64_t)(uintptr_t)say;

	record.head.frames[0] = (struct hs_frame){address, mapping};
	record.head.frames[1] = (struct hs_frame){caller, hs_mapping_table_find(table, caller)};
	take(producer, &record);
	CHECK(!hs_producer_commit(producer));
}

static void sample(uint64_t address, uint32_t mapping)
{
	hs_producer_begin_batch(producer);
	sample_more(address, mapping);
}

static void freeze(void)
{
	static const struct hs_options options = {.symbolize = HS_SYMBOLIZE_NAMES};

	hs_snapshot_destroy(snapshot);
	view = (struct hs_view){0};
	snapshot = hs_snapshot_create(producer, &options, HS_HEAP_NONE, NULL, &view);
	CHECK(snapshot != NULL);
	if (snapshot == NULL)
		exit(99);
}

/* The innermost frame of the stack of a row, and how many samples it has. */
static const struct hs_view_location *leaf(size_t row, int samples)
{
	uint64_t stack[FRAMES_MAX];

	CHECK(row < view.row_count);
	if (row >= view.row_count)
		exit(99);
	CHECK_INT(view.get_stack(view.stack_context, view.rows[row].callsite, stack, FRAMES_MAX),
		  2);
	CHECK_INT(view.rows[row].values[0], samples);
	return &view.locations[stack[0] - 1];
}

static void code_has_its_function_s_name(void)
{
	uint64_t unknown = hs_stats_get(jit_unknown_frames);

	begin();
	say(code, 0x100, "JS:*resolve /srv/app/router.js:12:17");
	sample(code + 0x10, in);
	sample(code + 0x20, in);
	freeze();
	CHECK_INT(view.row_count, 2);
	for (size_t i = 0; i < 2; i++) {
		CHECK_STR(leaf(i, 1)->name, "resolve");
		CHECK_STR(leaf(i, 1)->system_name, "JS:*resolve /srv/app/router.js:12:17");
		CHECK_STR(leaf(i, 1)->filename, "/srv/app/router.js");
		CHECK_INT(leaf(i, 1)->start_line, 12);
		CHECK_INT(leaf(i, 1)->address, code + 0x10 + 0x10 * i);
		CHECK_STR(view.mappings[leaf(i, 1)->mapping].filename, "//anon");
	}
	CHECK_INT(hs_stats_get(jit_unknown_frames), unknown);
	end();
}

/* More of a perf map than is read at a time. */
static void say_much(void)
{
	for (int i = 0; i < 20000; i++)
		say(code + 0x800, 0x100, "another");
}

static void a_profile_reads_all_of_a_perf_map(void)
{
	begin();
	sample(code + 0x10, in);
	say_much();
	say(code, 0x100, "last");
	freeze();
	CHECK_STR(leaf(0, 1)->name, "last");
	end();
}

static void samples_go_on_with_a_perf_map(void)
{
	begin();
	say_much();
	say(code, 0x100, "first");
	sample(code + 0x10, in);
	for (int i = 0; i < 3; i++)
		sample_more(code + 0x10, in);
	say(code, 0x100, "second");
	sample(code + 0x10, in);
	freeze();
	CHECK_INT(view.row_count, 2);
	CHECK_STR(leaf(0, 4)->name, "first");
	CHECK_STR(leaf(1, 1)->name, "second");
	end();
}

/* Of the time before the producer. */
static void a_perf_map_of_an_earlier_process_names_nothing(void)
{
	const struct timespec then[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};

	begin();
	say(code, 0x100, "of another process");
	CHECK_INT(utimensat(AT_FDCWD, path, then, 0), 0);
	sample(code + 0x10, in);
	freeze();
	CHECK(strncmp(leaf(0, 1)->name, "//anon+0x", 9) == 0);
	end();
}

/* The mapping has two known functions, and code beside them. */
static void code_beside_functions_has_none_of_their_names(void)
{
	static const char *const names[] = {NULL, "one", NULL, "two", NULL};
	uint64_t unknown = hs_stats_get(jit_unknown_frames);
	char expected[64];

	begin();
	say(code + 0x100, 0x100, "one");
	say(code + 0x300, 0x100, "two");
	for (uint64_t i = 0; i < 5; i++)
		sample(code + i * 0x100 + 0xff, in);
	freeze();
	for (uint64_t i = 0; i < 5; i++) {
		snprintf(expected, sizeof expected, "//anon+0x%llx",
			 (unsigned long long)(code + i * 0x100 + 0xff));
		CHECK_STR(leaf(i, 1)->name, names[i] != NULL ? names[i] : expected);
	}
	CHECK_INT(hs_stats_get(jit_unknown_frames), unknown + 3);
	freeze();
	CHECK_INT(hs_stats_get(jit_unknown_frames), unknown + 3); /* once each */
	end();
}

static void an_address_used_again_is_another_frame(void)
{
	begin();
	say(code, 0x100, "first");
	sample(code + 0x10, in);
	say(code + 8, 0x100, "second");
	sample(code + 0x10, in);
	sample(code + 0x10, in);
	say(code, 0x100, "first");
	sample(code + 0x10, in);
	freeze();
	CHECK_INT(view.row_count, 2);
	CHECK_STR(leaf(0, 2)->name, "first");
	CHECK_STR(leaf(1, 2)->name, "second");
	CHECK(leaf(0, 2) != leaf(1, 2));
	CHECK_INT(leaf(0, 2)->address, leaf(1, 2)->address);
	end();
}

static void moved_code_keeps_its_name(void)
{
	begin();
	say(code, 0x80, "moves");
	say(code + 0x100, 0x80, "is overwritten");
	sample(code + 0x10, in);
	sample(code + 0x110, in);
	say(code + 0x100, 0x80, "moves");
	sample(code + 0x110, in);
	say(code, 0x80, "has come");
	sample(code + 0x10, in);
	freeze();
	CHECK_INT(view.row_count, 4);
	CHECK_STR(leaf(0, 1)->name, "moves");
	CHECK_STR(leaf(1, 1)->name, "is overwritten");
	CHECK_STR(leaf(2, 1)->name, "moves");
	CHECK_STR(leaf(3, 1)->name, "has come");
	end();
}

static void names_that_come_late_are_filled_in(void)
{
	uint64_t unknown = hs_stats_get(jit_unknown_frames);

	begin();
	sample(code + 0x10, in);
	sample(code + 0x210, in);
	freeze();
	CHECK(strncmp(leaf(0, 1)->name, "//anon+0x", 9) == 0);
	CHECK_INT(hs_stats_get(jit_unknown_frames), unknown + 2);
	say(code, 0x100, "py::late:/srv/late.py");
	freeze();
	CHECK_STR(leaf(0, 1)->name, "late");
	CHECK_STR(leaf(0, 1)->system_name, "py::late:/srv/late.py");
	CHECK_STR(leaf(0, 1)->filename, "/srv/late.py");
	CHECK(strncmp(leaf(1, 1)->name, "//anon+0x", 9) == 0);
	say(code, 0x100, "another since");
	freeze();
	CHECK_STR(leaf(0, 1)->name, "late");
	sample(code + 0x10, in);
	freeze();
	CHECK_INT(view.row_count, 3);
	CHECK_STR(leaf(2, 1)->name, "another since");
	CHECK_INT(hs_stats_get(jit_unknown_frames), unknown + 2);
	end();
}

/* As with java, which writes its map when it is asked to. */
static void a_frame_sampled_before_its_name_came_is_the_same_frame(void)
{
	begin();
	sample(code + 0x10, in);
	say(code, 0x100, "late");
	sample(code + 0x10, in);
	freeze();
	CHECK_INT(view.row_count, 1);
	CHECK_STR(leaf(0, 2)->name, "late");
	say(code, 0x100, "another since");
	sample(code + 0x10, in);
	freeze();
	CHECK_INT(view.row_count, 2);
	CHECK_STR(leaf(0, 2)->name, "late");
	CHECK_STR(leaf(1, 1)->name, "another since");
	end();
}

static void code_in_no_mapping_has_one_made_up(void)
{
	const struct hs_view_location *location;

	begin();
	say(code, 0x100, "gone since");
	sample(code + 0x10, HS_MAPPING_UNKNOWN);
	sample(code + 0x800, HS_MAPPING_UNKNOWN);
	freeze();
	location = leaf(0, 1);
	CHECK_STR(location->name, "gone since");
	CHECK_INT(location->address, code + 0x10);
	CHECK_STR(view.mappings[location->mapping].filename, "[jit: perf-map]");
	CHECK(view.mappings[location->mapping].has_functions);
	location = leaf(1, 1);
	CHECK_STR(location->name, "[unknown]");
	CHECK_STR(view.mappings[location->mapping].filename, "[heapsample]");
	end();
}

/* A stale line does not rename a library that has been mapped since. */
static void files_keep_their_own_names(void)
{
	uint64_t function = (uint64_t)(uintptr_t)memfd_create;

	begin();
	say(code, 0x100, "code");
	say(function, 0x100, "stale");
	sample(code, in);
	sample(function, hs_mapping_table_find(table, function));
	freeze();
	CHECK_STR(leaf(0, 1)->name, "code");
	CHECK_STR(leaf(1, 1)->name, "memfd_create");
	end();
}

/* A list of one object. */
struct list {
	struct {
		void *next, *previous, *object;
		uint64_t bytes;
	} entry;
	struct elf_image image;
};

/* The object has this function, of 0x100 bytes. */
static void tell(struct descriptor *descriptor, struct list *list, const char *function,
		 uint64_t address)
{
	const struct elf_symbol symbol = {function, address, 0x100, STB_GLOBAL, STT_FUNC, 1};

	elf_write(&list->image, &(struct elf_spec){.symbols = &symbol, .count = 1});
	list->entry.object = list->image.data;
	list->entry.bytes = list->image.bytes;
	descriptor->first = &list->entry;
}

static void tell_debuggers(void)
{
	static struct list list;

	tell(&__jit_debug_descriptor, &list, "_ZN5query4nextEv", code);
}

static long no_reads(long number)
{
	return number == SYS_pread64 ? -EIO : 0;
}

/* The list is found by this program's symbols, if not for one profile then for the next. */
static void code_for_debuggers_has_its_name_when_files_can_be_read(void)
{
	begin();
	tell_debuggers();
	hs_sys_fault = no_reads;
	sample(code + 0x20, in);
	freeze();
	CHECK(strncmp(leaf(0, 1)->name, "//anon+0x", 9) == 0);
	hs_sys_fault = NULL;
	freeze();
	CHECK_STR(leaf(0, 1)->name, "query::next");
	__jit_debug_descriptor.first = NULL;
	end();
}

/* The code on the list is in no mapping. */
static void code_for_debuggers_has_its_name(void)
{
	const struct hs_view_location *location;

	begin();
	tell_debuggers();
	sample(code + 0x10, HS_MAPPING_UNKNOWN);
	sample(code + 0x20, in);
	__jit_debug_descriptor.first = NULL;
	sample(code + 0x20, in);
	freeze();
	location = leaf(0, 1);
	CHECK_STR(location->name, "query::next");
	CHECK_STR(view.mappings[location->mapping].filename, "[jit: gdb]");
	location = leaf(1, 1);
	CHECK_STR(location->name, "query::next");
	CHECK_STR(view.mappings[location->mapping].filename, "//anon");
	end();
}

static long no_descriptors(long number)
{
	return number == SYS_openat ? -EMFILE : 0;
}

/* The same without waiting for a profile. */
static void code_for_debuggers_has_its_name_when_files_can_be_opened(void)
{
	begin();
	tell_debuggers();
	hs_sys_fault = no_descriptors;
	sample(code + 0x20, in);
	hs_sys_fault = NULL;
	sample(code + 0x20, in);
	__jit_debug_descriptor.first = NULL;
	freeze();
	CHECK_STR(leaf(0, 2)->name, "query::next");
	end();
}

static struct descriptor *descriptor_in(void *library)
{
	return library != NULL ? dlsym(library, "__jit_debug_descriptor") : NULL;
}

/* Two libraries, one of them loaded twice; one without a list is below all others. */
static void each_library_has_its_list(void)
{
	static const char *const names[] = {"one", "two", "three"};
	struct hs_mapping_table *all = table;
	struct descriptor *descriptors[3];
	static struct list lists[3];

	if (mkdtemp(directory) == NULL ||
	    !run("echo '%s' >source.c && for i in 0 1 2; do "
		 "${CC:-cc} -shared -fPIC -nostdlib -Wl,-Ttext-segment=0x1${i}00000 "
		 "-DNUMBER=$i -o $i source.c || exit; done",
		 source)) {
		printf("no compiler\n");
		return;
	}
	CHECK(dlopen(path_of("0"), RTLD_NOW | RTLD_LOCAL) != NULL);
	descriptors[0] = descriptor_in(dlopen(path_of("1"), RTLD_NOW | RTLD_LOCAL));
	descriptors[1] = descriptor_in(dlopen(path_of("2"), RTLD_NOW | RTLD_LOCAL));
	descriptors[2] = descriptor_in(dlmopen(LM_ID_NEWLM, path_of("1"), RTLD_NOW));
	table = hs_mapping_table_create();
	begin();
	for (unsigned i = 0; i < 3; i++) {
		CHECK(descriptors[i] != NULL);
		if (descriptors[i] == NULL)
			exit(99);
		tell(descriptors[i], &lists[i], names[i], code + 0x100 * i);
	}
	for (unsigned i = 0; i < 3; i++)
		sample(code + 0x100 * i, in);
	freeze();
	for (unsigned i = 0; i < 3; i++) {
		CHECK_STR(leaf(i, 1)->name, names[i]);
		descriptors[i]->first = NULL;
	}
	end();
	table = all;
	run("rm -rf $PWD");
}

static uint64_t no_object; /* counted as another one each time that it has changed */

static long change_list(long number)
{
	(void)number;
	__jit_debug_descriptor.action++;
	no_object++;
	return 0;
}

/*
 * However many mappings of generated code it has, and however often the list changes; and though
 * it seems not to have.
 */
static void a_profile_reads_the_list_once(void)
{
	static const uint64_t first_object;
	struct {
		void *next, *previous;
		const void *object;
		uint64_t bytes;
	} last = {NULL, NULL, &no_object, 8}, first = {&last, NULL, &first_object, 8};
	char *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t other = (uint64_t)(uintptr_t)pages + PAGE, skipped;

	mprotect(pages + PAGE, PAGE, PROT_READ | PROT_EXEC);
	begin();
	sample(code, in);
	sample(other, hs_mapping_table_find(table, other));
	__jit_debug_descriptor.first = &first;
	skipped = hs_stats_get(jit_skipped);
	hs_sys_fault = change_list;
	freeze();
	hs_sys_fault = NULL;
	CHECK(hs_mapping_table_find(table, other) != in);
	CHECK_INT(hs_stats_get(jit_skipped), skipped + 2);
	freeze();
	CHECK_INT(hs_stats_get(jit_skipped), skipped + 3);
	no_object++;
	freeze();
	CHECK_INT(hs_stats_get(jit_skipped), skipped + 4);
	__jit_debug_descriptor.first = NULL;
	munmap(pages, 3 * PAGE);
	end();
}

static unsigned calls;

static long count_calls(long number)
{
	(void)number;
	calls++;
	return 0;
}

static void without_generated_code_nothing_is_looked_at(void)
{
	uint64_t function = (uint64_t)(uintptr_t)memfd_create;
	struct hs_frame frames[3];

	begin();
	frames[0] = (struct hs_frame){function, hs_mapping_table_find(table, function)};
	frames[1] = frames[0];
	frames[2] = (struct hs_frame){code, in};
	hs_sys_fault = count_calls;
	calls = 0;
	sample(function, hs_mapping_table_find(table, function));
	CHECK_INT(calls, 0);
	sample(code, in);
	CHECK(calls > 0);
	hs_sys_fault = NULL;
	CHECK(!hs_jit_frames_may_be_in(producer->jit_frames, frames, 2));
	CHECK(hs_jit_frames_may_be_in(producer->jit_frames, frames, 3));
	end();
}

int main(void)
{
	set_up();
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	table = hs_mapping_table_create();
	RUN(code_has_its_function_s_name);
	RUN(a_profile_reads_all_of_a_perf_map);
	RUN(samples_go_on_with_a_perf_map);
	RUN(a_perf_map_of_an_earlier_process_names_nothing);
	RUN(code_beside_functions_has_none_of_their_names);
	RUN(an_address_used_again_is_another_frame);
	RUN(moved_code_keeps_its_name);
	RUN(names_that_come_late_are_filled_in);
	RUN(a_frame_sampled_before_its_name_came_is_the_same_frame);
	RUN(code_in_no_mapping_has_one_made_up);
	RUN(files_keep_their_own_names);
	RUN(code_for_debuggers_has_its_name);
	RUN(code_for_debuggers_has_its_name_when_files_can_be_read);
	RUN(code_for_debuggers_has_its_name_when_files_can_be_opened);
	RUN(each_library_has_its_list);
	RUN(a_profile_reads_the_list_once);
	RUN(without_generated_code_nothing_is_looked_at);
	return CHECK_RESULT();
}
