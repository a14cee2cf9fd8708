/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hidden frames, from records to the view of a profile: functions and libraries of this
 * program, and a page of generated code with its own perf map.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sys.h"
#include "profile/snapshot.h"
#include "profile_testing.h"
#include "sample/labels.h"

enum { PAGE = 4096, NOWHERE = 0x1000 /* an address in no mapping */ };

static struct hs_mapping_table *table;
static struct hs_producer *producer;
static struct hs_snapshot *snapshot;
static struct hs_view view;
static uint64_t next_address = 0x100000;
static _Atomic uint32_t labels; /* of the samples */
static char perf_map[64], messages[] = "/tmp/test_frame_filter.XXXXXX";
static void *page;
static uint64_t code; /* its address */

/* A C++ method, and functions with names of their own. */
__asm__(".pushsection .text\n"
	".irp name, _ZN5vault4keepEi, vault_open, vault_shut, open_door, shut_door\n"
	".globl \\name\n"
	".type \\name, %function\n"
	"\\name: .skip 16\n"
	".size \\name, 16\n"
	".endr\n"
	".popsection\n");
extern const char vault_keep[] __asm__("_ZN5vault4keepEi");
extern const char vault_open[], vault_shut[], open_door[], shut_door[];

/* Rust's, of the crate "secret" and functions with so many letters. */
#define LETTERS_10 "aaaaaaaaaa"
#define TEN_TIMES(text) text text text text text text text text text text
#define LETTERS_1000 TEN_TIMES(TEN_TIMES(LETTERS_10))
#define LETTERS_5000 LETTERS_1000 LETTERS_1000 LETTERS_1000 LETTERS_1000 LETTERS_1000
#define LETTERS_60000 TEN_TIMES(LETTERS_5000 LETTERS_1000)
#define RUST_FUNCTION(name, linkage_name) \
	__attribute__((noinline, used)) static void name(void) __asm__(linkage_name); \
	static void name(void) \
	{ \
	}
RUST_FUNCTION(rust_5000, "_RNvC6secret5000" LETTERS_5000)
RUST_FUNCTION(rust_60000, "_RNvC6secret60000" LETTERS_60000)
RUST_FUNCTION(rust_70000, "_RNvC6secret70000" TEN_TIMES(LETTERS_5000 LETTERS_1000 LETTERS_1000))

static uint64_t in(const char *function)
{
	return (uint64_t)(uintptr_t)function + 1;
}

static uint64_t in_libc(void)
{
	return (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "getpid");
}

static void begin(const char *prefixes)
{
	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.labels = HS_LABEL_SIZE,
		.hidden = prefixes,
		.jit_sources = HS_JIT_SOURCE_PERF_MAP,
		.jit_bytes = MIB,
	});
}

static struct hs_frame at(uint64_t address)
{
	return (struct hs_frame){address, hs_mapping_table_find(table, address)};
}

static void sample_in(uint32_t heap, uint64_t size, uint32_t tid, struct hs_frame leaf,
		      struct hs_frame root)
{
	union test_record record = allocate_in(heap, next_address += 16, size, 1, 0);

	record.head.labels = labels;
	record.head.tid = tid;
	record.head.frames[0] = leaf;
	record.head.frames[1] = root;
	take(producer, &record);
	CHECK(!hs_producer_commit(producer));
}

/* An allocation whose stack is leaf and root. */
static void sample(uint64_t size, uint64_t leaf, uint64_t root)
{
	sample_in(HS_HEAP_MALLOC, size, 0, at(leaf), at(root));
}

static void freeze(enum hs_symbolize symbolize)
{
	struct hs_options options = {.symbolize = symbolize};

	hs_snapshot_destroy(snapshot);
	view = (struct hs_view){0};
	snapshot = hs_snapshot_create(producer, &options, HS_HEAP_NONE, NULL, &view);
	CHECK(snapshot != NULL);
	if (snapshot == NULL)
		exit(99);
}

static void end(void)
{
	hs_snapshot_destroy(snapshot);
	snapshot = NULL;
	check_holders(producer);
	unlink(perf_map);
}

static const struct hs_view_location *frame(size_t row, size_t number)
{
	uint64_t stack[FRAMES_MAX];

	CHECK(row < view.row_count);
	if (row >= view.row_count)
		exit(99);
	CHECK_INT(view.get_stack(view.stack_context, view.rows[row].callsite, stack, FRAMES_MAX),
		  2);
	return &view.locations[stack[number] - 1];
}

