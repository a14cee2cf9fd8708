/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots: rows, stacks, order and names, with this program's own functions. */
#include "profile/snapshot.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/sys.h"
#include "elf_writer.h"
#include "profile_testing.h"
#include "sample/labels.h"

static struct hs_mapping_table *table;
static struct hs_producer *producer;
static struct hs_snapshot *snapshot;
static struct hs_view view;
static uint64_t next_address = 0x100000;
static unsigned pauses;
static uint64_t low_code; /* executable memory below the program, so with a lower id; */
static uint64_t low_file; /* a library that is mapped there as well */

/* To be found in symbol tables.  Exported, because .dynsym has no other names. */
int snapshot_function_one(int value);
int snapshot_function_two(int value);

__attribute__((noinline)) int snapshot_function_one(int value)
{
	return value * 3 + 1;
}

__attribute__((noinline)) int snapshot_function_two(int value)
{
	return value * 5 + 2;
}

static void count_pause(void)
{
	pauses++;
}

static uint64_t address_of(int (*function)(int value))
{
	return (uint64_t)(uintptr_t)function;
}

/* An allocation of size bytes whose stack is the addresses given (leaf first, 0 = none). */
static void add(uint64_t size, uint64_t interval, uint64_t leaf, uint64_t root)
{
	union test_record record = allocate(next_address += 16, size, interval, 0);

	record.head.tid = (uint32_t)hs_sys_gettid();
	record.head.frames[0] = (struct hs_frame){leaf, hs_mapping_table_find(table, leaf)};
	record.head.frames[1] = (struct hs_frame){root, hs_mapping_table_find(table, root)};
	take(producer, &record);
	CHECK(!hs_producer_commit(producer));
}

static void freeze(enum hs_symbolize symbolize)
{
	static struct hs_options options = {.drop_frames = "malloc"};

	options.symbolize = symbolize;
	view = (struct hs_view){0};
	snapshot = hs_snapshot_create(producer, &options, HS_HEAP_NONE, count_pause, &view);
	CHECK(snapshot != NULL);
	if (snapshot == NULL)
		exit(99);
}

static const struct hs_view_location *frame(size_t row, size_t number)
{
	uint64_t stack[FRAMES_MAX];
	size_t count = view.get_stack(view.stack_context, view.rows[row].callsite, stack,
				      FRAMES_MAX);

	CHECK(number < count && count <= view.deepest_stack);
	CHECK(stack[number] - 1 < view.location_count);
	return &view.locations[stack[number] - 1];
}

static const struct hs_view_mapping *mapping_of(uint32_t row)
{
	return &view.mappings[frame(row, 0)->mapping];
}

static void names_functions_and_puts_main_first(void)
{
	uint64_t one = address_of(snapshot_function_one), two = address_of(snapshot_function_two);
	uint64_t libc = (uint64_t)(uintptr_t)memfd_create;

	producer = new_producer(table, 0);
	add(10, 1, libc, two);
	add(20, 1, two + 1, one);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 2);
	CHECK_INT(view.deepest_stack, 2);
	CHECK_INT(view.mapping_count, 2);
	CHECK_INT(view.location_count, 4);
	CHECK_STR(frame(0, 0)->name, "memfd_create");
	CHECK_STR(frame(0, 1)->name, "snapshot_function_two");
	CHECK_STR(frame(1, 0)->name, "snapshot_function_two");
	CHECK_STR(frame(1, 1)->name, "snapshot_function_one");
	CHECK(frame(0, 1)->name == frame(1, 0)->name);
	CHECK_INT(frame(1, 0)->address, two + 1);
	CHECK_INT(frame(1, 1)->mapping, 0);
	CHECK_INT(frame(0, 0)->mapping, 1);
	CHECK(view.mappings[0].start <= one && one < view.mappings[0].limit);
	CHECK(view.mappings[0].has_functions && view.mappings[1].has_functions);
	CHECK(pauses > 0);
	for (size_t i = 1; i < view.location_count; i++) {
		const struct hs_view_location *a = &view.locations[i - 1], *b = a + 1;

		CHECK(a->mapping < b->mapping ||
		      (a->mapping == b->mapping && a->address < b->address));
	}
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
}

