/* SPDX-License-Identifier: BSD-2-Clause */
/* Callers are found by rows, or by libunwind where rows cannot. */
#include <sys/mman.h>

#include "base/arena.h"
#include "base/stats.h"
#include "check.h"
#include "unwind_fixture.h"

static FRAME void recurse(unsigned levels)
{
	if (levels > 1)
		recurse(levels - 1);
	else
		capture_here();
	NO_TAIL_CALL();
}

/* How many since the last call. */
struct steps {
	uint64_t by_row;
	uint64_t made;
	uint64_t by_libunwind;
};

static struct steps take_steps(void)
{
	static struct steps before;
	struct steps now = {hs_stats_get(unwind_rows_hit), hs_stats_get(unwind_rows_made),
			    hs_stats_get(unwind_rows_fallback)};
	struct steps since = {now.by_row - before.by_row, now.made - before.made,
			      now.by_libunwind - before.by_libunwind};

	before = now;
	return since;
}

static const struct hs_mapping *find_libunwind(void)
{
	for (uint32_t i = 0; i < hs_mapping_table_count(table); i++) {
		const struct hs_mapping *mapping = hs_mapping_table_get(table, i);

		if (strstr(mapping->path, "/libunwind-") != NULL)
			return mapping;
	}
	return NULL;
}

static void protect(const struct hs_mapping *mapping, int protection)
{
	CHECK_INT(mprotect((void *)(uintptr_t)mapping->start, mapping->end - mapping->start,
			   protection),
		  0);
}

/* libunwind cannot be called here: that would be a fault. */
static void test_second_time_without_libunwind(void)
{
	static struct hs_frame first[DEPTH + 1];
	const struct hs_mapping *libunwind;
	struct steps steps;
	size_t count;

	begin();
	recurse(20);
	take_steps();
	unwind();
	steps = take_steps();
	count = frame_count;
	CHECK(is_complete() && count > 20);
	CHECK_INT(steps.by_libunwind, 0);
	CHECK_INT(steps.by_row, count);
	CHECK(steps.made > 2 && steps.made < 20); /* one for all the calls in between */
	memcpy(first, frames, sizeof first);
	libunwind = find_libunwind();
	CHECK(libunwind != NULL);
	protect(libunwind, PROT_NONE);
	unwind();
	protect(libunwind, PROT_READ | PROT_EXEC);
	steps = take_steps();
	CHECK_INT(steps.by_libunwind, 0);
	CHECK_INT(steps.made, 0);
	CHECK_INT(steps.by_row, count);
	CHECK_INT(frame_count, count);
	CHECK(memcmp(first, frames, count * sizeof frames[0]) == 0);
	end();
}

typedef void function(void);

/*
 * Each calls its argument.  call_by_base: the canonical frame address is by rbx.
 * call_by_expression: it is an expression that no row has, DW_OP_breg7 8, DW_OP_plus_uconst 8;
 * rbx is saved, and then something else.
 */
void call_by_base(function *f);
void call_by_expression(function *f);

__asm__(".text\n"
	"call_by_base: .cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset 3, -16\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa 3, 16\n"
	"	sub $160, %rsp\n"
	"	call *%rdi\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa 7, 16\n"
	"	pop %rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"call_by_expression: .cfi_startproc\n"
	"	push %rbx\n"
	"	mov $-1, %rbx\n"
	"	.cfi_escape 0x0f, 4, 0x77, 8, 0x23, 8\n"
	"	.cfi_offset 3, -16\n"
	"	call *%rdi\n"
	"	pop %rbx\n"
	"	ret\n"
	"	.cfi_endproc\n");

static void recurse_a_little(void)
{
	recurse(5);
	NO_TAIL_CALL();
}

static void call_inner(void)
{
	call_by_expression(recurse_a_little);
	NO_TAIL_CALL();
}

static void call_outer(void)
{
	call_by_base(call_inner);
	NO_TAIL_CALL();
}

/* libunwind takes the registers over from one row, and hands them on to the next. */
static void test_libunwind_in_between(void)
{
	struct steps steps;

	begin();
	call_by_expression(call_outer);
	take_steps();
	for (int i = 0; i < 2; i++) {
		unwind();
		steps = take_steps();
		CHECK(is_complete());
		CHECK_INT(steps.by_libunwind, 2);
		CHECK_INT(steps.by_row, frame_count - 2);
	}
	end();
}

static int asked, asked_first;
static enum hs_leave answer;

static enum hs_leave before_engine(bool is_first)
{
	asked++;
	asked_first += is_first;
	return answer;
}

/* libunwind is loaded for the first frame that needs it. */
static void test_loaded_when_needed(void)
{
	asked = asked_first = 0;
	answer = HS_LEAVE_GIVEN;
	begin_unloaded(0, before_engine);
	recurse(20);
	unwind();
	CHECK(is_complete() && frame_count > 20);
	CHECK_INT(asked, 0);
	call_by_expression(call_outer);
	for (int i = 0; i < 2; i++) {
		unwind();
		CHECK(is_complete());
		CHECK_INT(asked, 2 * (i + 1));
		CHECK_INT(asked_first, 1);
	}
	end();
}

/* If libunwind cannot be used a stack ends at such a frame. */
static void test_without_libunwind(void)
{
	uint64_t ended = hs_stats_get(unwind_no_engine);

	asked = asked_first = 0;
	answer = HS_LEAVE_NEVER;
	begin_unloaded(0, before_engine);
	recurse(20);
	unwind();
	CHECK(is_complete() && frame_count > 20);
	CHECK_INT(hs_stats_get(unwind_no_engine), ended);
	call_by_expression(call_outer);
	for (int i = 0; i < 2; i++) {
		unwind();
		CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
		CHECK(frame_count > 6);
		CHECK_INT(asked, 1);
	}
	CHECK_INT(hs_stats_get(unwind_no_engine), ended + 2);
	end();
}

static void test_libunwind_later(void)
{
	asked = asked_first = 0;
	answer = HS_LEAVE_NOT_NOW;
	begin_unloaded(0, before_engine);
	call_by_expression(call_outer);
	unwind();
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	answer = HS_LEAVE_GIVEN;
	unwind();
	CHECK(is_complete());
	CHECK_INT(asked_first, 2);
	end();
}

/* The copy is cut: a frame has a row, but the words that it needs are missing. */
static void test_words_that_are_not_there(void)
{
	struct steps steps;

	begin();
	recurse(20);
	unwind();
	take_steps();
	capture.captured.stack_cut = true;
	capture.captured.stack_bytes = 256;
	unwind();
	steps = take_steps();
	CHECK(ends_with(HS_PSEUDO_TRUNCATED));
	CHECK(frame_count > 2);
	CHECK_INT(steps.by_libunwind, 0);
	CHECK_INT(steps.by_row, frame_count - 2);
	end();
}

int main(void)
{
	if (hs_arena_init((size_t)256 << 20) < 0)
		return 99;
	RUN(test_second_time_without_libunwind);
	RUN(test_libunwind_in_between);
	RUN(test_loaded_when_needed);
	RUN(test_without_libunwind);
	RUN(test_libunwind_later);
	RUN(test_words_that_are_not_there);
	free(capture.bytes);
	return CHECK_RESULT();
}