static void check_hidden(const struct hs_view_location *location)
{
	CHECK_STR(location->name, "FILTERED");
	CHECK(location->system_name == NULL && location->filename == NULL);
	CHECK_INT(location->start_line, 0);
	CHECK_INT(location->address, HS_PSEUDO_FILTERED);
	CHECK_STR(view.mappings[location->mapping].filename, "[heapsample]");
	CHECK_STR(view.mappings[location->mapping].build_id, "");
}

static bool has_mapping(uint64_t address)
{
	for (size_t i = 0; i < view.mapping_count; i++) {
		if (view.mappings[i].start <= address && address < view.mappings[i].limit)
			return true;
	}
	return false;
}

static void say(uint64_t start, uint64_t bytes, const char *name)
{
	int fd = open(perf_map, O_WRONLY | O_CREAT | O_APPEND, 0600);

	CHECK(dprintf(fd, "%llx %llx %s\n", (unsigned long long)start, (unsigned long long)bytes,
		      name) > 0);
	close(fd);
}

static void names_hide_functions_and_equal_stacks_are_one(void)
{
	begin("vault_,vault::");
	sample(100, in(vault_open), in(open_door));
	sample(100, in(vault_shut), in(open_door));
	sample(100, in(vault_keep), in(open_door));
	sample(100, in(shut_door), in(open_door));
	CHECK_INT(hs_heap_tracker_row_count(&producer->tracker), 2);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 2);
	CHECK_INT(view.rows[0].values[0], 3);
	CHECK_INT(view.rows[0].values[3], 300);
	check_hidden(frame(0, 0));
	CHECK_STR(frame(0, 1)->name, "open_door");
	CHECK_STR(frame(1, 0)->name, "shut_door");
	CHECK_INT(frame(1, 0)->address, in(shut_door));
	CHECK_INT(view.location_count, 3);
	CHECK_INT(view.mapping_count, 2);
	end();
}

static void linkage_names_count_too(void)
{
	begin("_ZN5vault");
	sample(1, in(vault_keep), in(vault_open));
	freeze(HS_SYMBOLIZE_NONE);
	check_hidden(frame(0, 0));
	CHECK(frame(0, 1)->name == NULL);
	CHECK_INT(frame(0, 1)->address, in(vault_open));
	end();
}

/* Libiberty has no bound for these.  What is too long to be read has no name at all. */
static void long_names_count_as_in_the_source(void)
{
	const uint64_t functions[] = {(uint64_t)(uintptr_t)rust_5000,
				      (uint64_t)(uintptr_t)rust_60000};
	const uint64_t longest = (uint64_t)(uintptr_t)rust_70000;

#ifdef HS_DEMANGLES_RUST_V0
	for (size_t i = 0; i < COUNT(functions); i++) {
		const struct hs_view_location *shown;

		begin("secret::");
		sample(1, functions[i], in(open_door));
		freeze(HS_SYMBOLIZE_NAMES);
		check_hidden(frame(0, 0));
		end();
		begin("nothing");
		sample(1, functions[i], in(open_door));
		freeze(HS_SYMBOLIZE_NAMES);
		shown = frame(0, 0);
		CHECK(strncmp(shown->name, "secret::aaaaaa", 14) == 0);
		CHECK(strncmp(shown->system_name, "_RNvC6secret", 12) == 0);
		CHECK_INT(strlen(shown->system_name), 4095);
		end();
	}
#endif
	begin("secret::");
	sample(1, longest, in(open_door));
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK(strncmp(frame(0, 0)->name, "test_frame_filter+0x", 20) == 0);
	end();
}

static void paths_hide_whole_mappings(void)
{
	const struct hs_mapping *libc =
		hs_mapping_table_get(table, hs_mapping_table_find(table, in_libc()));

	begin(libc->path);
	sample(1, in_libc(), in(open_door));
	freeze(HS_SYMBOLIZE_NAMES);
	check_hidden(frame(0, 0));
	CHECK_STR(frame(0, 1)->name, "open_door");
	CHECK(!has_mapping(in_libc()) && has_mapping(in(open_door)));
	CHECK(!hs_snapshot_hides_main(snapshot));
	end();
	/* The program is there even if only hidden code has been sampled. */
	begin(libc->path);
	sample(1, in_libc(), in_libc());
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK(!has_mapping(in_libc()) && has_mapping(in(open_door)));
	CHECK(!hs_snapshot_hides_main(snapshot));
	end();
}

