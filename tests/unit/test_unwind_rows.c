/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows: wherever unwind information changes in a function, in all objects that can be found, a row
 * must lead to the same registers as libunwind.  So must that of a signal handler's return.
 */
#include "unwind/unwind_rows.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <libunwind.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "check.h"
#include "maps/map_hints.h"
#include "unwind/eh_frame_hdr.h"
#include "unwind/eh_frame_table.h"
#include "unwind/libunwind_check.h"
#include "unwind/stepper.h"

#define PAGE ((uint64_t)4096)

/* The stack pointer is in the middle of this stack. */
#define STACK_BYTES ((size_t)4 << 20)

/* Loaded by the loader; not all of them need be there. */
static const char *const libraries[] = {
	"libstdc++.so.6", "libcrypto.so.3", "libsqlite3.so.0", "libm.so.6", "libpython3.11.so.1.0",
};

/* Mapped as by the loader, but not run. */
static const char *const programs[] = {
	"/usr/bin/python3",
	"/usr/bin/node",
	"/usr/bin/redis-server",
};

static struct hs_mapping_table *table;
static struct hs_memory_cache *memory;
static struct hs_hint_frames *hinted;
static struct hs_libunwind_engine *engine;
static struct hs_unwind_rows *rows;
static struct hs_stack_window window;
static struct hs_regs registers;

/* Counts of one object. */
static struct {
	size_t functions;
	size_t pcs;
	size_t left; /* to libunwind */
	size_t different;
} counts;

/* Maps the segments, to [*start, *start + result). */
static size_t map_segments(int fd, const Elf64_Ehdr *header, const Elf64_Phdr *segments,
			   unsigned char **start)
{
	uint64_t low = UINT64_MAX, end = 0;
	unsigned char *bias, *wanted;

	for (int i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *each = &segments[i];

		if (each->p_type == PT_LOAD && low == UINT64_MAX)
			low = each->p_vaddr - each->p_vaddr % PAGE;
		if (each->p_type == PT_LOAD)
			end = each->p_vaddr + each->p_memsz;
	}
	wanted = header->e_type == ET_EXEC ? (unsigned char *)(uintptr_t)low : NULL;
	*start = mmap(wanted, end - low, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		      0);
	CHECK(*start != MAP_FAILED && (wanted == NULL || *start == wanted));
	bias = *start - low;
	for (int i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *each = &segments[i];
		uint64_t inside = each->p_vaddr % PAGE;
		int protection = PROT_READ | ((each->p_flags & PF_X) != 0 ? PROT_EXEC : 0);

		if (each->p_type != PT_LOAD || each->p_filesz == 0)
			continue;
		CHECK(mmap(bias + each->p_vaddr - inside, each->p_filesz + inside, protection,
			   MAP_PRIVATE | MAP_FIXED, fd,
			   (off_t)(each->p_offset - inside)) != MAP_FAILED);
	}
	return end - low;
}

/* Returns 0 if there is no such file, or no program or library. */
static size_t map_file(const char *path, unsigned char **start)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Phdr segments[64];
	Elf64_Ehdr header;
	size_t bytes = 0;

	if (fd < 0)
		return 0;
	if (read(fd, &header, sizeof header) == (ssize_t)sizeof header &&
	    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
	    header.e_phnum <= sizeof segments / sizeof segments[0] &&
	    pread(fd, segments, header.e_phnum * sizeof segments[0], (off_t)header.e_phoff) ==
		    (ssize_t)(header.e_phnum * sizeof segments[0]))
		bytes = map_segments(fd, &header, segments, start);
	close(fd);
	return bytes;
}

/* Words are addresses in this stack, so that what they point to can be read. */
static uint64_t word_at(uint64_t i)
{
	uint64_t number = (i + 1) * 0x9e3779b97f4a7c15u;

	return window.start + (number >> 20) % (STACK_BYTES / 8) * 8;
}