/* Two C++ functions of one name, one of them met twice, and a Rust one. */
__asm__(".pushsection .text\n"
	".irp name, _ZN6Record4saveEi, _ZN6Record4saveEd, _RNvCs1234_6record4save\n"
	".globl \\name\n"
	".type \\name, %function\n"
	"\\name: .skip 16\n"
	".size \\name, 16\n"
	".endr\n"
	".popsection\n");
extern const char cxx_one[] __asm__("_ZN6Record4saveEi");
extern const char cxx_two[] __asm__("_ZN6Record4saveEd");
extern const char rust[] __asm__("_RNvCs1234_6record4save");

static void cxx_and_rust_names_are_those_of_the_source(void)
{
	uint64_t one = (uint64_t)(uintptr_t)cxx_one;

	producer = new_producer(table, 0);
	add(10, 1, one, (uint64_t)(uintptr_t)cxx_two);
	add(20, 1, one + 8, (uint64_t)(uintptr_t)rust);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_STR(frame(0, 0)->name, "Record::save");
	CHECK_STR(frame(0, 0)->system_name, "_ZN6Record4saveEi");
	CHECK_STR(frame(0, 1)->name, "Record::save");
	CHECK_STR(frame(0, 1)->system_name, "_ZN6Record4saveEd");
	CHECK(frame(1, 0)->name == frame(0, 0)->name);
	CHECK(frame(1, 0)->system_name == frame(0, 0)->system_name);
#ifdef HS_DEMANGLES_RUST_V0
	CHECK_STR(frame(1, 1)->name, "record::save");
#else
	CHECK_STR(frame(1, 1)->name, "_RNvCs1234_6record4save");
#endif
	CHECK_STR(frame(1, 1)->system_name, "_RNvCs1234_6record4save");
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
}

static void main_is_first_whatever_its_id(void)
{
	uint64_t one = address_of(snapshot_function_one);

	CHECK(hs_mapping_table_find(table, low_code) < hs_mapping_table_find(table, one));
	CHECK(hs_mapping_table_find(table, low_file) < hs_mapping_table_find(table, one));
	producer = new_producer(table, 0);
	add(10, 1, low_file, 0);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.mapping_count, 3);
	CHECK(view.mappings[0].start <= one && one < view.mappings[0].limit);
	CHECK(!view.mappings[0].has_functions);
	hs_snapshot_destroy(snapshot);
	add(10, 1, one, 0);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.mapping_count, 3);
	CHECK(view.mappings[0].start <= one && one < view.mappings[0].limit);
	CHECK_INT(frame(0, 0)->mapping, 1);
	CHECK_INT(frame(0, 1)->mapping, 2);
	CHECK_INT(frame(1, 0)->mapping, 0);
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
}

static void symbolize_decides_on_names(void)
{
	uint64_t one = address_of(snapshot_function_one);

	producer = new_producer(table, 0);
	add(10, 1, one, one);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK(view.locations[0].name == NULL);
	CHECK(!view.mappings[0].has_functions);
	hs_snapshot_destroy(snapshot);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_STR(view.locations[0].name, "snapshot_function_one");
	CHECK(view.mappings[0].has_functions);
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
}

/* Whether code of a file with a section of this name is left to the reader.  NULL: of none. */
static bool is_file_left_to_the_reader(const char *section)
{
	static struct elf_image image;
	char path[] = "/tmp/test_snapshot.XXXXXX";
	int fd = mkstemp(path);
	void *code;
	bool is_left;

	elf_write(&image, &(struct elf_spec){.debug_name = section});
	CHECK_INT(write(fd, image.data, image.bytes), (int64_t)image.bytes);
	code = mmap(NULL, image.bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	producer = new_producer(table, 0);
	add(10, 1, (uint64_t)(uintptr_t)code, 0);
	freeze(HS_SYMBOLIZE_LINES);
	CHECK_STR(mapping_of(0)->filename, path);
	is_left = !mapping_of(0)->has_functions;
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
	munmap(code, image.bytes);
	close(fd);
	unlink(path);
	return is_left;
}

/* Whether a function of this program is left to the reader, of whom nothing is hidden. */
static bool is_left_to_the_reader(const char *prefixes)
{
	uint64_t one = address_of(snapshot_function_one);
	bool is_left;

	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.hidden = prefixes,
	});
	add(10, 1, one, one);
	freeze(HS_SYMBOLIZE_LINES);
	CHECK_STR(view.locations[0].name, "snapshot_function_one");
	is_left = !view.mappings[0].has_functions;
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
	return is_left;
}