static void everything_may_be_hidden_with_a_warning(void)
{
	char text[512] = "";
	int fd = open(messages, O_RDONLY);

	lseek(fd, 0, SEEK_END);
	begin("/,[");
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.mapping_count, 0);
	CHECK(hs_snapshot_hides_main(snapshot));
	CHECK_INT(read(fd, text, sizeof text - 1), 0); /* nothing has been hidden yet */
	sample(1, in_libc(), in(open_door));
	sample(1, in(open_door), in_libc());
	freeze(HS_SYMBOLIZE_NAMES);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 1);
	CHECK_INT(view.rows[0].values[0], 2);
	check_hidden(frame(0, 0));
	check_hidden(frame(0, 1));
	CHECK_INT(view.location_count, 1);
	CHECK_INT(view.mapping_count, 1);
	CHECK(hs_snapshot_hides_main(snapshot));
	/* One line. */
	CHECK(read(fd, text, sizeof text - 1) > 0);
	CHECK(strstr(text, "HEAPSAMPLE_SKIP_SYMBOL_PREFIX=/,[ hides every frame") != NULL);
	CHECK(strchr(text, '\n') != NULL && strchr(text, '\n')[1] == '\0');
	close(fd);
	end();
}

/* What stands for no function is no secret, and was not hidden by a list that makes no sense. */
static void pseudo_frames_are_shown(void)
{
	char text[512] = "";
	int fd = open(messages, O_RDONLY);

	lseek(fd, 0, SEEK_END);
	begin(",");
	sample(1, 0, in(open_door));
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_STR(frame(0, 0)->name, "[unknown]");
	check_hidden(frame(0, 1));
	/* Such a list is reported at start-up. */
	CHECK_INT(read(fd, text, sizeof text - 1), 0);
	close(fd);
	end();
}

/* The program's path is looked at like that of a library. */
static void a_program_of_hidden_frames_only_is_hidden(void)
{
	begin("vault");
	sample(1, in_libc(), in(vault_open));
	freeze(HS_SYMBOLIZE_NAMES);
	check_hidden(frame(0, 1));
	CHECK(has_mapping(in_libc()) && !has_mapping(in(vault_open)));
	CHECK(hs_snapshot_hides_main(snapshot));
	sample(1, in_libc(), in(open_door));
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK(has_mapping(in(vault_open)) && !hs_snapshot_hides_main(snapshot));
	end();
}

static void a_program_of_which_nothing_is_known_is_hidden(void)
{
	struct hs_mapping_table *known = table;

	table = hs_mapping_table_create();
	begin("vault");
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.mapping_count, 0);
	CHECK(hs_snapshot_hides_main(snapshot));
	end();
	begin(NULL);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK(!hs_snapshot_hides_main(snapshot));
	end();
	table = known;
}

static void generated_code_is_hidden(void)
{
	begin("hidden,JS:*linked,/srv/vault");
	say(code, 16, "hidden_one");
	say(code + 16, 16, "JS:*linked /srv/app.js:1:1");
	say(code + 32, 16, "JS:*shown /srv/vault/app.js:1:1");
	say(code + 48, 16, "JS:*shown /srv/app.js:2:1");
	for (uint64_t at = code; at <= code + 48; at += 16)
		sample(1, at, in(open_door));
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 2);
	CHECK_INT(view.rows[0].values[0], 3);
	check_hidden(frame(0, 0));
	CHECK_STR(frame(1, 0)->name, "shown");
	end();
	/* In no mapping, by the path that is made up for it. */
	begin("[jit");
	say(NOWHERE, 16, "shown");
	sample_in(HS_HEAP_MALLOC, 1, 0, (struct hs_frame){NOWHERE, HS_MAPPING_UNKNOWN},
		  at(in(open_door)));
	freeze(HS_SYMBOLIZE_NAMES);
	check_hidden(frame(0, 0));
	end();
}

