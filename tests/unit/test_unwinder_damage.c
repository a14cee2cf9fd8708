/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks, registers and unwind tables that are wrong or missing. */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "unwind/libunwind_check.h"
#include "unwind_fixture.h"

/* xorshift64: the rounds are the same in each run. */
static uint64_t random_state = 88172645463325252u;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static FRAME void recurse(unsigned levels)
{
	if (levels > 0)
		recurse(levels - 1);
	else
		capture_here();
	NO_TAIL_CALL();
}

static int compare_and_capture(const void *a, const void *b)
{
	recurse(10);
	return *(const int *)a - *(const int *)b;
}

static void capture_through_libc(void)
{
	int numbers[] = {2, 1};

	qsort(numbers, 2, sizeof numbers[0], compare_and_capture);
}

/* A value that a stack may hold: noise, a stack address nearby, or an address of code. */
static uint64_t random_word(const struct hs_regs *regs)
{
	switch (random_number() % 5) {
	case 0:
		return random_number();
	case 1:
		return regs->sp + random_number() % 8192 - 1024;
	case 2:
		return (uintptr_t)&recurse + random_number() % 8192;
	case 3:
		return (uintptr_t)&qsort + random_number() % 65536;
	default:
		return random_number() % 3 - 1;
	}
}

static void test_random_stacks_and_registers(void)
{
	struct hs_captured whole;
	unsigned char *bytes;
	size_t long_ones = 0;

	begin();
	capture_through_libc();
	whole = capture.captured;
	if (whole.stack_bytes > 16384)
		whole.stack_bytes = 16384;
	bytes = malloc(whole.stack_bytes);
	for (int round = 0; round < 10000; round++) {
		uint64_t *registers = &capture.captured.regs.pc;
		size_t words = whole.stack_bytes / 8;

		capture.captured = whole;
		capture.captured.stack = bytes;
		capture.captured.stack_cut = random_number() % 2 == 0;
		memcpy(bytes, whole.stack, whole.stack_bytes);
		for (uint64_t i = random_number() % 40; i > 0; i--) {
			uint64_t word = random_word(&whole.regs);
			memcpy(bytes + random_number() % words * 8, &word, sizeof word);
		}
		if (round % 2 == 0)
			registers[random_number() % 8] = random_word(&whole.regs);
		if (round % 7 == 0)
			capture.captured.stack_bytes = random_number() % whole.stack_bytes;
		unwind();
		long_ones += frame_count > 8;
	}
	CHECK(long_ones > 1000);
	free(bytes);
	end();
}

static size_t failing_reads_after;

static long fail_reads(long number)
{
	if (number != SYS_process_vm_readv)
		return 0;
	if (failing_reads_after > 0) {
		failing_reads_after--;
		return 0;
	}
	return -EFAULT;
}

static void test_memory_that_cannot_be_read(void)
{
	begin();
	capture_through_libc();
	end();
	for (size_t after = 0; after < 200; after++) {
		table = hs_mapping_table_create();
		unwinder = hs_unwinder_create(table, NULL);
		failing_reads_after = after;
		atomic_store(&hs_sys_fault, fail_reads);
		hs_unwinder_load_engine(unwinder);
		unwind();
		atomic_store(&hs_sys_fault, NULL);
		end();
	}
}

static void test_layout_of_another_release(void)
{
	struct hs_libunwind_engine *engine;
	struct hs_memory_cache *memory;
	struct hs_hint_frames *hinted = hs_hint_frames_create();
	int good = 0;

	table = hs_mapping_table_create();
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	memory = hs_memory_cache_create(table);
	engine = hs_libunwind_engine_create(table, memory, hinted);
	CHECK_INT(hs_libunwind_engine_load(engine), 0);
	CHECK_INT(hs_libunwind_engine_start(engine), 0);
	for (int layout = 0; layout < HS_LIBUNWIND_LAYOUTS; layout++) {
		hs_libunwind_engine_set_layout(engine, (enum hs_libunwind_layout)layout);
		hs_libunwind_engine_flush(engine);
		good += hs_libunwind_check(engine);
	}
	CHECK_INT(good, 1);
	hs_libunwind_engine_destroy(engine);
	hs_hint_frames_destroy(hinted);
	hs_memory_cache_destroy(memory);
	hs_mapping_table_destroy(table);
}