/*
 * If there is something to find them by; also where names have been read before, or are read of
 * nothing.
 */
static void lines_are_left_to_readers(void)
{
	CHECK(is_file_left_to_the_reader(".debug_info"));
	CHECK(!is_file_left_to_the_reader(NULL));
	CHECK(is_left_to_the_reader("nothing") == is_left_to_the_reader(NULL));
	producer = new_producer(table, 0);
	add(10, 1, 0, 0);
	freeze(HS_SYMBOLIZE_LINES);
	CHECK_STR(frame(0, 0)->name, "[unknown]");
	CHECK(view.mappings[frame(0, 0)->mapping].has_functions);
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
}

static void equal_books_give_equal_views(void)
{
	struct hs_view_location first[8];
	uint64_t one = address_of(snapshot_function_one);
	size_t used, count;

	producer = new_producer(table, 0);
	for (uint64_t i = 0; i < 4; i++)
		add(10, 1, one + 3 - i, one + 7);
	freeze(HS_SYMBOLIZE_NAMES);
	count = view.location_count;
	CHECK_INT(count, 5);
	memcpy(first, view.locations, count * sizeof *first);
	hs_snapshot_destroy(snapshot);
	used = hs_arena_used();
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.location_count, count);
	for (size_t i = 0; i < count; i++) {
		CHECK(first[i].address == view.locations[i].address);
		CHECK(first[i].name == view.locations[i].name);
	}
	hs_snapshot_destroy(snapshot);
	CHECK_INT(hs_arena_used(), used);
	check_holders(producer);
}

static void an_empty_profile_has_the_main_mapping(void)
{
	producer = new_producer(table, 0);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 0);
	CHECK_INT(view.location_count, 0);
	CHECK_INT(view.mapping_count, 1);
	CHECK_STR(view.drop_frames, "malloc");
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
}

static void what_was_lost_is_a_row(void)
{
	producer = new_producer(table, HS_LABEL_SIZE);
	add(5, 1, 0, 0);
	hs_heap_lose(HS_HEAP_MALLOC, 0, 3 * HS_WEIGHT_ONE / 4);
	hs_heap_lose(HS_HEAP_MALLOC, 0, 3 * HS_WEIGHT_ONE / 4);
	hs_heap_lose(HS_HEAP_MALLOC, 1234, HS_WEIGHT_ONE);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_INT(view.row_count, 2);
	CHECK_INT(view.mapping_count, 2);
	CHECK_STR(view.mappings[1].filename, "[heapsample]");
	CHECK(view.mappings[1].has_functions);
	CHECK_STR(frame(0, 0)->name, "[unknown]");
	CHECK_STR(frame(1, 0)->name, "[lost]");
	CHECK_INT(view.rows[1].values[0], 3);
	CHECK_INT(view.rows[1].values[1], 1234);
	CHECK_INT(view.rows[1].values[2], 0);
	CHECK_INT(view.rows[1].values[3], 0);
	CHECK(!view.rows[1].has_size);
	CHECK(view.rows[0].has_size && view.rows[0].size == 5);
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
}

/* More objects than weights of 64 bits can add up to. */
static void much_is_lost(void)
{
	const uint64_t most = (uint64_t)1 << 62, objects = most >> HS_WEIGHT_SHIFT;

	producer = new_producer(table, HS_LABEL_SIZE);
	for (int i = 0; i < 1000; i++)
		hs_heap_lose(HS_HEAP_MALLOC, 3, most + HS_WEIGHT_ONE / 4);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_INT(view.row_count, 1);
	CHECK_INT(view.rows[0].values[0], 1000 * objects + 250);
	CHECK_INT(view.rows[0].values[1], 3 * (1000 * objects + 250));
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
}

