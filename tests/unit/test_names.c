/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that come later, with a debug file; objects are not read without need. */
#include "profile/names.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "object_directory.h"
#include "process_vm.h"

static const char source[] =
	"static __attribute__((noinline)) int hidden(int x) { __asm__(\"\" : \"+r\"(x)); "
	"return x * 3; }\n"
	"int shown(int x) { return hidden(x) + 1; }\n"
	"void *address_of_hidden(void) { return (void *)hidden; }\n";

static struct hs_location_table locations;
static struct hs_mapping_table *table;
static struct hs_names names;
static struct hs_pauses pauses;
static uint32_t ids[2]; /* in hidden(), and in shown() */
static const struct hs_location_run both = {&locations, ids, 2};
static uint64_t hidden_function;
static uint32_t mapping;
static _Atomic unsigned opened;

static long count_opens(long number)
{
	opened += number == SYS_openat;
	return 0;
}

static void fill_in(void)
{
	hs_names_fill(&names, &both, hs_mapping_table_get(table, mapping), mapping, &pauses);
}

/* Fills in the names as for a profile.  Returns how many files were opened for it. */
static unsigned fill(void)
{
	opened = 0;
	hs_sys_fault = count_opens;
	fill_in();
	hs_sys_fault = NULL;
	return opened;
}

static const struct hs_location *location(unsigned number)
{
	return hs_location_table_get(&locations, ids[number]);
}

static void forget_names(void)
{
	for (unsigned i = 0; i < 2; i++)
		hs_location_set_name(hs_location_table_get(&locations, ids[i]), NULL);
}

static uint32_t add(uint64_t address)
{
	return hs_location_table_intern(&locations, (struct hs_frame){ address, mapping }, 0);
}

static bool load_library(void)
{
	uint64_t shown;
	void *library;
	FILE *file;

	file = fopen(path_of("source.c"), "we");
	fputs(source, file);
	fclose(file);
	if (!run("${CC:-cc} -O1 -g -w -shared -fPIC -Wl,--build-id -o object source.c && "
		 "objcopy --only-keep-debug object names.debug && strip object && "
		 "objcopy --add-gnu-debuglink=names.debug object && mv names.debug away"))
		return false;
	library = dlopen(path_of("object"), RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return false;
	shown = (uint64_t)(uintptr_t)dlsym(library, "shown");
	hidden_function = (uint64_t)(uintptr_t)(
		(void *(*)(void))(uintptr_t)dlsym(library, "address_of_hidden"))();
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	mapping = hs_mapping_table_find(table, hidden_function);
	ids[0] = add(hidden_function + 1);
	ids[1] = add(shown + 1);
	return true;
}

/* Nothing is kept for its mapping: a program may have ever new ones. */
static void generated_code_is_named_by_its_address(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hs_frame frame = {.address = (uint64_t)(uintptr_t)page + 0x10};
	char expected[64];
	uint32_t id;
	const struct hs_location_run one = {&locations, &id, 1};

	CHECK_INT(hs_mapping_table_refresh(table), 0);
	frame.mapping = hs_mapping_table_find(table, frame.address);
	id = hs_location_table_intern(&locations, frame, 0);
	CHECK(!hs_names_find(&names, hs_location_table_get(&locations, id),
			     hs_mapping_table_get(table, frame.mapping), frame.mapping));
	hs_names_fill(&names, &one, hs_mapping_table_get(table, frame.mapping), frame.mapping,
		      &pauses);
	snprintf(expected, sizeof expected, "//anon+0x%llx", (unsigned long long)frame.address);
	CHECK_STR(hs_location_table_get(&locations, id)->name, expected);
	CHECK_INT(names.count, 0);
	munmap(page, 4096);
}

/* There is no file: its symbols are read from memory. */
static void code_of_the_kernel_has_names(void)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *function = vdso != NULL ? dlsym(vdso, "__vdso_getcpu") : NULL;
	struct hs_frame frame = {.address = (uint64_t)(uintptr_t)function};
	struct hs_names own = {0};
	const char *name;
	uint32_t id;
	const struct hs_location_run one = {&locations, &id, 1};

	if (function == NULL)
		return;
	frame.mapping = hs_mapping_table_find(table, frame.address);
	id = hs_location_table_intern(&locations, frame, 0);
	hs_names_fill(&own, &one, hs_mapping_table_get(table, frame.mapping), frame.mapping,
		      &pauses);
	name = hs_location_table_get(&locations, id)->system_name;
	CHECK(name != NULL && strstr(name, "getcpu") != NULL);
	hs_names_fini(&own);
}