/* Makes a writable copy of libc in memory, and moves the captured stack into it. */
static unsigned char *copy_libc(const struct hs_mapping *libc, size_t *bytes)
{
	int fd = open(libc->path, O_RDONLY | O_CLOEXEC);
	struct stat file = {.st_size = 0};
	unsigned char *copy;

	CHECK(fd >= 0 && fstat(fd, &file) == 0);
	*bytes = (size_t)file.st_size;
	copy = mmap(NULL, *bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	return copy != MAP_FAILED ? copy : NULL;
}

static void move_stack(const struct hs_mapping *libc, const unsigned char *copy)
{
	for (size_t at = 0; at + 8 <= capture.captured.stack_bytes; at += 8) {
		uint64_t word;
		memcpy(&word, capture.bytes + at, sizeof word);
		if (word < libc->start || word >= libc->end)
			continue;
		word = word - libc->load_bias + (uintptr_t)copy;
		memcpy(capture.bytes + at, &word, sizeof word);
	}
}

/* One byte in `rarity` changes, from `start` on. */
static void damage(unsigned char *tables, size_t start, size_t bytes, uint64_t rarity)
{
	for (size_t i = start; i < bytes; i++) {
		uint64_t number = random_number();
		if (number % rarity == 0)
			tables[i] = (unsigned char)(number >> 32);
	}
}

typedef void function(void);

/*
 * Each calls its argument; the canonical frame address is an expression.  loop_for_ever:
 * DW_OP_lit0, DW_OP_skip to itself.  find_in_memory: DW_OP_breg3 0, DW_OP_deref, so it is
 * what rbx points to, and that is the second argument.
 */
void loop_for_ever(function *f);
void find_in_memory(function *f, uint64_t *address);

__asm__(".text\n"
	"loop_for_ever: .cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_escape 0x0f, 4, 0x30, 0x2f, 0xfd, 0xff\n"
	"	call *%rdi\n"
	"	add $8, %rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"find_in_memory: .cfi_startproc\n"
	"	push %rbx\n"
	"	mov %rsi, %rbx\n"
	"	lea 16(%rsp), %rax\n"
	"	mov %rax, (%rbx)\n"
	"	.cfi_escape 0x0f, 3, 0x73, 0, 0x06\n"
	"	.cfi_offset 3, -16\n"
	"	call *%rdi\n"
	"	pop %rbx\n"
	"	ret\n"
	"	.cfi_endproc\n");

static void capture_leaf(void)
{
	capture_here();
	NO_TAIL_CALL();
}

static void test_expression_without_end(void)
{
	uint64_t errors = hs_stats_get(unwind_bad_frame);

	begin();
	loop_for_ever(capture_leaf);
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	CHECK_INT(hs_stats_get(unwind_bad_frame), errors + 1);
	end();
}

static uint64_t word_of_program = 1; /* in the file: not in pages without one */

/* Memory that the program may have changed since the sample is not read. */
static void test_expression_that_reads(void)
{
	uint64_t *heap = malloc(sizeof *heap), local;

	begin();
	find_in_memory(capture_leaf, &local);
	unwind();
	CHECK(is_complete());
	find_in_memory(capture_leaf, &word_of_program);
	unwind();
	CHECK(is_complete());
	find_in_memory(capture_leaf, heap);
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	/* On the stack, but outside the copy. */
	find_in_memory(capture_leaf, &local);
	capture.captured.stack_bytes = (size_t)((uintptr_t)&local - capture.captured.regs.sp);
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	free(heap);
	end();
}

/* Returns how many frames the unwind tables had entries for. */
static uint64_t unwind_anew(void)
{
	uint64_t made = hs_stats_get(unwind_rows_made);

	begin();
	unwind();
	end();
	return hs_stats_get(unwind_rows_made) - made;
}

static void test_damaged_unwind_tables(void)
{
	static const uint64_t rarities[] = {2, 8, 32, 128};
	const struct hs_mapping *libc;
	unsigned char *copy, *tables, *good;
	size_t copy_bytes, header_bytes, bytes, whole, noticed = 0;
	uint64_t entries;

	begin();
	capture_through_libc();
	libc = hs_mapping_table_get(table,
				    hs_mapping_table_find(table, (uintptr_t)&gnu_get_libc_version));
	copy = copy_libc(libc, &copy_bytes);
	CHECK(copy != NULL);
	tables = copy + (libc->eh_frame_hdr - libc->load_bias);
	header_bytes = libc->eh_frame_hdr_bytes;
	bytes = header_bytes * 4; /* .eh_frame follows its header and is longer */
	CHECK((size_t)(tables - copy) + bytes < copy_bytes);
	good = malloc(bytes);
	memcpy(good, tables, bytes);
	move_stack(libc, copy);
	end();
	entries = unwind_anew();
	CHECK(is_complete());
	whole = frame_count;
	for (int round = 0; round < 400; round++) {
		/* In every other round the right entries can still be found. */
		damage(tables, round % 2 == 0 ? 4 : header_bytes, bytes, rarities[round % 4]);
		/*
		 * If an entry is missing, a frame pointer of 0 may look like the end; one of a libc
		 * that was built with frame pointers leads on.
		 */
		noticed += unwind_anew() != entries || !is_complete() || frame_count != whole;
		memcpy(tables, good, bytes);
	}
	CHECK(noticed > 300);
	free(good);
	munmap(copy, copy_bytes);
}

int main(void)
{
	if (hs_arena_init((size_t)256 << 20) < 0)
		return 99;
	RUN(test_random_stacks_and_registers);
	RUN(test_memory_that_cannot_be_read);
	RUN(test_layout_of_another_release);
	RUN(test_damaged_unwind_tables);
	RUN(test_expression_without_end);
	RUN(test_expression_that_reads);
	free(capture.bytes);
	return CHECK_RESULT();
}