/* A program may report blocks of any size, and their losses add up. */
static void more_bytes_than_a_value_holds(void)
{
	producer = new_producer(table, 0);
	add((uint64_t)1 << 62, 1, 0, 0);
	add((uint64_t)1 << 62, 1, address_of(snapshot_function_one), 0);
	add((uint64_t)1 << 62, 1, address_of(snapshot_function_two), 0);
	hs_heap_lose(HS_HEAP_MALLOC, (uint64_t)3 << 62, HS_WEIGHT_ONE);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_INT(view.row_count, 4);
	CHECK_INT(view.rows[3].values[0], 1);
	CHECK_INT(view.rows[3].values[1], INT64_MAX);
	CHECK_INT(view.heaps[HS_HEAP_MALLOC].sums[1], INT64_MAX);
	CHECK_INT(view.heaps[HS_HEAP_MALLOC].sums[3], INT64_MAX);
	hs_snapshot_destroy(snapshot);
	hs_heap_forget_lost(HS_HEAP_MALLOC);
	check_holders(producer);
}

/* Samples for which the books had no memory are in use until their free, also at the peak. */
static void what_has_no_row_is_in_use(void)
{
	uint64_t before = hs_heap_total(lost_memory);
	int64_t lost;

	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.labels = HS_LABEL_SIZE,
		.keeps_peak = true,
	});
	add(5, 1, 0, 0);
	hs_arena_set_budget(hs_arena_used() + 64 * 1024);
	for (uint64_t i = 1; i < 3000; i++) {
		union test_record record = allocate(next_address += 16, 5, 1, i);

		take(producer, &record);
		CHECK(!hs_producer_commit(producer));
	}
	lost = (int64_t)(hs_heap_total(lost_memory) - before);
	CHECK(lost > 0);
	hs_arena_set_budget(256 * MIB);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_STR(frame(view.row_count - 1, 0)->name, "[lost]");
	for (int i = 0; i < HS_VIEW_VALUES; i++)
		CHECK_INT(view.rows[view.row_count - 1].values[i], i % 2 == 0 ? lost : 5 * lost);
	hs_snapshot_destroy(snapshot);
	/* The last one is lost too. */
	release(next_address);
	CHECK_INT(hs_producer_take_freed(producer), 1);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_INT(view.rows[view.row_count - 1].values[1], 5 * lost);
	CHECK_INT(view.rows[view.row_count - 1].values[3], 5 * (lost - 1));
	hs_snapshot_destroy(snapshot);
	view = (struct hs_view){0};
	snapshot = hs_snapshot_create(producer, &hs_options, HS_HEAP_MALLOC, NULL, &view);
	CHECK_INT(view.rows[view.row_count - 1].values[3], 5 * lost);
	hs_snapshot_destroy(snapshot);
	hs_heap_forget_lost(HS_HEAP_MALLOC);
	check_holders(producer);
}

enum { POOL = HS_HEAP_FIRST_REPORTED };

static void begin_with_pool(unsigned labels)
{
	strcpy(hs_heaps[POOL].name, "pool");
	atomic_store(&hs_heaps[POOL].state, HS_HEAP_REGISTERED);
	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.labels = labels,
		.keeps_peak = true,
	});
}

/* The peak of one heap has nothing of the others. */
static void check_peak_of(uint32_t heap, int64_t bytes)
{
	view = (struct hs_view){0};
	snapshot = hs_snapshot_create(producer, &hs_options, heap, NULL, &view);
	CHECK_INT(view.row_count, 1);
	CHECK_INT(view.rows[0].values[3], bytes);
	if (heap != HS_HEAP_MALLOC)
		CHECK_STR(view.rows[0].heap, hs_heaps[heap].name);
	hs_snapshot_destroy(snapshot);
}

static void heaps_have_rows_of_their_own(void)
{
	union test_record record;

	begin_with_pool(HS_LABEL_SIZE);
	add(5, 1, 0, 0);
	record = allocate(next_address += 16, 5, 1, 0);
	record.head.heap = POOL;
	take(producer, &record);
	CHECK(!hs_producer_commit(producer));
	hs_heap_lose(POOL, 0, HS_WEIGHT_ONE);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_INT(view.row_count, 3);
	CHECK(view.rows[0].heap == NULL);
	CHECK_STR(view.rows[1].heap, "pool");
	CHECK_STR(view.rows[2].heap, "pool");
	CHECK_STR(frame(2, 0)->name, "[lost]");
	hs_snapshot_destroy(snapshot);
	CHECK_INT(hs_producer_in_use_bytes(producer, HS_HEAP_MALLOC), 5);
	CHECK_INT(hs_producer_in_use_bytes(producer, POOL), 5);
	CHECK(hs_producer_peak_ns(producer, POOL) != 0);
	CHECK_INT(hs_producer_peak_ns(producer, POOL + 1), 0);
	hs_heap_forget_lost(POOL);
	check_peak_of(POOL, 5);
}