static void names_come_with_a_debug_file(void)
{
	uint64_t missing = hs_stats_get(names_missing);
	char offset_name[64];

	CHECK(fill() > 0);
	CHECK_INT(hs_stats_get(names_missing), missing + 1);
	CHECK_STR(location(1)->name, "shown");
	CHECK(strncmp(location(0)->name, "object+0x", 9) == 0);
	CHECK(location(0)->system_name == NULL);
	snprintf(offset_name, sizeof offset_name, "%s", location(0)->name);
	/* Nothing has changed: nothing is read. */
	CHECK_INT(fill(), 0);
	CHECK_STR(location(0)->name, offset_name);
	/* A file that is not a debug file is looked at once. */
	CHECK(run("echo no >names.debug"));
	CHECK(fill() > 0);
	CHECK_INT(fill(), 0);
	CHECK_STR(location(0)->name, offset_name);
	CHECK(run("cp away names.debug"));
	CHECK(fill() > 0);
	CHECK_STR(location(0)->name, "hidden");
	CHECK_STR(location(0)->system_name, "hidden");
	CHECK_STR(location(1)->name, "shown");
	CHECK_INT(hs_stats_get(names_missing), missing + 1); /* once each */
	/* When all have names no file is looked at. */
	CHECK(run("rm names.debug"));
	CHECK_INT(fill(), 0);
	CHECK_STR(location(0)->name, "hidden");
}

static void no_memory_is_no_name(void)
{
	uint64_t missing = hs_stats_get(names_missing);
	size_t budget = hs_arena_budget();

	ids[0] = add(location(1)->address + 2);
	hs_arena_set_budget(hs_arena_used());
	fill();
	CHECK(location(0)->name == NULL);
	CHECK_INT(hs_stats_get(names_missing), missing + 1);
	/* Not even for what would be known of another object. */
	hs_names_fill(&names, &both, hs_mapping_table_get(table, mapping), 1 << 20, &pauses);
	CHECK_INT(hs_stats_get(names_missing), missing + 3);
	hs_arena_set_budget(budget);
	fill();
	CHECK_STR(location(0)->name, "shown");
}

/* There is memory for names, but not for what is to be read. */
static void names_come_with_memory(void)
{
	enum { MANY = 50000 };
	static uint32_t many[MANY];
	const struct hs_location_run run = {&locations, many, MANY};
	const struct hs_mapping *object = hs_mapping_table_get(table, mapping);
	size_t budget = hs_arena_budget();

	forget_names();
	for (uint32_t i = 0; i < MANY; i++)
		many[i] = ids[1];
	hs_arena_set_budget(hs_arena_used() + MANY);
	hs_names_fill(&names, &run, object, mapping, &pauses);
	CHECK(strncmp(location(1)->name, "object+0x", 9) == 0);
	hs_arena_set_budget(budget);
	hs_names_fill(&names, &run, object, mapping, &pauses);
	CHECK_STR(location(1)->name, "shown");
	fill();
}

/* Of the calls that ask for or of a file, how many until something happens; 0: it has. */
static unsigned calls_left;

static bool is_last_call(long number)
{
	bool is_of_file = number == SYS_openat || number == SYS_newfstatat || number == SYS_pread64;

	return is_of_file && calls_left > 0 && --calls_left == 0;
}

static long put_debug_file(long number)
{
	if (is_last_call(number))
		CHECK_INT(link(path_of("away"), path_of("names.debug")), 0);
	return 0;
}

/* A debug file that is put in place while the object is read is found then or next time. */
static void names_come_with_a_debug_file_meanwhile(void)
{
	for (unsigned call = 1;; call++) {
		forget_names();
		calls_left = call;
		hs_sys_fault = put_debug_file;
		fill_in();
		hs_sys_fault = NULL;
		if (calls_left > 0)
			break;
		fill();
		CHECK_STR(location(0)->name, "hidden");
		CHECK_INT(unlink(path_of("names.debug")), 0);
	}
}

static int open_error;

static long no_descriptors(long number)
{
	return number == SYS_openat ? open_error : 0;
}