static void make_stack(void)
{
	uint64_t *words = malloc(STACK_BYTES);

	window = (struct hs_stack_window){
		.start = 0x7fff00000000, .bytes = (const uint8_t *)words, .size = STACK_BYTES};
	for (size_t i = 0; i < STACK_BYTES / 8; i++)
		words[i] = word_at(i);
	for (unsigned i = HS_ARCH_FIRST_SAVED; i < HS_ARCH_REGS; i++)
		*hs_arch_register(&registers, i) = window.start + STACK_BYTES / 2 + 8192 + i * 512;
	registers.sp = window.start + STACK_BYTES / 2;
}

static bool begin(void)
{
	table = hs_mapping_table_create();
	memory = hs_memory_cache_create(table);
	hinted = hs_hint_frames_create();
	engine = hs_libunwind_engine_create(table, memory, hinted);
	rows = hs_unwind_rows_create(memory, hinted);
	if (hs_libunwind_engine_load(engine) < 0 || hs_libunwind_engine_start(engine) < 0)
		return false;
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	for (int layout = 0; layout < HS_LIBUNWIND_LAYOUTS; layout++) {
		hs_libunwind_engine_set_layout(engine, (enum hs_libunwind_layout)layout);
		if (hs_libunwind_check(engine))
			return true;
	}
	return false;
}

static void end(void)
{
	hs_unwind_rows_destroy(rows);
	hs_libunwind_engine_destroy(engine);
	hs_hint_frames_destroy(hinted);
	hs_memory_cache_destroy(memory);
	hs_mapping_table_destroy(table);
	free((void *)(uintptr_t)window.bytes);
}

static bool is_equal(const struct hs_unwind_row *row, const struct hs_regs *frame)
{
	struct hs_stepper ours = {.engine = engine, .window = window, .regs = *frame};
	struct hs_stepper theirs = ours;
	enum hs_step step = hs_stepper_step_by_engine(&theirs, false);

	return hs_stepper_step(&ours, row) == step &&
	       (step != HS_STEP_FRAME || memcmp(&ours.regs, &theirs.regs, sizeof ours.regs) == 0);
}

/* *end: where the row ends. */
static void compare_at(const struct hs_mapping *mapping, uint64_t pc, uint64_t *end)
{
	struct hs_regs frame = registers;
	struct hs_unwind_row row;

	frame.pc = pc;
	hs_unwind_rows_make(rows, mapping, pc, &row, end);
	counts.pcs++;
	if (row.kind == HS_ROW_NONE) {
		counts.left++;
	} else if (!is_equal(&row, &frame)) {
		if (counts.different++ < 10)
			fprintf(stderr, "different: %s+0x%llx\n", mapping->path,
				(unsigned long long)(pc - mapping->load_bias));
	}
}

/* The first and the last address of each row, and the one past the function. */
static void compare_function(const struct hs_mapping *mapping, uint64_t start, uint64_t bytes)
{
	uint64_t end, unused;

	counts.functions++;
	for (uint64_t pc = start; pc - start < bytes; pc = end) {
		compare_at(mapping, pc, &end);
		CHECK(end > pc && end - start <= bytes);
		if (end - pc > 1)
			compare_at(mapping, end - 1, &unused);
	}
	if (start + bytes < mapping->end)
		compare_at(mapping, start + bytes, &unused);
}

/* The functions that an object's own mapping lists; mapping: that one, or a hint for it. */
static void compare_object(const struct hs_mapping *object, const struct hs_mapping *mapping)
{
	struct hs_search_table search;
	const uint8_t *base = (const uint8_t *)(uintptr_t)object->eh_frame_hdr;

	if (!hs_eh_frame_hdr_read(memory, object, &search))
		return;
	memset(&counts, 0, sizeof counts);
	for (uint64_t i = 0; i < search.count; i++) {
		struct hs_eh_frame_entry entry;
		int32_t relative;
		uint32_t bytes;
		uint64_t start;

		memcpy(&entry, (const uint8_t *)(uintptr_t)search.entries + i * sizeof entry,
		       sizeof entry);
		memcpy(&relative, base + entry.fde + 8, sizeof relative);
		memcpy(&bytes, base + entry.fde + 12, sizeof bytes);
		/* All linkers here write pointers as four bytes, pc-relative. */
		CHECK_INT(entry.fde + 8 + relative, entry.start);
		start = (uintptr_t)base + (uint64_t)(int64_t)entry.start;
		/* An object may have more than one mapping. */
		if (start >= mapping->start && start + bytes <= mapping->end)
			compare_function(mapping, start, bytes);
	}
	printf("%s%s: %zu functions, %zu pcs, %zu left to libunwind, %zu different\n",
	       mapping->path, object == mapping ? "" : ", hinted", counts.functions, counts.pcs,
	       counts.left, counts.different);
	CHECK(counts.functions > 0);
	CHECK_INT(counts.different, 0);
	CHECK(counts.left * 50 <= counts.pcs);
}