/* What a heap has lost is in use in that heap, and in the profile of its peak. */
static void heaps_have_losses_of_their_own(void)
{
	union test_record record;

	begin_with_pool(0);
	record = allocate(next_address += 16, 3, 1, 0);
	take(producer, &record);
	/* The same stack, but a row of its own. */
	hs_producer_set_full(producer, true);
	record = allocate_in(POOL, 77, 5, 1, 0);
	take(producer, &record);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_producer_in_use_bytes(producer, POOL), 5);
	CHECK_INT(hs_live_set_free_id(POOL, 77), 1);
	CHECK_INT(hs_producer_take_freed(producer), 1);
	CHECK_INT(hs_producer_in_use_bytes(producer, POOL), 0);
	CHECK_INT(hs_producer_in_use_bytes(producer, HS_HEAP_MALLOC), 3);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_INT(view.row_count, 2);
	CHECK_STR(view.rows[1].heap, "pool");
	CHECK_STR(frame(1, 0)->name, "[lost]");
	CHECK_INT(view.rows[1].values[1], 5);
	CHECK_INT(view.rows[1].values[3], 0);
	hs_snapshot_destroy(snapshot);
	check_peak_of(POOL, 5);
	check_peak_of(HS_HEAP_MALLOC, 3);
	hs_heap_forget_lost(POOL);
	check_holders(producer);
}

/* The same stack with other labels is another row; texts are as they were set. */
static void labels_of_the_program_keep_rows_apart(void)
{
	_Atomic uint32_t labels = 0;

	hs_labels_init();
	producer = new_producer(table, 0);
	add(5, 1, 0, 0);
	for (int i = 0; i < 3; i++) {
		union test_record record = allocate(next_address += 16, 5, 1, 0);

		CHECK_INT(hs_labels_set(&labels, "b", i == 1 ? "2" : "1"), 0);
		CHECK_INT(hs_labels_set(&labels, "a", "x"), 0);
		record.head.frames[0] = record.head.frames[1] =
			(struct hs_frame){0, HS_MAPPING_NONE};
		record.head.labels = labels;
		take(producer, &record);
	}
	CHECK(!hs_producer_commit(producer));
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_INT(view.row_count, 3);
	CHECK(view.rows[0].labels == NULL);
	CHECK(memcmp(view.rows[1].labels, "a\0x\0b\0" "1\0", 9) == 0);
	CHECK(memcmp(view.rows[2].labels, "a\0x\0b\0" "2\0", 9) == 0);
	CHECK_INT(view.rows[0].values[0], 1);
	CHECK_INT(view.rows[1].values[0], 2);
	CHECK_INT(view.rows[2].values[0], 1);
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
}

static void rows_are_rounded_once(void)
{
	uint64_t weight = hs_sampler_weight(3, 100);
	int64_t objects = (int64_t)(7 * weight >> HS_WEIGHT_SHIFT);
	int64_t bytes = (int64_t)(21 * weight >> HS_WEIGHT_SHIFT);

	producer = new_producer(table, 0);
	for (int i = 0; i < 7; i++)
		add(3, 100, 0, 0);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK(view.rows[0].values[0] == objects || view.rows[0].values[0] == objects + 1);
	CHECK(view.rows[0].values[1] == bytes || view.rows[0].values[1] == bytes + 1);
	hs_snapshot_destroy(snapshot);
	for (int i = 0; i < 7; i++)
		release(next_address - 16 * (uint64_t)i);
	hs_producer_take_freed(producer);
	hs_producer_commit(producer);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_INT(view.rows[0].values[2], 0);
	CHECK_INT(view.rows[0].values[3], 0);
	CHECK(view.rows[0].values[0] > 0);
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
}