/* Also those that are too long for libiberty. */
static void linkage_names_of_generated_code_are_hidden(void)
{
	static char longest[2000] = "_ZN6hiddenI";

	while (strlen(longest) < sizeof longest - 10)
		strcat(longest, "1a");
	strcat(longest, "E3runEv");
	begin("hidden");
	say(code, 16, "_ZN6hidden3runEv");
	say(code + 16, 16, longest);
	for (uint64_t at = code; at <= code + 16; at += 16)
		sample(1, at, in(open_door));
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 1);
	check_hidden(frame(0, 0));
	end();
}

/* The profile's stacks are made anew, and rows that have become equal are merged. */
static void names_that_come_late_hide_too(void)
{
	uint64_t before = hs_stats_get(filtered);

	begin("vault_,late_");
	sample(200, code, in(open_door));
	sample(200, code + 16, in(open_door));
	sample(200, in(vault_open), in(open_door));
	sample(7, code + 16, in(open_door));
	sample(200, code + 32, in(open_door));
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 5);
	say(code, 16, "late_one");
	say(code + 16, 16, "late_two");
	say(code + 32, 16, "other");
	for (int i = 0; i < 2; i++) {
		freeze(HS_SYMBOLIZE_NAMES);
		CHECK_INT(view.row_count, 3);
		CHECK_INT(view.rows[0].values[0], 3);
		CHECK_INT(view.rows[0].values[1], 600);
		CHECK_INT(view.rows[0].values[2], 3);
		CHECK_INT(view.rows[0].values[3], 600);
		check_hidden(frame(0, 0));
		check_hidden(frame(1, 0));
		CHECK_INT(view.rows[1].size, 7);
		CHECK_STR(frame(2, 0)->name, "other");
		CHECK_INT(view.location_count, 3);
	}
	CHECK_INT(hs_stats_get(filtered), before + 3);
	/* New samples are treated so when they are taken. */
	sample(200, code + 16, in(open_door));
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 3);
	CHECK_INT(view.rows[0].values[0], 4);
	/* Another one comes later still. */
	sample(200, code + 48, in(open_door));
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 4);
	say(code + 48, 16, "late_three");
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 3);
	CHECK_INT(view.rows[0].values[0], 5);
	/* What is shown are open_door() and "other". */
	CHECK_INT(producer->filter.shown, 2);
	end();
	/* Also where no names are written. */
	begin("late_");
	sample(200, code, in(open_door));
	say(code, 16, "late_one");
	freeze(HS_SYMBOLIZE_NONE);
	check_hidden(frame(0, 0));
	end();
}

/* The hint comes after the samples.  Files keep their own paths. */
static void code_of_hidden_objects_is_hidden(void)
{
	static char setting[] = "@/tmp/test_frame_filter.XXXXXX";
	int fd = mkstemp(setting + 1);

	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.hidden = "/secret/",
		.hints = setting,
	});
	sample(1, code, in(open_door));
	sample(2, in(shut_door), in(open_door));
	CHECK(dprintf(fd, "/secret/object.so,0x%llx,4096\n/secret/object.so,0x%llx,16\n",
		      (unsigned long long)code, (unsigned long long)in(shut_door) - 1) > 0);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 2);
	check_hidden(frame(0, 0));
	CHECK_STR(frame(1, 0)->name, "shut_door");
	close(fd);
	unlink(setting + 1);
	end();
}

/* As if a perf map named it. */
static void hide_late(uint64_t address)
{
	struct hs_frame frame = {address, hs_mapping_table_find(table, address)};
	uint32_t number = hs_location_table_intern(&producer->locations, frame, 0);

	hs_location_set_lasting_name(hs_location_table_get(&producer->locations, number),
				     "late_name");
	CHECK(hs_frame_filter_review(producer, &number, 1, &(struct hs_pauses){.pause = NULL}));
}

/* A stack that was known before must not be used as it was. */
static void a_known_stack_may_come_to_be_hidden(void)
{
	uint64_t address = in(open_door);

	begin("late_");
	for (int i = 0; i < 2; i++)
		sample(200, address, address);
	CHECK_INT(hs_heap_tracker_row_count(&producer->tracker), 1);
	hide_late(address);
	for (int i = 0; i < 2; i++)
		sample(200, address, address);
	CHECK_INT(hs_heap_tracker_row_count(&producer->tracker), 2);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_INT(view.row_count, 1);
	CHECK_INT(view.rows[0].values[0], 4);
	end();
}