/* Compares the objects that have been added. */
static void compare_new_objects(void)
{
	static uint32_t compared;

	CHECK_INT(hs_mapping_table_refresh(table), 0);
	hs_memory_cache_drop_stale(memory);
	hs_libunwind_engine_flush(engine);
	for (; compared < hs_mapping_table_count(table); compared++) {
		const struct hs_mapping *object = hs_mapping_table_get(table, compared);

		compare_object(object, object);
	}
}

static void test_loaded_objects(void)
{
	for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
		dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
	compare_new_objects();
}

/* As if the program had copied the loaded objects. */
static void test_hinted_objects(void)
{
	struct hs_map_hints *hints = hs_mapping_table_add_hints(table, "");
	uint32_t count = hs_mapping_table_count(table);

	CHECK(hints != NULL);
	for (uint32_t i = 0; i < count; i++) {
		const struct hs_mapping *object = hs_mapping_table_get(table, i), *hint;
		uint64_t bytes = object->end - object->start;

		if (object->path[0] != '/')
			continue;
		CHECK_INT(hs_map_hints_add(hints, object->path, object->start, bytes,
					   object->offset), 0);
		hint = hs_mapping_table_get(table, hs_mapping_table_find(table, object->start));
		CHECK(hint != NULL && (hint->flags & HS_MAPPING_HINT) != 0);
		hs_libunwind_engine_flush(engine);
		compare_object(object, hint);
		CHECK_INT(hs_map_hints_remove(hints, object->start, bytes), 0);
		hs_libunwind_engine_flush(engine);
	}
}

static void compare_file(const char *path)
{
	unsigned char *start;
	size_t bytes = map_file(path, &start);

	if (bytes == 0)
		return;
	compare_new_objects();
	munmap(start, bytes);
}

static void test_files(void)
{
	const char *build = getenv("abs_top_builddir");
	char path[4096];

	for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
		compare_file(programs[i]);
	snprintf(path, sizeof path, "%s/.libs/libheapsample.so", build != NULL ? build : ".");
	compare_file(path);
}

/*
 * An .eh_frame at offset 36 of an object with functions at offsets 264 and 296.  Empty ones are at
 * 264, twice, and at 280.  Linkers put the entries of one CIE together, so others are between those
 * of one address.
 */
/* clang-format off */
#define CIE 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0
#define EH_FRAME                                                                                   \
	/* 36: pointers pcrel sdata4; rsp + 8, return address at -8 */                             \
	CIE,                                                                                       \
	/* 60, 80: [264, 264) */                                                                   \
	16, 0, 0, 0, 28, 0, 0, 0, 196, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,                            \
	16, 0, 0, 0, 48, 0, 0, 0, 176, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,                            \
	/* 100: [280, 280) */                                                                      \
	16, 0, 0, 0, 68, 0, 0, 0, 172, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,                            \
	/* 120: another, which says the same */                                                    \
	CIE,                                                                                       \
	/* 144: [296, 312), rsp + 24 */                                                            \
	16, 0, 0, 0, 28, 0, 0, 0, 144, 0, 0, 0, 16, 0, 0, 0, 0, 0x0e, 24, 0,                       \
	/* 164: [264, 280), rsp + 16 */                                                            \
	16, 0, 0, 0, 48, 0, 0, 0, 92, 0, 0, 0, 16, 0, 0, 0, 0, 0x0e, 16, 0,                        \
	/* 184: the end */                                                                         \
	0, 0, 0, 0