/* The code of the program, which is the first object, as readers expect it to be shown. */
static int say_code(struct dl_phdr_info *program, size_t bytes, void *expected)
{
	struct hs_view_mapping *code = expected;
	const ElfW(Phdr) *segment = program->dlpi_phdr;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start;

	(void)bytes;
	while (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0)
		segment++;
	start = program->dlpi_addr + segment->p_vaddr;
	code->start = start & -page;
	code->limit = (start + segment->p_memsz + page - 1) & -page;
	code->offset = segment->p_offset & -page;
	return 1;
}

static void objects_are_shown_by_their_code_segment(void)
{
	uint64_t code = address_of(snapshot_function_one);
	struct hs_view_mapping expected = {0};

	dl_iterate_phdr(say_code, &expected);
	producer = new_producer(table, 0);
	add(1, 1, code, code);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(mapping_of(0)->start, expected.start);
	CHECK_INT(mapping_of(0)->limit, expected.limit);
	CHECK_INT(mapping_of(0)->offset, expected.offset);
	hs_snapshot_destroy(snapshot);
}

/*
 * Executable memory without a file is shown as all addresses, whatever there is of it: so pprof
 * finds the same locations in two profiles between which it has grown, and tells two places in two
 * such regions apart.  Also if a file's id lies between theirs.
 */
static void anonymous_code_is_one_mapping(void)
{
	enum { REGION = 8192 };
	unsigned char *code = mmap(NULL, 4 * REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t first = (uint64_t)(uintptr_t)code + 0x1f, second = first + 3 * REGION;
	uint64_t main_code = address_of(snapshot_function_one);
	struct hs_view_mapping before;
	char want[64];

	CHECK_INT(mprotect(code, REGION, PROT_READ | PROT_EXEC), 0);
	CHECK_INT(mprotect(code + 3 * REGION, REGION, PROT_READ | PROT_EXEC), 0);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	producer = new_producer(table, 0);
	add(1, 1, first, first);
	add(1, 2, second, second);
	add(2, 1, low_code, low_file);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.mapping_count, 3);
	CHECK(view.mappings[0].start <= main_code && main_code < view.mappings[0].limit);
	CHECK_INT(frame(2, 1)->mapping, 2);
	CHECK(mapping_of(0) == mapping_of(1) && mapping_of(0) == mapping_of(2));
	CHECK(mapping_of(0)->has_functions);
	before = *mapping_of(0);
	CHECK_INT(before.start, 0);
	CHECK(before.limit > second);
	snprintf(want, sizeof want, "//anon+0x%llx", (unsigned long long)first);
	CHECK_STR(frame(0, 0)->name, want);
	snprintf(want, sizeof want, "//anon+0x%llx", (unsigned long long)second);
	CHECK_STR(frame(1, 0)->name, want);
	hs_snapshot_destroy(snapshot);

	CHECK_INT(mprotect(code, 2 * REGION, PROT_READ | PROT_EXEC), 0);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	add(1, 1, first, first);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(mapping_of(0)->start, before.start);
	CHECK_INT(mapping_of(0)->limit, before.limit);
	CHECK_INT(mapping_of(0)->offset, before.offset);
	hs_snapshot_destroy(snapshot);
	munmap(code, 4 * REGION);
}

static void code_in_memory_of_other_names_is_apart(void)
{
	enum { PAGE = 4096 };
	int fd = memfd_create("generated", 0);
	unsigned char *code = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t first = (uint64_t)(uintptr_t)code, second = first + 2 * PAGE;

	CHECK_INT(ftruncate(fd, PAGE), 0);
	CHECK_INT(mprotect(code, PAGE, PROT_READ | PROT_EXEC), 0);
	CHECK(mmap(code + 2 * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0) ==
	      code + 2 * PAGE);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	producer = new_producer(table, 0);
	add(1, 1, first, first);
	add(1, 2, second, second);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(mapping_of(0)->start, 0);
	CHECK_INT(mapping_of(1)->start, 0);
	CHECK_STR(mapping_of(0)->filename, "//anon");
	CHECK_STR(mapping_of(1)->filename, "/memfd:generated");
	hs_snapshot_destroy(snapshot);
	munmap(code, 3 * PAGE);
	close(fd);
}

static void end_written(void)
{
	hs_snapshot_written(snapshot);
	hs_snapshot_destroy(snapshot);
}