/* Makes stacks until the next one needs more memory than a few rows do. */
static uint32_t fill_trie(struct hs_callsite_trie *trie, uint32_t location)
{
	uint32_t node = HS_CALLSITE_ROOT;

	while (trie->interner.count < trie->interner.capacity || trie->interner.capacity < 4096)
		node = hs_callsite_trie_child(trie, node, location);
	return node;
}

/* What was hidden is not shown for want of memory. */
static void without_memory_the_whole_stack_is_hidden(void)
{
	struct hs_callsite_trie *trie;
	struct hs_view_row row;
	uint32_t one = 1, last;

	begin("late_");
	trie = &producer->trie;
	sample(200, in(shut_door), in(open_door));
	freeze(HS_SYMBOLIZE_NONE);
	hide_late(in(shut_door));
	row = view.rows[0];
	hs_callsite_trie_hold(trie, row.callsite);
	last = fill_trie(trie, hs_callsite_trie_get(trie, row.callsite)->location);
	hs_arena_set_budget(hs_arena_used() + 32 * 1024);
	CHECK(hs_frame_filter_rows(producer, &row, &one, &(struct hs_pauses){.pause = NULL}));
	hs_arena_set_budget(256 * MIB);
	CHECK_INT(one, 1);
	CHECK_INT(row.callsite, producer->filter.callsite);
	hs_callsite_trie_release(trie, row.callsite);
	hs_callsite_trie_settle(trie, last);
	end();
}

/* So is a function whose name there is no memory for. */
static void without_memory_for_its_name_a_frame_is_hidden(void)
{
	begin("vault_");
	sample(1, in(open_door), in(open_door));
	hs_arena_set_budget(hs_arena_used());
	sample(1, in(shut_door), in(open_door));
	hs_arena_set_budget(256 * MIB);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_INT(view.row_count, 2);
	check_hidden(frame(1, 0));
	CHECK_INT(frame(1, 1)->address, in(open_door));
	end();
}

/* Rows that cannot be filtered are not written. */
static void without_memory_for_rows_there_is_no_profile(void)
{
	const struct hs_options options = {.symbolize = HS_SYMBOLIZE_NAMES};
	size_t used, extra = 0;

	begin("late_");
	sample(200, code, in(open_door));
	sample(200, code + 16, in(open_door));
	say(code, 32, "late_one");
	freeze(HS_SYMBOLIZE_NAMES);
	hs_snapshot_destroy(snapshot);
	used = hs_arena_used();
	do {
		hs_arena_set_budget(used + extra);
		snapshot = hs_snapshot_create(producer, &options, HS_HEAP_NONE, NULL, &view);
		if (snapshot == NULL) {
			CHECK_INT(hs_arena_used(), used);
			check_holders(producer);
		}
		extra += 16;
	} while (snapshot == NULL && extra < MIB);
	hs_arena_set_budget(256 * MIB);
	CHECK(extra > 16 && extra < MIB);
	CHECK_INT(view.row_count, 1);
	check_hidden(frame(0, 0));
	end();
}

static void rows_of_other_heaps_and_threads_stay_apart(void)
{
	const uint32_t tid = (uint32_t)hs_sys_gettid();

	atomic_store(&hs_heaps[HS_HEAP_FIRST_REPORTED].state, HS_HEAP_REGISTERED);
	for (unsigned kind = 0; kind < 3; kind++) {
		producer = new_producer_with(&(struct hs_producer_setup){
			.mappings = table,
			.labels = kind == 1 ? HS_LABEL_TID : kind == 2 ? HS_LABEL_THREAD : 0,
			.hidden = "late_",
			.jit_sources = HS_JIT_SOURCE_PERF_MAP,
			.jit_bytes = MIB,
		});
		for (uint64_t i = 0; i < 3; i++) {
			bool other = i == 2;

			sample_in(other && kind == 0 ? HS_HEAP_FIRST_REPORTED : HS_HEAP_MALLOC, 1,
				  other && kind != 0 ? INT32_MAX : tid, at(code + i % 2 * 16),
				  at(in(open_door)));
		}
		say(code, 32, "late_one");
		freeze(HS_SYMBOLIZE_NAMES);
		CHECK_INT(view.row_count, 2);
		CHECK_INT(view.rows[0].values[0], 2);
		CHECK_INT(view.rows[1].values[0], 1);
		end();
	}
}