/* Of the entries of one address lld keeps the first in the search table. */
static const uint8_t with_table[] = {
	1, 0x1b, 3, 0x3b, 32, 0, 0, 0, 3, 0, 0, 0,
	8, 1, 0, 0, 60, 0, 0, 0, 24, 1, 0, 0, 100, 0, 0, 0, 40, 1, 0, 0, 144, 0, 0, 0,
	EH_FRAME};

/* mold keeps all, in any order.  All behind the table is 16 bytes further on. */
static const uint8_t with_whole_table[] = {
	1, 0x1b, 3, 0x3b, 48, 0, 0, 0, 5, 0, 0, 0,
	24, 1, 0, 0, 180, 0, 0, 0, 24, 1, 0, 0, 76, 0, 0, 0, 24, 1, 0, 0, 96, 0, 0, 0,
	40, 1, 0, 0, 116, 0, 0, 0, 56, 1, 0, 0, 160, 0, 0, 0,
	EH_FRAME};

/* Without a table, and with an entry in front that is longer than those that are read. */
#define LONG_ENTRY 100000u
static const uint8_t with_long_entry[] = {
	1, 0x1b, 0xff, 0xff, 32, 0, 0, 0,
	[36] = (LONG_ENTRY - 4) % 256, (LONG_ENTRY - 4) / 256 % 256, (LONG_ENTRY - 4) / 65536,
	[36 + LONG_ENTRY] = EH_FRAME};

/* A wider table: all behind it is 24 bytes further on. */
#define WIDE(number) (number) % 256, (number) / 256, 0, 0, 0, 0, 0, 0
static const uint8_t with_wide_table[] = {
	1, 0x1b, 3, 0x3c, 56, 0, 0, 0, 3, 0, 0, 0,
	WIDE(288), WIDE(84), WIDE(304), WIDE(124), WIDE(320), WIDE(168),
	EH_FRAME};

#define WITHOUT_TABLE(version, encoding, table)                                                    \
	{version, encoding, 0xff, table, 32, 0, 0, 0,                                              \
	 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,       \
	 EH_FRAME}
/* clang-format on */

/* shift: how far the functions are behind their places. */
static void check_functions(const uint8_t *header, uint64_t bytes, uint64_t shift)
{
	uint64_t base = (uintptr_t)header + shift;
	const struct hs_mapping mapping = {
		.eh_frame_hdr = (uintptr_t)header,
		.eh_frame_hdr_bytes = bytes,
	};
	struct hs_unwind_row row;
	uint64_t row_end;

	for (uint64_t at = 260; at < 316; at++) {
		hs_unwind_rows_make(rows, &mapping, base + at, &row, &row_end);
		if (at < 264 || (at >= 280 && at < 296) || at >= 312) {
			CHECK_INT(row.kind, HS_ROW_NO_INFO);
		} else {
			CHECK_INT(row.kind, HS_ROW_REGISTER);
			CHECK_INT(row.cfa_offset, at < 280 ? 16 : 24);
			CHECK_INT(row_end - base, at < 280 ? 280 : 312);
		}
	}
}

static void test_function_behind_an_empty_one(void)
{
	check_functions(with_table, 36, 0);
	check_functions(with_whole_table, 52, 16);
}

/* As lld makes them for objects of more than 2 GiB. */
static void test_wide_table(void)
{
	struct hs_mapping mapping = {.eh_frame_hdr = (uintptr_t)with_wide_table};
	struct hs_search_table search;

	check_functions(with_wide_table, 60, 24);
	mapping.eh_frame_hdr_bytes = 59;
	CHECK(!hs_eh_frame_hdr_read(memory, &mapping, &search));
}

static void test_long_entry(void)
{
	check_functions(with_long_entry, 8, LONG_ENTRY);
}