/* The row is not in the profile with which the hint comes. */
static void a_hint_names_what_comes_again_later(void)
{
	static char setting[] = "@/tmp/test_snapshot.XXXXXX";
	int fd = mkstemp(setting + 1);

	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.delta = HS_DELTA_ALL,
		.hints = setting,
	});
	add(1, 1, low_code + 1, low_code + 2);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK(strncmp(frame(0, 0)->name, "//anon+0x", 9) == 0);
	end_written();
	CHECK(dprintf(fd, "/absent.so,0x%llx,4096\n", (unsigned long long)low_code) > 0);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_INT(view.row_count, 0);
	end_written();
	add(1, 1, low_code + 1, low_code + 2);
	freeze(HS_SYMBOLIZE_NAMES);
	CHECK_STR(frame(0, 0)->name, "absent.so+0x1");
	CHECK_STR(frame(0, 1)->name, "absent.so+0x2");
	end_written();
	close(fd);
	unlink(setting + 1);
}

/* Places in one mapping, of which two hints say something, and of the last a perf map. */
static void hints_name_what_they_are_of(void)
{
	char setting[128], perf_map[64], anonymous[64];
	const char *const names[] = {"one.so+0x1", "one.so+0x2", "two.so+0x1", "two.so+0x2",
				     anonymous,    "compiled"};
	static const uint64_t places[] = {0x1, 0x2, 0x101, 0x102, 0x300, 0x400};
	FILE *file;

	snprintf(setting, sizeof setting, "/one.so,0x%llx,0x100;/two.so,0x%llx,0x100",
		 (unsigned long long)low_code, (unsigned long long)low_code + 0x100);
	snprintf(anonymous, sizeof anonymous, "//anon+0x%llx",
		 (unsigned long long)low_code + 0x300);
	snprintf(perf_map, sizeof perf_map, "/tmp/perf-%d.map", (int)getpid());
	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.labels = HS_LABEL_SIZE,
		.hints = setting,
		.jit_sources = HS_JIT_SOURCE_PERF_MAP,
		.jit_bytes = MIB,
	});
	file = fopen(perf_map, "we");
	fprintf(file, "%llx 10 compiled\n", (unsigned long long)low_code + 0x400);
	fclose(file);
	for (size_t i = 0; i < COUNT(places); i++)
		add(1 + i, 1, low_code + places[i], 0);
	freeze(HS_SYMBOLIZE_NAMES);
	for (size_t i = 0; i < COUNT(places); i++)
		CHECK_STR(frame(i, 0)->name, names[i]);
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
	unlink(perf_map);
}

/* The hint's segment is the page of a function of this program; then another hint comes. */
static void a_hint_replaces_no_symbol(void)
{
	static char setting[] = "@/tmp/test_snapshot.XXXXXX";
	uint64_t one = address_of(snapshot_function_one), page = one & -UINT64_C(4096);
	const struct hs_mapping *program =
		hs_mapping_table_get(table, hs_mapping_table_find(table, one));
	int fd = mkstemp(setting + 1);

	CHECK(dprintf(fd, "%s,0x%llx,4096,0x%llx\n", program->path, (unsigned long long)low_code,
		      (unsigned long long)(page - program->start + program->offset)) > 0);
	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.hints = setting,
	});
	add(1, 1, low_code + (one - page), 0);
	for (int i = 0; i < 2; i++) {
		freeze(HS_SYMBOLIZE_NAMES);
		CHECK_STR(frame(0, 0)->name, "snapshot_function_one");
		CHECK_STR(frame(0, 1)->name, "[unknown]");
		hs_snapshot_destroy(snapshot);
		CHECK(dprintf(fd, "/absent.so,0,0x%llx\n", (unsigned long long)low_code + 4096) >
		      0);
	}
	close(fd);
	unlink(setting + 1);
}

/* Not only with the first profile. */
static void a_bad_hint_is_counted_at_once(void)
{
	uint64_t malformed = hs_stats_get(map_hints_malformed);

	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.hints = "absent.so,12q,4",
	});
	CHECK_INT(hs_stats_get(map_hints_malformed), malformed + 1);
}