/* A loaded library's exported symbols are in memory, so reading does not fail completely. */
static void fail_to_open(int error)
{
	forget_names();
	open_error = error;
	hs_sys_fault = no_descriptors;
	fill_in();
	CHECK(strncmp(location(0)->name, "object+0x", 9) == 0);
	/* If memory can be read by /proc/self/mem only, that needs a descriptor too. */
	if (may_read_by_process_vm())
		CHECK_STR(location(1)->name, "shown");
}

/* The others: a server that does not answer for a while, or that is not there. */
static void names_come_with_descriptors(void)
{
	static const int errors[] = {
		EMFILE,	   ENFILE,    ENOMEM,	EIO,	EAGAIN, EINTR,	      ETIMEDOUT,   ESTALE,
		ENOTCONN,  EHOSTDOWN, ENETDOWN, ENODEV, ENXIO,	EHOSTUNREACH, ECONNREFUSED,
	};

	CHECK(run("cp away names.debug"));
	ids[0] = add(hidden_function + 2);
	ids[1] = add(location(1)->address + 3);
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		fail_to_open(-errors[i]);
		CHECK(fill() > 0);
		CHECK_STR(location(0)->name, "hidden");
		CHECK_STR(location(1)->name, "shown");
		CHECK_INT(fill(), 0);
	}
}

/* Where the path leads nowhere it is not tried again in each profile. */
static void paths_that_fail_are_left(void)
{
	static const int errors[] = {
		ENOENT, ENOTDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG, EINVAL, ENOSYS,
	};

	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		fail_to_open(-errors[i]);
		CHECK_INT(fill(), 0);
	}
	open_error = -EMFILE;
}

static unsigned calls;

static long count_reads(long number)
{
	calls += number == SYS_pread64;
	return 0;
}

static void at_file(enum hs_at_file what)
{
	(void)what;
}

/* The numbers of reads: what has been read ahead once is left, until the file changes. */
static void files_are_read_ahead_once(void)
{
	unsigned reads[4];

	pauses.at_file = at_file;
	for (unsigned i = 0; i < 4; i++) {
		if (i == 3)
			CHECK(run("touch names.debug"));
		forget_names();
		calls = 0;
		hs_sys_fault = count_reads;
		fill_in();
		hs_sys_fault = NULL;
		CHECK_STR(location(0)->name, "hidden");
		reads[i] = calls;
	}
	pauses.at_file = NULL;
	CHECK(reads[1] < reads[0]);
	CHECK_INT(reads[2], reads[1]);
	CHECK(reads[3] > reads[2]);
}

static long fail_once(long number)
{
	return is_last_call(number) ? -EIO : 0;
}

/* Wherever it is: in a header, a table, a name; in the object or its debug file. */
static void a_failed_read_is_made_up_for(void)
{
	unsigned failures = 0, call = 0;

	do {
		forget_names();
		calls_left = ++call;
		hs_sys_fault = fail_once;
		fill_in();
		hs_sys_fault = NULL;
		failures += location(0)->system_name == NULL;
		fill();
		CHECK_STR(location(0)->name, "hidden");
		CHECK_STR(location(1)->name, "shown");
	} while (calls_left == 0);
	CHECK(failures > 5);
}

static long one_descriptor(long number)
{
	return number == SYS_openat && opened++ > 0 ? -EMFILE : 0;
}

/* The object's own symbols can be read, but not its debug file, which exists. */
static void names_come_with_another_descriptor(void)
{
	hs_location_set_name(hs_location_table_get(&locations, ids[0]), NULL);
	opened = 0;
	hs_sys_fault = one_descriptor;
	fill_in();
	hs_sys_fault = NULL;
	CHECK(strncmp(location(0)->name, "object+0x", 9) == 0);
	CHECK(fill() > 0);
	CHECK_STR(location(0)->name, "hidden");
	CHECK_INT(fill(), 0);
}

static long no_descriptors_and_no_image(long number)
{
	return number == SYS_process_vm_readv ? -EFAULT : no_descriptors(number);
}

static bool find(uint32_t id)
{
	return hs_names_find(&names, hs_location_table_get(&locations, id),
			     hs_mapping_table_get(table, mapping), mapping);
}