/* Rows with different labels are not merged. */
static void rows_of_other_labels_stay_apart(void)
{
	static const uint64_t values[] = {2, 1};

	hs_labels_init();
	begin("late_");
	for (int i = 0; i < 3; i++) {
		CHECK_INT(hs_labels_set(&labels, "n", i == 2 ? "2" : "1"), 0);
		sample(200, code + (uint64_t)i % 2 * 16, in(open_door));
	}
	labels = 0;
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 3);
	say(code, 32, "late_one");
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 2);
	for (size_t i = 0; i < 2; i++) {
		CHECK_STR(view.rows[i].labels + 2, i == 0 ? "1" : "2");
		CHECK_INT(view.rows[i].values[0], values[i]);
		check_hidden(frame(i, 0));
	}
	end();
}

/* A program may report blocks of any size. */
static void merged_values_do_not_overflow(void)
{
	begin("late_");
	for (uint64_t i = 0; i < 2; i++)
		sample(UINT64_C(1) << 62, code + 16 * i, in(open_door));
	say(code, 32, "late_one");
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 1);
	CHECK_INT(view.rows[0].values[0], 2);
	CHECK_INT(view.rows[0].values[1], INT64_MAX);
	end();
}

static unsigned opened;

static long count_opens(long number)
{
	opened += number == SYS_openat;
	return 0;
}

/* Symbols of an object stay in memory, with a limit, while new addresses of it keep coming. */
static void objects_are_read_once(void)
{
	size_t limits[] = {64 * MIB, 0};
	unsigned first;

	for (size_t i = 0; i < COUNT(limits); i++) {
		producer = new_producer_with(&(struct hs_producer_setup){
			.mappings = table,
			.hidden = "nothing",
			.symbol_bytes = limits[i],
		});
		opened = 0;
		hs_sys_fault = count_opens;
		sample(1, in_libc(), in(open_door));
		first = opened;
		CHECK(first >= 2);
		for (int n = 1; n < 8; n++)
			sample(1, in_libc() + 1, in(shut_door) + (uint64_t)n);
		sample(1, in_libc() + 2, in(shut_door));
		hs_sys_fault = NULL;
		/* With room for one object only, the other is read again when it is needed. */
		CHECK(limits[i] != 0 ? opened == first : opened > first);
		CHECK(producer->names.kept_bytes > 0);
		for (int n = 0; n < 4096; n++)
			sample(1, in_libc(), in(open_door));
		CHECK(producer->names.kept_bytes > 0);
		for (int n = 0; n < 4096; n++)
			sample(1, in_libc(), in(open_door));
		CHECK_INT(producer->names.kept_bytes, 0);
	}
}

int main(void)
{
	int fd = mkstemp(messages);

	snprintf(perf_map, sizeof perf_map, "/tmp/perf-%d.map", (int)getpid());
	close(fd);
	hs_log_init(HS_LOG_WARN, messages);
	set_up();
	page = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code = (uint64_t)(uintptr_t)page;
	table = hs_mapping_table_create();
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	RUN(names_hide_functions_and_equal_stacks_are_one);
	RUN(linkage_names_count_too);
	RUN(long_names_count_as_in_the_source);
	RUN(paths_hide_whole_mappings);
	RUN(everything_may_be_hidden_with_a_warning);
	RUN(pseudo_frames_are_shown);
	RUN(a_program_of_hidden_frames_only_is_hidden);
	RUN(a_program_of_which_nothing_is_known_is_hidden);
	RUN(generated_code_is_hidden);
	RUN(linkage_names_of_generated_code_are_hidden);
	RUN(names_that_come_late_hide_too);
	RUN(code_of_hidden_objects_is_hidden);
	RUN(a_known_stack_may_come_to_be_hidden);
	RUN(without_memory_the_whole_stack_is_hidden);
	RUN(without_memory_for_its_name_a_frame_is_hidden);
	RUN(without_memory_for_rows_there_is_no_profile);
	RUN(rows_of_other_heaps_and_threads_stay_apart);
	RUN(rows_of_other_labels_stay_apart);
	RUN(merged_values_do_not_overflow);
	RUN(objects_are_read_once);
	unlink(messages);
	return CHECK_RESULT();
}