static void threads_are_labelled(void)
{
	char name[16] = "main of test";
	union test_record record;

	prctl(PR_SET_NAME, name);
	producer = new_producer(table, HS_LABEL_THREAD | HS_LABEL_TID);
	add(1, 1, 0, 0);
	record = allocate(next_address += 16, 1, 1, 0);
	record.head.tid = INT32_MAX;
	record.head.frame_count = 0;
	take(producer, &record);
	hs_producer_commit(producer);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_INT(view.row_count, 2);
	CHECK_STR(view.rows[0].thread, name);
	CHECK(view.rows[0].has_tid && view.rows[0].tid == hs_sys_gettid());
	CHECK(view.rows[1].thread == NULL);
	CHECK_STR(frame(1, 0)->name, "[unknown]");
	hs_snapshot_destroy(snapshot);
	check_holders(producer);
}

/* Each allocation in turn fails, and all memory is given back; with enough it works. */
/* What had to wait for a number has arrived, and so has the number. */
static void a_profile_gives_room_back(void)
{
	union test_record late;

	producer = new_producer(table, 0);
	late = allocate(next_address += 16, 1, 1, 0);
	for (int i = 0; i < 3000; i++) {
		union test_record record = allocate(next_address += 16, 1, 1, 0);

		take(producer, &record);
	}
	take(producer, &late);
	CHECK(!hs_producer_commit(producer));
	CHECK(producer->order.capacity > HS_COMMIT_WINDOW_MIN);
	freeze(HS_SYMBOLIZE_NONE);
	CHECK_INT(view.rows[0].values[0], 3001);
	hs_snapshot_destroy(snapshot);
	CHECK_INT(producer->order.capacity, HS_COMMIT_WINDOW_MIN);
}

static void without_memory_there_is_no_snapshot(void)
{
	struct hs_options options = {.symbolize = HS_SYMBOLIZE_NONE};
	size_t used, extra = 0;

	producer = new_producer(table, 0);
	add(1, 1, 0, 0);
	used = hs_arena_used();
	do {
		hs_arena_set_budget(used + extra);
		snapshot = hs_snapshot_create(producer, &options, HS_HEAP_NONE, NULL, &view);
		if (snapshot == NULL)
			CHECK_INT(hs_arena_used(), used);
		extra += 16;
	} while (snapshot == NULL && extra < MIB);
	CHECK(extra > 16 && extra < MIB);
	hs_arena_set_budget(256 * MIB);
	hs_snapshot_destroy(snapshot);
	CHECK_INT(hs_arena_used(), used);
	check_holders(producer);
}

static void *map_libc(void *where)
{
	Dl_info info = {.dli_fname = NULL};
	int fd;
	void *mapped;

	dladdr((void *)(uintptr_t)memfd_create, &info);
	fd = open(info.dli_fname, O_RDONLY);
	mapped = mmap(where, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	return mapped;
}

int main(void)
{
	set_up();
	low_code = (uint64_t)(uintptr_t)mmap((void *)0x100000, 4096, PROT_READ | PROT_EXEC,
					     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	low_file = (uint64_t)(uintptr_t)map_libc((void *)0x200000);
	table = hs_mapping_table_create();
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	RUN(names_functions_and_puts_main_first);
	RUN(cxx_and_rust_names_are_those_of_the_source);
	RUN(main_is_first_whatever_its_id);
	RUN(symbolize_decides_on_names);
	RUN(lines_are_left_to_readers);
	RUN(equal_books_give_equal_views);
	RUN(an_empty_profile_has_the_main_mapping);
	RUN(what_was_lost_is_a_row);
	RUN(much_is_lost);
	RUN(more_bytes_than_a_value_holds);
	RUN(what_has_no_row_is_in_use);
	RUN(heaps_have_rows_of_their_own);
	RUN(heaps_have_losses_of_their_own);
	RUN(labels_of_the_program_keep_rows_apart);
	RUN(rows_are_rounded_once);
	RUN(objects_are_shown_by_their_code_segment);
	RUN(anonymous_code_is_one_mapping);
	RUN(code_in_memory_of_other_names_is_apart);
	RUN(a_hint_names_what_comes_again_later);
	RUN(hints_name_what_they_are_of);
	RUN(a_hint_replaces_no_symbol);
	RUN(a_bad_hint_is_counted_at_once);
	RUN(threads_are_labelled);
	RUN(a_profile_gives_room_back);
	RUN(without_memory_there_is_no_snapshot);
	return CHECK_RESULT();
}