/* A single name, if nothing or not all can be read, is tried again only after the next profile. */
static void single_names_come_with_descriptors(void)
{
	static const hs_sys_fault_fn faults[] = {no_descriptors_and_no_image, no_descriptors};

	for (unsigned i = 0; i < 2; i++) {
		uint32_t id = add(hidden_function + 3 * i);

		hs_sys_fault = faults[i];
		CHECK(!find(id));
		hs_sys_fault = NULL;
		CHECK(!find(id));
		CHECK_INT(fill(), 0);
		CHECK(find(id));
		CHECK_STR(hs_location_table_get(&locations, id)->name, "hidden");
		/* Two rounds without a use of the object: nothing is kept. */
		hs_names_end_round(&names);
		hs_names_end_round(&names);
		CHECK_INT(names.kept_bytes, 0);
	}
}

static void fill_one(unsigned number)
{
	const struct hs_location_run one = {&locations, &ids[number], 1};

	hs_names_fill(&names, &one, hs_mapping_table_get(table, mapping), mapping, &pauses);
}

/* Makes names by offsets alone, of two places in hidden(). */
static void name_by_offsets(hs_sys_fault_fn fault)
{
	forget_names();
	opened = 0;
	hs_sys_fault = fault;
	fill_in();
	hs_sys_fault = NULL;
	for (unsigned i = 0; i < 2; i++)
		CHECK(strncmp(location(i)->name, "object+0x", 9) == 0);
}

/* Not every profile has all of them, and others may have read the object since. */
static void names_come_late_to_each_location(void)
{
	static const hs_sys_fault_fn faults[] = {no_descriptors, one_descriptor};
	uint32_t shown = ids[1], single = add(hidden_function + 1);

	ids[1] = add(hidden_function + 3);
	for (unsigned i = 0; i < 4; i++) {
		if (i % 2 == 0)
			name_by_offsets(faults[i / 2]);
		fill_one(i % 2);
		CHECK_STR(location(i % 2)->name, "hidden");
	}
	CHECK(run("rm names.debug"));
	name_by_offsets(NULL);
	CHECK(run("cp away names.debug"));
	for (unsigned i = 0; i < 2; i++) {
		fill_one(i);
		CHECK_STR(location(i)->name, "hidden");
	}
	CHECK(run("rm names.debug"));
	name_by_offsets(NULL);
	CHECK_INT(fill(), 0);
	CHECK(run("cp away names.debug"));
	CHECK(find(single));
	CHECK(fill() > 0);
	for (unsigned i = 0; i < 2; i++)
		CHECK_STR(location(i)->name, "hidden");
	CHECK(run("rm names.debug"));
	name_by_offsets(NULL);
	CHECK(!find(single));
	CHECK(run("cp away names.debug"));
	fill();
	CHECK(find(single));
	forget_names();
	hs_location_set_name(hs_location_table_get(&locations, single), NULL);
	ids[1] = shown;
}

/* An object whose symbols had to make room for another's is read for each location since then. */
static void large_objects_are_not_kept_twice(void)
{
	struct hs_mapping other = *hs_mapping_table_get(table, mapping);
	uint32_t id = add(hidden_function + 2);

	hs_names_set_kept(&names, 1);
	CHECK(find(id));
	CHECK(names.kept_bytes > 0);
	CHECK(!names.objects[mapping].is_large);
	/* The same file, as the object of another mapping. */
	CHECK(hs_names_find(&names, hs_location_table_get(&locations, id), &other, mapping + 1));
	CHECK(names.objects[mapping].is_large);
	CHECK(names.objects[mapping].kept == NULL);
	hs_location_set_name(hs_location_table_get(&locations, ids[0]), NULL);
	CHECK(find(ids[0]));
	CHECK_STR(location(0)->name, "hidden");
	CHECK(names.objects[mapping].kept == NULL);
	CHECK(names.objects[mapping + 1].kept != NULL);
	/* If that fails the next profile is awaited as well. */
	hs_sys_fault = no_descriptors_and_no_image;
	CHECK(!find(ids[0]));
	hs_sys_fault = NULL;
	CHECK(!find(ids[0]));
	fill();
	CHECK(find(ids[0]));
	CHECK(names.objects[mapping].kept == NULL);
}