static void test_no_search_table(void)
{
	static const uint8_t good[] = WITHOUT_TABLE(1, 0x1b, 0xff);
	static const uint8_t bad[][sizeof good] = {
		WITHOUT_TABLE(2, 0x1b, 0xff),
		WITHOUT_TABLE(1, 0xff, 0xff),
		WITHOUT_TABLE(1, 0x3b, 0xff),
		WITHOUT_TABLE(1, 0x1b, 0x1b),
	};
	struct hs_mapping mapping = {.eh_frame_hdr_bytes = 8};
	struct hs_unwind_row row;
	uint64_t row_end;

	check_functions(good, 8, 0);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		mapping.eh_frame_hdr = (uintptr_t)bad[i];
		hs_unwind_rows_make(rows, &mapping, mapping.eh_frame_hdr + 264, &row, &row_end);
		CHECK_INT(row.kind, HS_ROW_NONE);
	}
	mapping.eh_frame_hdr = (uintptr_t)good;
	mapping.eh_frame_hdr_bytes = 7;
	hs_unwind_rows_make(rows, &mapping, mapping.eh_frame_hdr + 264, &row, &row_end);
	CHECK_INT(row.kind, HS_ROW_NONE);
}

/* A page of a file of its own, whose mapping has the bytes at its start. */
static unsigned char *map_bytes(void *address, const uint8_t *bytes, size_t count)
{
	char path[] = "/tmp/test_unwind_rows.XXXXXX";
	int fd = mkstemp(path), fixed = address != NULL ? MAP_FIXED : 0;
	void *mapped;

	CHECK(fd >= 0 && write(fd, bytes, count) == (ssize_t)count && ftruncate(fd, PAGE) == 0);
	mapped = mmap(address, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | fixed, fd, 0);
	CHECK(mapped != MAP_FAILED);
	unlink(path);
	close(fd);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	hs_memory_cache_drop_stale(memory);
	return mapped;
}

/* At the place of one library's tables are another's: of signal frames, which have no rows. */
static void test_other_entries_at_one_place(void)
{
	unsigned char *header = map_bytes(NULL, with_table, sizeof with_table);
	struct hs_mapping mapping = {.eh_frame_hdr = (uintptr_t)header, .eh_frame_hdr_bytes = 36};
	uint8_t other[sizeof with_table];
	struct hs_unwind_row row;
	uint64_t row_end;

	hs_unwind_rows_make(rows, &mapping, mapping.eh_frame_hdr + 264, &row, &row_end);
	CHECK_INT(row.kind, HS_ROW_REGISTER);
	memcpy(other, with_table, sizeof other);
	memmove(other + 132, other + 131, 12); /* "zR" becomes "zRS" */
	other[131] = 'S';
	map_bytes(header, other, sizeof other);
	hs_unwind_rows_make(rows, &mapping, mapping.eh_frame_hdr + 264, &row, &row_end);
	CHECK_INT(row.kind, HS_ROW_NONE);
	munmap(header, PAGE);
}

static void test_signal_handler(void)
{
	static const struct hs_unwind_row row = {.kind = HS_ROW_SIGNAL};
	uint64_t action[4] = {0}; /* as in the kernel: handler, flags, restorer, mask */
	struct hs_regs frame = registers;

	CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
	CHECK_INT(syscall(SYS_rt_sigaction, SIGUSR1, NULL, action, sizeof action[3]), 0);
	frame.pc = action[2];
	CHECK(is_equal(&row, &frame));
}

int main(void)
{
	/* It evaluates a register's expression with registers of the frame further out. */
	if (UNW_VERSION < UNW_VERSION_CODE(1, 3))
		SKIP("libunwind before 1.3 unwinds realigned frames wrongly");
	if (hs_arena_init((size_t)256 << 20) < 0)
		return 99;
	if (!begin())
		SKIP("libunwind cannot be used");
	make_stack();
	RUN(test_loaded_objects);
	RUN(test_hinted_objects);
	RUN(test_files);
	RUN(test_function_behind_an_empty_one);
	RUN(test_wide_table);
	RUN(test_no_search_table);
	RUN(test_long_entry);
	RUN(test_other_entries_at_one_place);
	RUN(test_signal_handler);
	end();
	return CHECK_RESULT();
}