/* The same file stands for several objects. */
static void objects_used_last_are_kept(void)
{
	struct hs_location *one = hs_location_table_get(&locations, ids[0]);
	const struct hs_mapping *object = hs_mapping_table_get(table, mapping);
	static const uint32_t used[] = {0, 1, 0, 2};
	struct hs_names own = {0};

	hs_names_set_kept(&own, SIZE_MAX);
	for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
		CHECK(hs_names_find(&own, one, object, used[i]));
		if (used[i] == 1)
			hs_names_set_kept(&own, own.kept_bytes);
	}
	CHECK(own.objects[0].kept != NULL && own.objects[2].kept != NULL);
	CHECK(own.objects[1].kept == NULL);
	hs_names_fini(&own);
}

static long fail_an_assertion(long number)
{
	if (number == SYS_openat)
		__assert_fail("a == b", "library.c", 42, "f");
	return 0;
}

static void an_object_that_ends_in_an_assertion_is_left(void)
{
	const struct hs_mapping *object = hs_mapping_table_get(table, mapping);
	static const hs_sys_fault_fn faults[] = {fail_an_assertion, count_opens};
	struct hs_names own = {0};

	for (unsigned i = 0; i < 2; i++) {
		forget_names();
		opened = 0;
		hs_sys_fault = faults[i];
		hs_names_fill(&own, &both, object, mapping, &pauses);
		hs_sys_fault = NULL;
		CHECK(strncmp(location(1)->name, "object+0x", 9) == 0);
		CHECK_INT(opened, 0);
	}
	forget_names();
	hs_names_fini(&own);
}

static long no_image(long number)
{
	return number == SYS_process_vm_readv ? -EFAULT : count_opens(number);
}

/* Of an object out of reach the build id is known, and with luck what it exports. */
static void names_of_a_deleted_object_come_with_a_debug_file(void)
{
	static const hs_sys_fault_fn faults[] = {count_opens, no_image};
	struct hs_mapping gone = *hs_mapping_table_get(table, mapping);
	char place[128];

	gone.path = "/memfd:library";
	gone.flags = 0;
	gone.end = 0; /* not to be found in /proc/self/map_files */
	snprintf(place, sizeof place, ".build-id/%.2s", gone.build_id);
	hs_debug_file_root = directory;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t id = mapping + 2 + i;

		forget_names();
		hs_sys_fault = faults[i];
		hs_names_fill(&names, &both, &gone, id, &pauses);
		CHECK(strncmp(location(0)->name, "memfd:library+0x", 16) == 0);
		opened = 0;
		hs_names_fill(&names, &both, &gone, id, &pauses);
		CHECK_INT(opened, 0);
		CHECK(run("mkdir -p %s && cp away %s/%s.debug", place, place, gone.build_id + 2));
		hs_names_fill(&names, &both, &gone, id, &pauses);
		hs_sys_fault = NULL;
		CHECK_STR(location(0)->name, "hidden");
		CHECK_STR(location(1)->name, "shown");
		CHECK(run("rm -r %s", place));
	}
}

int main(void)
{
	size_t used;

	if (hs_arena_init((size_t)64 << 20) < 0 || mkdtemp(directory) == NULL)
		return 1;
	table = hs_mapping_table_create();
	CHECK_INT(hs_location_table_init(&locations), 0);
	if (table == NULL || !load_library())
		SKIP("no compiler or no binutils");
	RUN(generated_code_is_named_by_its_address);
	RUN(code_of_the_kernel_has_names);
	RUN(an_object_that_ends_in_an_assertion_is_left);
	used = hs_arena_used();
	RUN(names_come_with_a_debug_file);
	RUN(names_come_with_a_debug_file_meanwhile);
	RUN(no_memory_is_no_name);
	RUN(names_come_with_memory);
	RUN(names_come_with_descriptors);
	RUN(paths_that_fail_are_left);
	RUN(files_are_read_ahead_once);
	RUN(a_failed_read_is_made_up_for);
	RUN(names_come_with_another_descriptor);
	RUN(single_names_come_with_descriptors);
	RUN(names_come_late_to_each_location);
	RUN(large_objects_are_not_kept_twice);
	RUN(objects_used_last_are_kept);
	RUN(names_of_a_deleted_object_come_with_a_debug_file);
	hs_names_fini(&names);
	/* Only the names stay: nine, of at most 64 bytes each. */
	CHECK(hs_arena_used() - used <= 9 * 64);
	run("rm -rf $PWD");
	return CHECK_RESULT();
}
