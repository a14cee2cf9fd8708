/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks that are walked in place, and what the program's threads share with the worker for it. */
#include "sample/walk.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/libraries.h"
#include "base/sys.h"
#include "call_by_expression.h"
#include "sample/capture.h"
#include "sample/hint_record.h"
#include "sample/live_set.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "sample_testing.h"
#include "unwind_fixture.h"

static struct hs_frame walked[DEPTH];
static struct hs_walk stopped; /* the last one */

static bool is_stopped(uint32_t result)
{
	return (result & HS_WALK_STOPPED) != 0;
}

/* bytes: of the stack, which may be read. */
static uint32_t walk_by(const struct hs_known_pcs *pcs, struct hs_trail *trail,
			const struct hs_regs *regs, size_t bytes, uint32_t room)
{
	stopped = (struct hs_walk){.pcs = pcs, .end = regs->sp + bytes, .room = room};
	return hs_walk(&stopped, trail, regs, walked);
}

/* Walks on a trail on which nothing is. */
static uint32_t walk_afresh(const struct hs_known_pcs *pcs, const struct hs_regs *regs,
			    size_t bytes, uint32_t room)
{
	static struct hs_trail empty;

	memset(&empty, 0, sizeof empty);
	return walk_by(pcs, &empty, regs, bytes, room);
}

static const struct hs_known_pcs *known(void)
{
	return hs_unwinder_known_pcs(unwinder);
}

static bool is_same(const struct hs_frame *a, const struct hs_frame *b, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (a[i].address != b[i].address || a[i].mapping != b[i].mapping)
			return false;
	}
	return true;
}

/* Walks from the place of the capture, whose frames must still be there. */
static uint32_t walk_captured_by(struct hs_trail *trail, size_t stack_bytes, uint32_t room)
{
	const struct hs_regs *regs = &capture.captured.regs;

	memset(walked, 0xee, sizeof walked);
	return trail == NULL ? walk_afresh(known(), regs, stack_bytes, room)
			     : walk_by(known(), trail, regs, stack_bytes, room);
}

static struct hs_trail *take_trail(void)
{
	return hs_trail_take(known()->trails, atomic_load(&known()->oldest));
}

/*
 * Walks on an empty trail; then twice on another, which first has nothing or what other walks left,
 * and then what this walk left.  All must give the same.
 */
static uint32_t walk_captured(size_t stack_bytes, uint32_t room)
{
	struct hs_trail *trail = take_trail();
	static struct hs_frame without[DEPTH];
	uint32_t count = walk_captured_by(NULL, stack_bytes, room);

	memcpy(without, walked, sizeof walked);
	CHECK(trail != NULL);
	for (int again = 0; again < 2; again++) {
		CHECK_INT(walk_captured_by(trail, stack_bytes, room), count);
		CHECK(memcmp(without, walked, sizeof walked) == 0);
	}
	hs_trail_give_back(trail);
	return count;
}

/* Captures here, and calls act. */
static FRAME void capture_and(void (*act)(void))
{
	capture_here();
	act();
	NO_TAIL_CALL();
}

static FRAME void descend(unsigned levels, void (*act)(void))
{
	if (levels > 1)
		descend(levels - 1, act);
	else
		capture_and(act);
	NO_TAIL_CALL();
}

static void walk_before_and_after(void)
{
	size_t bytes = capture.captured.stack_bytes;
	uint32_t count;

	CHECK_INT(walk_captured(bytes, DEPTH), HS_WALK_STOPPED);
	unwind();
	count = (uint32_t)frame_count;
	CHECK(is_complete() && count > 20);
	CHECK_INT(walk_captured(bytes, DEPTH), count);
	CHECK(is_same(walked, frames, count));
	CHECK_INT(walk_captured(bytes, count), count);
	CHECK_INT(walk_captured(bytes, count - 1), (count - 1) | HS_WALK_LONG);
	CHECK_INT(walked[count - 1].address, 0xeeeeeeeeeeeeeeee);
	/* With less of the stack the outermost frames are missing. */
	for (size_t less = 0; less < bytes && less < 512; less += 8)
		CHECK(is_stopped(walk_captured(less, DEPTH)));
}

static void test_same_frames_as_the_unwinder(void)
{
	begin();
	descend(20, walk_before_and_after);
	end();
}

/* Unwinds what a walk has left: with that all frames are there. */
static void check_rest(uint32_t result, const struct hs_frame *all, size_t count)
{
	struct hs_captured *captured = &capture.captured, before = *captured;
	size_t below = stopped.sp - before.regs.sp;

	captured->walked = result & ~HS_WALK_STOPPED;
	captured->regs = (struct hs_regs){.pc = stopped.pc, .sp = stopped.sp};
	*hs_arch_register(&captured->regs, HS_ARCH_FP) = stopped.fp;
	captured->stack = (const char *)before.stack + below;
	captured->stack_bytes -= below;
	memcpy(frames, walked, sizeof walked);
	unwind();
	CHECK(captured->walked < count && frame_count == count && is_same(frames, all, count));
	*captured = before;
}

/* Wherever what may be read ends, a walk stops before the frame whose caller is beyond it. */
static void walk_short_stacks(void)
{
	struct hs_captured *captured = &capture.captured;
	static struct hs_frame all[DEPTH];
	size_t count, bytes = captured->stack_bytes, stops = 0;
	uint32_t result;

	unwind();
	count = frame_count;
	memcpy(all, frames, sizeof all);
	for (size_t less = 0; less < bytes; less += 8) {
		captured->stack_bytes = less;
		captured->stack_cut = true;
		unwind();
		captured->stack_bytes = bytes;
		captured->stack_cut = false;
		if (is_complete())
			break;
		stops++;
		CHECK_INT(frames[frame_count - 1].address, HS_PSEUDO_TRUNCATED);
		result = walk_afresh(known(), &captured->regs, less, DEPTH);
		CHECK_INT(result, (frame_count - 2) | HS_WALK_STOPPED);
		CHECK_INT(stopped.pc, frames[frame_count - 2].address + 1);
		check_rest(result, all, count);
	}
	CHECK(stops > 20);
	CHECK_INT(walk_afresh(known(), &captured->regs, bytes, DEPTH), count);
}

static void test_short_stacks(void)
{
	begin();
	descend(20, walk_short_stacks);
	end();
}

/* All pcs of the captured stack are known, and nothing else. */
static void learn_anew(void)
{
	hs_known_pcs_drop((struct hs_known_pcs *)(uintptr_t)known());
	capture.captured.walked = 0;
	unwind();
}

/* The pc is not known any more; others of its set are. */
static void forget(uint64_t pc)
{
	struct hs_known_pc *set = hs_known_pcs_set(known(), pc, true);

	for (uint32_t way = 0; way < HS_KNOWN_PCS_WAYS; way++) {
		if (atomic_load(&set[way].words[0]) == pc)
			atomic_store(&set[way].words[0], 0);
	}
}

/* However many frames are known, what a walk leaves can be unwound from there. */
static void walk_by_some(void)
{
	static struct hs_frame all[DEPTH];
	size_t count;

	unwind();
	count = frame_count;
	memcpy(all, frames, sizeof all);
	for (size_t some = 0; some < count; some++) {
		struct hs_pc found;
		uint32_t result;

		learn_anew();
		forget(all[some].address + 1);
		result = walk_afresh(known(), &capture.captured.regs,
				     capture.captured.stack_bytes, DEPTH);
		CHECK(is_stopped(result) && (result & ~HS_WALK_STOPPED) <= some);
		check_rest(result, all, count);
		CHECK(hs_known_pcs_find(known(), all[some].address + 1, true, &found));
	}
}

static void test_what_a_walk_leaves(void)
{
	begin();
	descend(1, walk_by_some);
	descend(20, walk_by_some);
	end();
}

/* A pc that is not known. */
static void test_unknown_pcs(void)
{
	static _Alignas(16) uint64_t stack[64];
	struct hs_regs regs = {.pc = 4242, .sp = (uintptr_t)stack};
	struct hs_unwind_row row = {.kind = HS_ROW_REGISTER,
				    .cfa_register = HS_ARCH_SP,
				    .cfa_offset = 32 * HS_ROW_WORD,
				    .saved = {2}};
	struct hs_known_pcs pcs;

	stack[30] = 99;
	stack[31] = 77;
	CHECK_INT(hs_known_pcs_init(&pcs), 0);
	hs_known_pcs_add(&pcs, &(struct hs_pc){.pc = regs.pc, .is_call = true, .row = row});
	CHECK_INT(walk_afresh(&pcs, &regs, sizeof stack, 9), 1 | HS_WALK_STOPPED);
	CHECK(walked[0].address == 4241 && stopped.pc == 77 && stopped.fp == 99);
	CHECK_INT(stopped.sp, (uintptr_t)&stack[32]);
	/* It takes no room that is not there. */
	walked[0].address = 1;
	CHECK_INT(walk_afresh(&pcs, &regs, sizeof stack, 0), HS_WALK_LONG);
	CHECK_INT(walked[0].address, 1);
	CHECK(stopped.pc == regs.pc && stopped.sp == regs.sp && stopped.fp == 0);
	hs_known_pcs_destroy(&pcs);
}

static void unwind_and_walk(void)
{
	unwind();
	CHECK_INT(walk_captured(capture.captured.stack_bytes, DEPTH), frame_count);
	CHECK(is_same(walked, frames, frame_count));
}

static void test_own_frames_are_left_out(void)
{
	size_t all;

	begin();
	descend(4, unwind_and_walk);
	all = frame_count;
	end();
	/* All of this program is "this library". */
	begin_with_own((uintptr_t)descend);
	descend(4, unwind_and_walk);
	CHECK(frame_count > 0 && frame_count < all - 4);
	end();
}

#ifdef __SANITIZE_THREAD__
/* Only the test runs the unwinder in a handler; really it runs on the worker. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "report_signal_unsafe=0";
}
#endif

static void walk_in_handler(int number)
{
	(void)number;
	capture_here();
	unwind();
	CHECK(is_complete());
	/* A walk does not go past a signal: that is left to the worker. */
	CHECK(is_stopped(walk_captured(capture.captured.stack_bytes, DEPTH)));
}

static void test_not_through_a_signal_handler(void)
{
	struct sigaction action = {.sa_handler = walk_in_handler};

	begin();
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	raise(SIGUSR1);
	end();
}

static void check_validity(void)
{
	unwind();
	CHECK(hs_known_pcs_hold(known()));
	hs_close_begins();
	CHECK(!hs_known_pcs_hold(known()));
	hs_close_ends(true);
	CHECK(!hs_known_pcs_hold(known()));
	unwind(); /* of a stack that was captured before */
	CHECK(!hs_known_pcs_hold(known()));
	capture.captured.closes = hs_closes_now();
	unwind();
	CHECK(hs_known_pcs_hold(known()));
	/* Not after one was opened, until the maps are read again, which is not done too often. */
	atomic_fetch_add(&hs_library_opens, 1);
	CHECK(!hs_known_pcs_hold(known()));
	for (int i = 0; i < 1000 && !hs_known_pcs_hold(known()); i++) {
		usleep(1000);
		unwind();
	}
	CHECK(hs_known_pcs_hold(known()));
}

static void test_not_after_a_library_came_or_went(void)
{
	begin();
	CHECK(!hs_known_pcs_hold(known()));
	capture.captured.closes = hs_closes_now();
	descend(4, check_validity);
	end();
}

static bool is_to_change;

/* Changes the maps in the middle of an unwind, when a frame is left to libunwind. */
static enum hs_leave change_maps_once(bool is_first)
{
	(void)is_first;
	if (is_to_change)
		change_maps();
	is_to_change = false;
	return HS_LEAVE_GIVEN;
}

static void unwind_while_maps_change(void)
{
	struct hs_pc pc;

	capture_here();
	unwind();
	CHECK(is_complete());
	CHECK(hs_known_pcs_find(known(), frames[0].address + 1, true, &pc));
	is_to_change = true;
	unwind();
	CHECK(!is_to_change && is_complete());
	/* What was known before must not count for the maps of now. */
	CHECK(!hs_known_pcs_find(known(), frames[0].address + 1, true, &pc));
}

static void test_not_by_what_was_known_before_the_maps_changed(void)
{
	begin_unloaded(0, change_maps_once);
	CHECK_INT(hs_unwinder_load_engine(unwinder), 0);
	call_by_expression(unwind_while_maps_change);
	end();
}

static void test_cache(void)
{
	struct hs_known_pcs pcs;
	struct hs_pc found;
	uint64_t same[HS_KNOWN_PCS_WAYS + 1]; /* pcs of one set */
	size_t count = 0, there = 0;

	CHECK_INT(hs_known_pcs_init(&pcs), 0);
	for (uint64_t pc = 0; count <= HS_KNOWN_PCS_WAYS; pc++) {
		if (hs_known_pcs_set(&pcs, pc, true) == hs_known_pcs_set(&pcs, 7, true))
			same[count++] = pc;
	}
	for (uint32_t i = 0; i < count; i++) {
		CHECK(!hs_known_pcs_find(&pcs, same[i], true, &found));
		/* As long as there is room all stay. */
		for (uint32_t before = 0; i < HS_KNOWN_PCS_WAYS && before < i; before++)
			CHECK(hs_known_pcs_find(&pcs, same[before], true, &found));
		hs_known_pcs_add(&pcs, &(struct hs_pc){.pc = same[i],
						       .mapping = i,
						       .row = {.cfa_offset = -77},
						       .is_call = true});
	}
	/* Then one of the older ones has been replaced. */
	for (uint32_t i = 0; i < count; i++) {
		if (!hs_known_pcs_find(&pcs, same[i], true, &found))
			continue;
		CHECK(found.pc == same[i] && found.mapping == i && found.row.cfa_offset == -77);
		there++;
	}
	CHECK_INT(there, HS_KNOWN_PCS_WAYS);
	CHECK(hs_known_pcs_find(&pcs, same[count - 1], true, &found));
	/* The same address is another entry if it is not a return address. */
	CHECK(!hs_known_pcs_find(&pcs, same[count - 1] + 1, false, &found));
	hs_known_pcs_drop(&pcs);
	for (uint32_t i = 0; i < count; i++)
		CHECK(!hs_known_pcs_find(&pcs, same[i], true, &found));
	/* Dropped entries stay so when another one is put before them. */
	hs_known_pcs_add(&pcs, &(struct hs_pc){.pc = same[0], .is_call = true});
	for (uint32_t i = 1; i < count; i++)
		CHECK(!hs_known_pcs_find(&pcs, same[i], true, &found));
	/* So many drops that stamps are used again. */
	pcs.next_stamp = UINT32_MAX;
	hs_known_pcs_add(&pcs, &(struct hs_pc){.pc = same[1], .is_call = true});
	CHECK(!hs_known_pcs_find(&pcs, same[0], true, &found));
	CHECK(hs_known_pcs_find(&pcs, same[1], true, &found));
	hs_known_pcs_destroy(&pcs);
}

/* The highest pc that a step on a trail can have. */
#define HIGHEST_PC (((uint64_t)1 << 48) - 1)

/*
 * The largest values that a step must hold, from a hand-made stack of two frames: the highest pcs,
 * and the last mapping and frame pointer that fit.  On an empty trail, and on what a walk has left.
 */
static void check_largest(uint64_t highest_pc)
{
	enum { CALLER_WORDS = 300, FP_WORDS = 255 };
	static _Alignas(16) uint64_t stack[CALLER_WORDS + 2];
	struct hs_pc callee = {.pc = highest_pc,
			       .mapping = HS_TRAIL_MAPPING_MOST,
			       .is_call = true,
			       .row = {.kind = HS_ROW_REGISTER,
				       .cfa_register = HS_ARCH_SP,
				       .cfa_offset = CALLER_WORDS * HS_ROW_WORD,
				       .saved = {FP_WORDS}}};
	struct hs_pc caller = {.pc = highest_pc - 1,
			       .mapping = 0,
			       .is_call = true,
			       .row = {.kind = HS_ROW_REGISTER,
				       .cfa_register = HS_ARCH_FP,
				       .cfa_offset = 2 * HS_ROW_WORD}};
	struct hs_regs regs = {.pc = callee.pc, .sp = (uintptr_t)stack};
	struct hs_known_pcs pcs;
	struct hs_trail *trail;

	CHECK_INT(hs_known_pcs_init(&pcs), 0);
	hs_known_pcs_add(&pcs, &callee);
	hs_known_pcs_add(&pcs, &caller);
	trail = hs_trail_take(pcs.trails, atomic_load(&pcs.oldest));
	stack[CALLER_WORDS - 1] = caller.pc;
	stack[CALLER_WORDS - FP_WORDS] = (uintptr_t)&stack[CALLER_WORDS];
	for (int walk = 0; walk < 3; walk++) {
		CHECK_INT(walk_by(&pcs, trail, &regs, sizeof stack, 9), 2);
		CHECK(walked[0].address == callee.pc - 1 && walked[1].address == caller.pc - 1);
		CHECK_INT(walked[0].mapping, HS_TRAIL_MAPPING_MOST);
		CHECK_INT(walked[1].mapping, 0);
	}
	hs_known_pcs_drop(&pcs);
	callee.mapping++;
	hs_known_pcs_add(&pcs, &callee);
	hs_known_pcs_add(&pcs, &caller);
	CHECK_INT(walk_afresh(&pcs, &regs, sizeof stack, 9), HS_WALK_STOPPED);
	hs_trail_give_back(trail);
	hs_known_pcs_destroy(&pcs);
}

static void test_steps_hold_what_they_must(void)
{
	check_largest(HIGHEST_PC);
	/* Not on the trail. */
	check_largest(UINT64_MAX);
}

/*
 * A function with a realigned frame calls itself: the pc is always the same, but each frame has
 * another length, so none may be walked by what was found of another, nor by the walk before.
 */
static void test_recursion_of_realigned_frames(void)
{
	enum { FRAMES = 5, WORDS = 120 };
	static _Alignas(16) uint64_t stack[WORDS];
	/* The caller's stack pointer is in the word below the frame pointer. */
	struct hs_pc pc = {.pc = 4242,
			   .mapping = 1,
			   .is_call = true,
			   .row = {.kind = HS_ROW_REALIGNED,
				   .cfa_register = HS_ARCH_FP,
				   .cfa_offset = -HS_ROW_WORD,
				   .saved = {1}}};
	struct hs_regs regs = {.pc = pc.pc, .sp = (uintptr_t)stack};
	struct hs_known_pcs pcs;
	struct hs_trail *trail;
	size_t at = 0;

	for (size_t frame = 1; frame <= FRAMES; frame++) {
		size_t base = at + 4, caller = base + 3 * frame;

		if (frame == 1)
			*hs_arch_register(&regs, HS_ARCH_FP) = (uintptr_t)&stack[base];
		stack[base - 1] = (uintptr_t)&stack[caller];
		/* The caller's frame pointer, below the word at base. */
		stack[base] = (uintptr_t)&stack[caller + 4];
		stack[caller - 1] = frame < FRAMES ? pc.pc : 0;
		at = caller;
	}
	CHECK_INT(hs_known_pcs_init(&pcs), 0);
	hs_known_pcs_add(&pcs, &pc);
	trail = hs_trail_take(pcs.trails, atomic_load(&pcs.oldest));
	for (int walk = 0; walk < 3; walk++)
		CHECK_INT(walk_by(&pcs, trail, &regs, sizeof stack, 9), FRAMES);
	hs_trail_give_back(trail);
	hs_known_pcs_destroy(&pcs);
}

/* Walks from a pc with this row.  Whether that is given up. */
static bool is_refused(const struct hs_regs *regs, struct hs_unwind_row row)
{
	struct hs_known_pcs pcs;
	bool refused;

	CHECK_INT(hs_known_pcs_init(&pcs), 0);
	hs_known_pcs_add(&pcs, &(struct hs_pc){.pc = regs->pc, .is_call = true, .row = row});
	refused = is_stopped(walk_afresh(&pcs, regs, HS_PAGE_BYTES, 9));
	hs_known_pcs_destroy(&pcs);
	return refused;
}

/* Whatever rows and frame pointers say, only the stack is read: beside it there is nothing. */
static void test_only_the_stack_is_read(void)
{
	unsigned char *pages = mmap(NULL, 3 * (size_t)HS_PAGE_BYTES, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *stack = (uint64_t *)(void *)(pages + HS_PAGE_BYTES);
	uint64_t sp = (uintptr_t)stack, end = sp + HS_PAGE_BYTES;
	const uint64_t places[] = {0,       16,  sp - 16, sp - 8,          sp,
				   sp + 7, end - 8, end, end + 8, UINT64_MAX - 15};
	struct hs_unwind_row by_sp = {.kind = HS_ROW_REGISTER, .cfa_register = HS_ARCH_SP};
	struct hs_unwind_row by_fp = {.kind = HS_ROW_REGISTER, .cfa_register = HS_ARCH_FP};
	struct hs_unwind_row realigned = {.kind = HS_ROW_REALIGNED, .cfa_register = HS_ARCH_FP};
	struct hs_regs regs = {.pc = 4242, .sp = sp};
	uint64_t *fp = hs_arch_register(&regs, HS_ARCH_FP);

	CHECK(pages != MAP_FAILED && hs_sys_protect(stack, HS_PAGE_BYTES,
						    PROT_READ | PROT_WRITE) == 0);
	memset(stack, 0x55, HS_PAGE_BYTES); /* no known pc */
	by_sp.cfa_offset = -HS_ROW_WORD;
	CHECK(is_refused(&regs, by_sp));
	by_sp.cfa_offset = 2 * HS_ROW_WORD;
	by_sp.saved[HS_ARCH_FP - HS_ARCH_FIRST_SAVED] = 255; /* words below that */
	CHECK(is_refused(&regs, by_sp));
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		*fp = places[i];
		CHECK(is_refused(&regs, by_fp));
		CHECK(is_refused(&regs, realigned));
		*fp = sp; /* where the caller's stack pointer is said to be */
		stack[0] = places[i];
		CHECK(is_refused(&regs, realigned));
	}
	munmap(pages, 3 * (size_t)HS_PAGE_BYTES);
}

/* Of the registers only the stack pointer and the frame pointer are followed. */
static void test_frames_by_other_registers(void)
{
	static _Alignas(16) uint64_t stack[HS_PAGE_BYTES / 8]; /* its return addresses are 0 */
	struct hs_regs regs = {.pc = 4242, .sp = (uintptr_t)stack};

	for (unsigned i = HS_ARCH_SP; i < HS_ARCH_REGS; i++) {
		struct hs_unwind_row row = {.kind = HS_ROW_REGISTER,
					    .cfa_register = i & 0xf,
					    .cfa_offset = 2 * HS_ROW_WORD};

		*hs_arch_register(&regs, i) = regs.sp;
		CHECK_INT(is_refused(&regs, row), i != HS_ARCH_SP && i != HS_ARCH_FP);
	}
}

/*
 * Walks from a frame at the start of a stack whose row is given, to a caller whose frame ends two
 * words above its frame pointer.  Returns how many frames that gives.
 */
static uint32_t walk_to_caller(uint64_t *stack, uint64_t fp, struct hs_unwind_row row)
{
	struct hs_regs regs = {.pc = 4242, .sp = (uintptr_t)stack};
	struct hs_unwind_row by_fp = {.kind = HS_ROW_REGISTER,
				      .cfa_register = HS_ARCH_FP,
				      .cfa_offset = 2 * HS_ROW_WORD};
	struct hs_known_pcs pcs;
	uint32_t count;

	*hs_arch_register(&regs, HS_ARCH_FP) = fp;
	CHECK_INT(hs_known_pcs_init(&pcs), 0);
	hs_known_pcs_add(&pcs, &(struct hs_pc){.pc = regs.pc, .is_call = true, .row = row});
	hs_known_pcs_add(&pcs, &(struct hs_pc){.pc = 77, .is_call = true, .row = by_fp});
	count = walk_afresh(&pcs, &regs, HS_PAGE_BYTES, 9);
	hs_known_pcs_destroy(&pcs);
	return count;
}

/* The caller's frame pointer is in the frame's lowest word, or has not been saved. */
static void test_frame_pointer_of_the_caller(void)
{
	static _Alignas(16) uint64_t stack[HS_PAGE_BYTES / 8];
	struct hs_unwind_row pushed = {.kind = HS_ROW_REGISTER,
				       .cfa_register = HS_ARCH_SP,
				       .cfa_offset = 2 * HS_ROW_WORD,
				       .saved = {2}};
	struct hs_unwind_row realigned = {.kind = HS_ROW_REALIGNED,
					  .cfa_register = HS_ARCH_FP,
					  .cfa_offset = -HS_ROW_WORD};

	stack[0] = (uintptr_t)&stack[8];
	stack[1] = 77;
	CHECK_INT(walk_to_caller(stack, 0, pushed), 2);

	stack[3] = (uintptr_t)&stack[7]; /* where the realigned frame ends */
	stack[5] = (uintptr_t)&stack[8];
	stack[6] = 77;
	CHECK(is_stopped(walk_to_caller(stack, (uintptr_t)&stack[4], realigned)));
	stack[4] = stack[5];
	realigned.saved[HS_ARCH_FP - HS_ARCH_FIRST_SAVED] = 1;
	CHECK_INT(walk_to_caller(stack, (uintptr_t)&stack[4], realigned), 2);
}

/* A stack of the library's own frames only is no stack. */
static void test_too_many_own_frames(void)
{
	static _Alignas(16) uint64_t stack[HS_PAGE_BYTES / 8];
	struct hs_regs regs = {.pc = 4242, .sp = (uintptr_t)stack};
	struct hs_pc own = {.pc = regs.pc,
			    .is_call = true,
			    .is_own = true,
			    .row = {.kind = HS_ROW_REGISTER,
				    .cfa_register = HS_ARCH_SP,
				    .cfa_offset = HS_ROW_WORD}};
	struct hs_known_pcs pcs;

	CHECK_INT(hs_known_pcs_init(&pcs), 0);
	hs_known_pcs_add(&pcs, &own);
	hs_known_pcs_add(&pcs, &(struct hs_pc){.pc = 77,
					       .is_call = true,
					       .row = {.kind = HS_ROW_END}});
	for (uint32_t frames_of_own = 1; frames_of_own < 100; frames_of_own++) {
		stack[frames_of_own - 1] = 77;
		CHECK_INT(walk_afresh(&pcs, &regs, HS_PAGE_BYTES, 9),
			  frames_of_own <= HS_MOST_OWN_FRAMES ? 1 : HS_WALK_STOPPED);
		stack[frames_of_own - 1] = own.pc;
	}
	hs_known_pcs_destroy(&pcs);
}

/* The frame pointer of a realigned frame's caller may be too far from its end for a step. */
static void test_large_realigned_frames(void)
{
	enum { BASE = 4 };
	static _Alignas(16) uint64_t stack[HS_PAGE_BYTES / 8];
	struct hs_unwind_row row = {.kind = HS_ROW_REALIGNED,
				    .cfa_register = HS_ARCH_FP,
				    .cfa_offset = -HS_ROW_WORD,
				    .saved = {1}};
	struct hs_regs regs = {.pc = 4242, .sp = (uintptr_t)stack};

	*hs_arch_register(&regs, HS_ARCH_FP) = (uintptr_t)&stack[BASE];
	for (unsigned words = 1; words < HS_TRAIL_FP_WORDS_MOST + 9; words++) {
		stack[BASE - 1] = (uintptr_t)&stack[BASE + words];
		CHECK_INT(is_refused(&regs, row), words > HS_TRAIL_FP_WORDS_MOST);
	}
}

/* The table grows with the number of entries, up to its largest size. */
static void test_cache_grows(void)
{
	const uint64_t counts[] = {100, 300, 1500, 6000, 100000};
	uintptr_t current, before = 0;
	struct hs_known_pcs pcs;
	uint64_t next = 0;

	CHECK_INT(hs_known_pcs_init(&pcs), 0);
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		uint64_t there = 0;
		struct hs_pc found;

		for (; next < counts[i]; next++) {
			hs_known_pcs_add(&pcs, &(struct hs_pc){.pc = next * (31 * next + 7),
							       .mapping = (uint32_t)next,
							       .is_call = true});
			CHECK(hs_known_pcs_find(&pcs, next * (31 * next + 7), true, &found));
		}
		for (uint64_t n = 0; n < next; n++) {
			if (!hs_known_pcs_find(&pcs, n * (31 * n + 7), true, &found))
				continue;
			CHECK_INT(found.mapping, n);
			there++;
		}
		current = atomic_load(&pcs.table);
		CHECK((i < HS_KNOWN_PCS_TABLES) == (current != before));
		before = current;
		/* Few have been replaced, until the table is full. */
		CHECK(there * 100 >= (next < 32768 ? next : 32768) * 95);
	}
	/* Dropped entries do not count. */
	hs_known_pcs_drop(&pcs);
	hs_known_pcs_add(&pcs, &(struct hs_pc){.pc = 1});
	CHECK_INT(atomic_load(&pcs.table), current);
	hs_known_pcs_destroy(&pcs);
}

static _Atomic bool is_done;

/* Replaces the pcs of the stack by others and puts them back, again and again. */
static void *disturb(void *unused)
{
	struct hs_known_pcs *pcs = (struct hs_known_pcs *)(uintptr_t)known();
	static struct hs_pc found[DEPTH];

	for (size_t i = 0; i < frame_count; i++) {
		if (!hs_known_pcs_find(pcs, frames[i].address + 1, true, &found[i]))
			abort();
	}
	while (!atomic_load(&is_done)) {
		for (size_t i = 0; i < frame_count; i++) {
			uint64_t pc = found[i].pc, other = pc;

			for (unsigned way = 0; way < HS_KNOWN_PCS_WAYS; way++) {
				do
					other++;
				while (hs_known_pcs_set(pcs, other, true) !=
				       hs_known_pcs_set(pcs, pc, true));
				hs_known_pcs_add(pcs, &(struct hs_pc){.pc = other,
								      .mapping = 77,
								      .is_call = true,
								      .row = {.kind = HS_ROW_END,
									      .cfa_offset = 8}});
			}
			hs_known_pcs_add(pcs, &found[i]);
		}
	}
	return unused;
}

static void walk_disturbed(void)
{
	unsigned walks, in_vain = 0;
	pthread_t thread;

	unwind();
	atomic_store(&is_done, false);
	CHECK_INT(pthread_create(&thread, NULL, disturb, NULL), 0);
	/* If all have been in vain it goes on until one is not. */
	for (walks = 0; walks < 20000 || (walks < 2000000 && in_vain == walks); walks++) {
		uint32_t count = walk_captured_by(NULL, capture.captured.stack_bytes, DEPTH);

		in_vain += is_stopped(count);
		CHECK(is_stopped(count) || count == frame_count);
		CHECK(is_same(walked, frames, count & ~HS_WALK_STOPPED));
	}
	atomic_store(&is_done, true);
	pthread_join(thread, NULL);
	CHECK(in_vain < walks);
}

static void test_right_or_not_at_all_while_it_changes(void)
{
	begin();
	descend(6, walk_disturbed);
	end();
}

/* The trails that another thread can get, one after the other. */
static struct hs_trail *taken_by_another[HS_TRAILS];

static void *take_all(void *unused)
{
	unsigned count = 0;
	struct hs_trail *trail = take_trail();

	memset(taken_by_another, 0, sizeof taken_by_another);
	for (; trail != NULL; trail = take_trail()) {
		taken_by_another[count++] = trail;
		atomic_store(&trail->walker, 1);
	}
	return unused;
}

/* False: two of the frames have the same place. */
static bool is_followed;

static void follow_trail(void)
{
	size_t bytes = capture.captured.stack_bytes;
	struct hs_trail *trail = take_trail(), *other;
	pthread_t thread;

	/* Walks by what is on the trail alone. */
	unwind();
	CHECK_INT(walk_captured_by(trail, bytes, DEPTH), frame_count);
	for (size_t i = 0; i < frame_count; i++)
		forget(frames[i].address + 1);
	CHECK_INT(walk_captured_by(NULL, bytes, DEPTH), HS_WALK_STOPPED);
	is_followed = walk_captured_by(trail, bytes, DEPTH) == frame_count;
	if (!is_followed) {
		hs_trail_give_back(trail);
		return;
	}
	CHECK(is_same(walked, frames, frame_count));

	/* In use, nobody else gets it, but another one, while there are some. */
	CHECK_INT(pthread_create(&thread, NULL, take_all, NULL), 0);
	pthread_join(thread, NULL);
	CHECK(taken_by_another[1] != NULL);
	for (unsigned i = 0; i < HS_TRAILS && taken_by_another[i] != NULL; i++) {
		CHECK(taken_by_another[i] != trail);
		hs_trail_give_back(taken_by_another[i]);
	}
	atomic_store(&trail->walker, 1);
	other = take_trail();
	CHECK(other != trail && other != NULL);
	hs_trail_give_back(other);
	/* Its thread gets it again if a handler jumped out. */
	atomic_store(&trail->walker, 0);
	CHECK(take_trail() == trail);
	CHECK(take_trail() == trail);
	CHECK_INT(walk_captured_by(trail, bytes, DEPTH), frame_count);

	/* Entries that were dropped are not used from the trail either. */
	hs_known_pcs_drop((struct hs_known_pcs *)(uintptr_t)known());
	CHECK(take_trail() == trail);
	CHECK_INT(walk_captured_by(trail, bytes, DEPTH), HS_WALK_STOPPED);
	hs_trail_give_back(trail);
}

static void test_trail(void)
{
	is_followed = false;
	for (unsigned levels = 6; levels < 12 && !is_followed; levels++) {
		begin();
		descend(levels, follow_trail);
		end();
	}
	CHECK(is_followed);
}

static void test_dropped_trail(void)
{
	struct hs_known_pcs pcs;
	struct hs_trail *trail;

	CHECK_INT(hs_known_pcs_init(&pcs), 0);
	trail = hs_trail_take(pcs.trails, 1);
	for (uint64_t pc = 1; pc <= HS_TRAIL_STEPS; pc++)
		hs_trail_leave(trail, pc, (struct hs_trail_step){0});
	CHECK(hs_trail_take(pcs.trails, 1) == trail);
	/* First in the second page, then in the first one. */
	for (uint64_t i = 0; i < HS_TRAIL_STEPS; i++)
		CHECK_INT(hs_trail_step_pc(&trail->steps[(256 + i) % HS_TRAIL_STEPS]), i + 1);
	hs_trail_lead(trail, hs_trail_stray(trail));
	CHECK(hs_trail_take(pcs.trails, 2) == trail);
	for (uint64_t i = 0; i <= HS_TRAIL_STEPS; i++)
		CHECK_INT(trail->steps[i].pc_and_next, 0);
	CHECK_INT(trail->end, HS_PAGE_BYTES);
	hs_known_pcs_destroy(&pcs);
}

/* The next step of a step, as the trail has it. */
static struct hs_trail_step *next_of(struct hs_trail *trail, const struct hs_trail_step *step)
{
	return hs_trail_at(trail, step->pc_and_next);
}

static void test_trail_leads_on(void)
{
	static struct hs_trail trail;
	struct hs_trail_step *steps = trail.steps, step = {.cfa_offset = -7, .how = UINT32_MAX};

	for (uint64_t pc = HIGHEST_PC; pc > HIGHEST_PC - 3; pc--) {
		CHECK(!hs_trail_find(&trail, pc, 16, &step));
		step = (struct hs_trail_step){.cfa_offset = -7, .how = UINT32_MAX};
		step = hs_trail_leave(&trail, pc, step);
		CHECK(hs_trail_find(&trail, pc, 16, &step));
		CHECK(step.cfa_offset == -7 && step.how == UINT32_MAX);
		CHECK(hs_trail_guess(&trail, pc, 16) == &steps[HIGHEST_PC - pc]);
	}
	/* They lead on in the order in which they were left, until led elsewhere. */
	CHECK(next_of(&trail, &steps[0]) == &steps[1] && next_of(&trail, &steps[1]) == &steps[2]);
	CHECK(hs_trail_lead(&trail, &steps[0]) == &steps[2]);
	CHECK(next_of(&trail, &steps[0]) == &steps[2] && next_of(&trail, &steps[1]) == &steps[2]);
	CHECK_INT(hs_trail_step_pc(&steps[0]), HIGHEST_PC);

	/* What is not on the trail, such as a higher pc, leads on where the last such step did. */
	CHECK(!hs_trail_find(&trail, HIGHEST_PC + 1, 16, &step));
	step = hs_trail_leave(&trail, HIGHEST_PC + 1, (struct hs_trail_step){.how = 5});
	CHECK(step.how == 5 && !hs_trail_find(&trail, HIGHEST_PC + 1, 16, &step));
	CHECK(hs_trail_lead(&trail, hs_trail_stray(&trail)) == hs_trail_guess(&trail, 0, 0));
	hs_trail_find(&trail, HIGHEST_PC - 1, 16, &step);
	CHECK(hs_trail_lead(&trail, hs_trail_stray(&trail)) == &steps[1]);
	step = hs_trail_pass(&trail, (struct hs_trail_step){.pc_and_next = 4242 << 16});
	CHECK(hs_trail_step_pc(&step) == 4242 && next_of(&trail, &step) == &steps[1]);
	CHECK_INT(hs_trail_step_pc(hs_trail_stray(&trail)), 0);
}

/* The oldest steps make room. */
static void test_trail_goes_round(void)
{
	static struct hs_trail trail;
	struct hs_trail_step step = {0};
	unsigned found = 0;

	for (uint64_t pc = 1; pc <= HS_TRAIL_STEPS + 100; pc++) {
		CHECK(!hs_trail_find(&trail, pc, 0, &step));
		hs_trail_leave(&trail, pc, step);
	}
	for (uint64_t pc = 1; pc <= HS_TRAIL_STEPS + 100; pc++) {
		bool is_there = hs_trail_find(&trail, pc, 0, &step);

		CHECK(pc > 100 || !is_there);
		found += is_there;
	}
	/* Some share their place with a later one. */
	CHECK(found > HS_TRAIL_STEPS / 2);
	CHECK(next_of(&trail, &trail.steps[HS_TRAIL_STEPS - 1]) == &trail.steps[0]);
	CHECK_INT(hs_trail_stray(&trail)->pc_and_next, 0);
}

enum { MADE_FRAMES = 40, MADE_WORDS = 10, MADE_PCS = 60, MADE_REALIGNED = 5, MADE_HIGH = 7 };

/* Made stacks: a frame has as many words as its pc says, from 2 to MADE_WORDS - 1. */
static uint64_t made_pc(unsigned number)
{
	return 1 + number + (number == MADE_HIGH ? HIGHEST_PC : 0);
}

static unsigned made_words(uint64_t pc)
{
	return 2 + (unsigned)(pc % (MADE_WORDS - 2));
}

static void add_made_pcs(struct hs_known_pcs *pcs)
{
	for (unsigned i = 0; i < MADE_PCS; i++) {
		uint64_t pc = made_pc(i);
		struct hs_pc known = {.pc = pc,
				      .mapping = i,
				      .is_call = true,
				      .is_own = i % 10 == 0,
				      .row = {.kind = HS_ROW_REGISTER,
					      .cfa_register = HS_ARCH_SP,
					      .cfa_offset = HS_ROW_WORD * (int)made_words(pc)}};

		/* The caller's stack pointer is at the lower end. */
		if (i == MADE_REALIGNED)
			known.row = (struct hs_unwind_row){.kind = HS_ROW_REALIGNED,
							   .cfa_register = HS_ARCH_SP};
		hs_known_pcs_add(pcs, &known);
	}
}

/* Writes the frames of pcs so that they end where the stack does.  Returns the inner end. */
static uint64_t *make_stack(uint64_t *end, const uint64_t pcs[MADE_FRAMES], unsigned count)
{
	uint64_t *sp = end;

	for (unsigned i = 0; i < count; i++) {
		uint64_t *cfa = sp;

		sp -= made_words(pcs[i]);
		sp[0] = (uintptr_t)cfa;
		cfa[-1] = i == 0 ? 0 : pcs[i - 1];
	}
	return sp;
}

static unsigned made_random(unsigned below)
{
	static unsigned state = 1;

	state = state * 1103515245 + 12345;
	return (state >> 16) % below;
}

/* Leaves frames and calls others.  pcs: the outermost first.  Returns how many there are then. */
static unsigned call_others(uint64_t pcs[MADE_FRAMES], unsigned count)
{
	unsigned kept = count * made_random(9) / 8, wanted = kept + 1 + made_random(6);

	for (count = kept; count < wanted && count < MADE_FRAMES; count++)
		pcs[count] = made_pc(made_random(MADE_PCS));
	return count;
}

/* Whether each step leads to the next one. */
static bool is_led(struct hs_trail *trail, const uint64_t pcs[MADE_FRAMES], unsigned count,
		   uint64_t sp)
{
	const struct hs_trail_step *at = hs_trail_guess(trail, pcs[count - 1], sp);

	while (count > 0 && hs_trail_step_pc(at) == pcs[count - 1]) {
		at = next_of(trail, at);
		count--;
	}
	return count == 0;
}

/*
 * Many stacks, each with the outer frames of the one before, on one trail: each walk gives the same
 * as without it, and then mostly by the trail alone.
 */
static void test_trail_of_many_stacks(void)
{
	static _Alignas(16) uint64_t stack[MADE_FRAMES * MADE_WORDS];
	static struct hs_frame without[MADE_FRAMES];
	uint64_t pcs[MADE_FRAMES], *end = stack + sizeof stack / sizeof *stack;
	unsigned count = 0, on_trail = 0, followed = 0, led = 0;
	struct hs_known_pcs known, nothing;
	struct hs_trail *trail;

	CHECK_INT(hs_known_pcs_init(&known), 0);
	CHECK_INT(hs_known_pcs_init(&nothing), 0);
	add_made_pcs(&known);
	trail = hs_trail_take(known.trails, 1);
	for (int walk = 0; walk < 20000; walk++) {
		size_t bytes;
		struct hs_regs regs = {0};
		bool is_on_trail = true;
		uint32_t found;

		count = call_others(pcs, count);
		regs.sp = (uintptr_t)make_stack(end, pcs, count);
		regs.pc = pcs[count - 1];
		bytes = (uintptr_t)end - regs.sp;
		found = walk_afresh(&known, &regs, bytes, MADE_FRAMES);
		memcpy(without, walked, sizeof without);
		CHECK((found & ~HS_WALK_STOPPED) <= count);
		CHECK_INT(walk_by(&known, trail, &regs, bytes, MADE_FRAMES), found);
		CHECK(is_same(walked, without, found));
		for (unsigned i = 0; i < count; i++)
			is_on_trail = is_on_trail && pcs[i] != made_pc(MADE_HIGH) &&
				      pcs[i] != made_pc(MADE_REALIGNED);
		if (!is_on_trail)
			continue;
		on_trail++;
		memset(walked, 0xee, sizeof walked);
		if (walk_by(&nothing, trail, &regs, bytes, MADE_FRAMES) != found)
			continue;
		CHECK(is_same(walked, without, found));
		followed++;
		led += is_led(trail, pcs, count, regs.sp);
	}
	/* In the others two frames have the same place. */
	CHECK(on_trail > 1000 && followed * 10 > on_trail * 9 && led * 10 > followed * 9);
	hs_trail_give_back(trail);
	hs_known_pcs_destroy(&nothing);
	hs_known_pcs_destroy(&known);
}

static struct hs_ring ring;

/* Records an allocation at the captured place.  Whether its stack was walked. */
static bool is_recorded_walked(void)
{
	static char block[16];
	struct hs_ring_item item;
	const struct hs_record *record;
	bool is_walked;

	CHECK(hs_record_allocation(block, 100, &capture.captured.regs));
	hs_record_free(block);
	hs_ring_read(&ring, &item);
	/* A walk that has failed leaves no slot in use. */
	if (item.state == HS_RING_ABANDONED) {
		CHECK(item.cookie == 0 && item.sequence == 0);
		ring_release(&ring);
		hs_ring_read(&ring, &item);
	}
	CHECK_INT(item.state, HS_RING_COMMITTED);
	CHECK(item.cookie != 0 && item.sequence != 0);
	record = item.data;
	is_walked = (record->flags & HS_RECORD_WALKED) != 0;
	if (is_walked) {
		bool is_cut = hs_recorder.depth_frames < frame_count;
		size_t count = is_cut ? hs_recorder.depth_frames : frame_count;

		CHECK_INT((record->flags & HS_RECORD_DEPTH_CUT) != 0, is_cut);
		CHECK(record->walked == count && record->stack_bytes == 0);
		CHECK(is_same(hs_record_frames(record), frames, count));
	} else {
		CHECK(record->walked == 0 && record->stack_bytes == capture.captured.stack_bytes);
	}
	ring_release(&ring);
	for (uint32_t i = 0; i < HS_TRAILS; i++)
		CHECK_INT(known()->trails[i].walker, 0);
	return is_walked;
}

static void start_recorder(void)
{
	size_t bytes = hs_ring_memory_bytes(1 << 20);

	hs_ring_init(&ring, hs_sys_map(bytes, 3), 1 << 20);
	CHECK_INT(live_init(1000, 1000), 0);
	hs_capture_init_main(&hs_thread, (uintptr_t)__libc_stack_end);
	hs_recorder.ring = &ring;
	hs_recorder.process_id = hs_sys_getpid();
	hs_recorder.stack_limit_bytes = CAPTURE_BYTES / 2;
	hs_recorder.depth_frames = DEPTH;
	hs_recorder.known_pcs = known();
	atomic_store(&hs_sampler_interval, 1);
	atomic_store(&hs_sampler_is_ready, true);
}

/* More records than the ring has room for. */
#define ROUND 2000

static void record(void)
{
	start_recorder();
	/* Nothing is known yet. */
	CHECK(!is_recorded_walked());
	unwind();
	/* The first walk has too little room, but then it is known how many frames there are. */
	CHECK(!is_recorded_walked());
	for (int i = 0; i < 5; i++)
		CHECK(is_recorded_walked());

	/* Fewer frames are wanted than there are. */
	hs_recorder.depth_frames = (uint32_t)frame_count - 1;
	for (int i = 0; i < ROUND; i++)
		CHECK(is_recorded_walked());
	hs_recorder.depth_frames = DEPTH;
	CHECK(!is_recorded_walked());
	/* In the memory of those before. */
	for (int i = 0; i < ROUND; i++)
		CHECK(is_recorded_walked());
	/* Room for more frames is kept for a while: the next stack may be that deep again. */
	hs_thread.walk_room = 200;
	CHECK(is_recorded_walked());
	CHECK(hs_thread.walk_room < 200 && hs_thread.walk_room > 150);
	/* The stack has to be copied if part of it may have become unreadable. */
	hs_capture_protect_begins();
	hs_capture_protect_ends();
	CHECK(!is_recorded_walked());
	CHECK(is_recorded_walked());

	/* After failed walks there are pauses, longer each time. */
	hs_known_pcs_drop((struct hs_known_pcs *)(uintptr_t)known());
	for (unsigned fails = 1; fails < 9; fails++) {
		CHECK(!is_recorded_walked());
		CHECK_INT(hs_thread.walk_rest, fails < 4 ? 1u << fails : 16);
		CHECK(!is_recorded_walked());
		CHECK_INT(hs_thread.walk_rest, (fails < 4 ? 1u << fails : 16) - 1);
		hs_thread.walk_rest = 0;
	}
	unwind();
	CHECK(is_recorded_walked());
	CHECK(is_recorded_walked());
	CHECK_INT(hs_thread.walk_fails, 0);

	hs_close_begins();
	CHECK(!is_recorded_walked());
	hs_close_ends(false);
	CHECK(is_recorded_walked() == (hs_closes_now() == capture.captured.closes));
}

static void test_recorded(void)
{
	begin();
	capture.captured.closes = hs_closes_now();
	descend(40, record);
	end();
}

/* If there is no slot, room in the ring must not be taken and given up again and again. */
static void record_without_slots(void)
{
	static struct hs_taken_slot taken[1 << 20];
	static char block[16];
	uint32_t count = 0, before;

	unwind();
	hs_recorder.known_pcs = known();
	hs_thread.walk_rest = 0;
	CHECK(is_recorded_walked());
	while (hs_live_set_take(&taken[count]))
		count++;
	before = hs_ring_head_ticket(&ring);
	hs_live_set_exhausted = true;
	CHECK(!hs_record_allocation(block, 100, &capture.captured.regs));
	CHECK_INT(hs_ring_head_ticket(&ring), before);
	/* It waits for a slot, in vain, and looks every millisecond. */
	hs_live_set_exhausted = false;
	hs_recorder.reader_runs = true;
	hs_recorder.block_ns = 20000000;
	CHECK(!hs_record_allocation(block, 100, &capture.captured.regs));
	CHECK_INT(hs_ring_head_ticket(&ring), before + 1);
	hs_recorder.block_ns = 0;
	for (int i = 0; i < 10; i++)
		CHECK(!hs_record_allocation(block, 100, &capture.captured.regs));
	CHECK_INT(hs_ring_head_ticket(&ring), before + 1);
	hs_recorder.reader_runs = false;
	while (count > 0)
		hs_live_set_cancel(taken[--count]);
	hs_thread.walk_rest = 0;
	CHECK(is_recorded_walked());
}

static void test_not_without_slots(void)
{
	begin();
	capture.captured.closes = hs_closes_now();
	descend(4, record_without_slots);
	end();
}

static bool is_walked_at(uint64_t interval)
{
	hs_thread.walk_rest = 0;
	hs_thread.bytes_until_sample = 1;
	hs_thread.interval_bytes = interval;
	return is_recorded_walked();
}

static void record_at_large_intervals(void)
{
	size_t bytes = capture.captured.stack_bytes;

	unwind();
	capture.captured.closes = hs_closes_now();
	unwind();
	hs_recorder.known_pcs = known();
	/* Until it is known how much room is needed. */
	for (int i = 0; i < 10; i++)
		(void)is_walked_at(1);
	CHECK(is_walked_at(16 << 10));
	CHECK(bytes >= 8192 && is_walked_at((16 << 10) + 1));
	capture.captured.stack_bytes = 8191;
	hs_thread.stack_high = capture.captured.regs.sp + 8191;
	CHECK(!is_walked_at((16 << 10) + 1));
	hs_thread.stack_high += bytes - 8191;
}

/* With a frame that makes the stack large. */
static FRAME void descend_far(void)
{
	volatile unsigned char room[8192];

	room[0] = 0;
	descend(20, record_at_large_intervals);
	NO_TAIL_CALL();
	(void)room[0];
}

static void test_copied_where_samples_are_rare(void)
{
	begin();
	capture.captured.closes = hs_closes_now();
	descend_far();
	end();
}

/* Records an allocation at the captured place.  Gives its stack as the worker would see it. */
static const struct hs_record *record_and_unwind(void)
{
	struct hs_captured *captured = &capture.captured, before = *captured;
	static char block[16];
	const struct hs_record *record;
	const struct hs_regs *regs;
	struct hs_ring_item item;

	hs_thread.bytes_until_sample = hs_thread.interval_bytes = 1;
	CHECK(hs_record_allocation(block, 100, &captured->regs));
	hs_record_free(block);
	hs_ring_read(&ring, &item);
	if (item.state == HS_RING_ABANDONED) {
		ring_release(&ring);
		hs_ring_read(&ring, &item);
	}
	record = item.data;
	regs = hs_record_unwalked(record);
	frame_count = record->walked;
	memcpy(frames, hs_record_frames(record), frame_count * sizeof frames[0]);
	if ((record->flags & HS_RECORD_WALKED) == 0) {
		CHECK(record->stack_bytes > 0 &&
		      record->stack_bytes <= hs_recorder.stack_limit_bytes);
		captured->regs = *regs;
		captured->stack = regs + 1;
		captured->stack_bytes = record->stack_bytes;
		captured->stack_cut = (record->flags & HS_RECORD_STACK_CUT) != 0;
		captured->walked = record->walked;
		unwind();
		*captured = before;
	}
	ring_release(&ring);
	return record;
}

/* All pcs of the captured stack are known except one, and nothing is on the trails. */
static void learn_all_but(const struct hs_frame *frame)
{
	uint64_t pc = frame->address + 1;

	learn_anew();
	forget(pc);
	memset(known()->trails, 0, HS_TRAILS * sizeof(struct hs_trail));
}

static void begin_beyond_the_limit(void)
{
	unwind();
	capture.captured.closes = hs_closes_now();
	hs_recorder.known_pcs = known();
	hs_recorder.stack_limit_bytes = 8192;
	hs_thread.read_low = hs_thread.read_high = 0;
	hs_thread.walk_rest = hs_thread.walk_fails = 0;
}

/* A frame is larger than a copy may be: walks go past it, as soon as it is known to be readable. */
static void record_large_frame(void)
{
	static struct hs_frame all[DEPTH];
	size_t count;

	begin_beyond_the_limit();
	count = frame_count;
	memcpy(all, frames, sizeof all);
	for (int i = 0; i < 40; i++) {
		CHECK((record_and_unwind()->flags & HS_RECORD_WALKED) != 0);
		CHECK(frame_count == count && is_same(frames, all, count));
	}
	hs_recorder.stack_limit_bytes = CAPTURE_BYTES / 2;
}

/* The large frame calls others, or is the innermost one. */
static FRAME void descend_very_far(bool is_innermost)
{
	volatile unsigned char room[200 << 10];

	room[0] = 0;
	if (is_innermost) {
		capture_here();
		record_large_frame();
	} else {
		descend(20, record_large_frame);
	}
	NO_TAIL_CALL();
	(void)room[0];
}

static void test_frame_beyond_the_limit(void)
{
	for (int is_innermost = 0; is_innermost < 2; is_innermost++) {
		begin();
		capture.captured.closes = hs_closes_now();
		descend_very_far(is_innermost != 0);
		end();
	}
}

/* Many frames together are larger than a copy may be, and some of the outer pcs are not known. */
static void record_large_stack(void)
{
	static struct hs_frame all[DEPTH];
	const struct hs_record *record;
	unsigned whole = 0;
	size_t count;

	begin_beyond_the_limit();
	count = frame_count;
	memcpy(all, frames, sizeof all);
	/* Even the first one of a thread is walked, from where pcs are known. */
	record = record_and_unwind();
	CHECK(record->walked > 0);
	for (int i = 0; i < 3; i++)
		CHECK((record_and_unwind()->flags & HS_RECORD_WALKED) != 0);
	CHECK(frame_count == count && is_same(frames, all, count));

	for (size_t unknown = 8; unknown < count; unknown++) {
		learn_all_but(&all[unknown]);
		record = record_and_unwind();
		CHECK_INT(record->flags & HS_RECORD_WALKED, 0);
		CHECK(record->walked > 0 && record->walked <= unknown);
		CHECK_INT(hs_thread.walk_rest, 0);
		if ((record->flags & HS_RECORD_STACK_CUT) != 0) {
			CHECK(frame_count > record->walked && frame_count <= count);
			CHECK(is_same(frames, all, frame_count - 1));
			continue;
		}
		CHECK(frame_count == count && is_same(frames, all, count));
		whole++;
		/* What was unwound is known from then on. */
		CHECK((record_and_unwind()->flags & HS_RECORD_WALKED) != 0);
		CHECK(frame_count == count && is_same(frames, all, count));
	}
	CHECK(whole > 10);
	hs_recorder.stack_limit_bytes = CAPTURE_BYTES / 2;
}

/* With frames of more than 1 KiB. */
static FRAME void descend_widely(unsigned levels, void (*act)(void))
{
	volatile unsigned char room[1024];

	room[0] = 0;
	if (levels > 1)
		descend_widely(levels - 1, act);
	else
		capture_and(act);
	NO_TAIL_CALL();
	(void)room[0];
}

static void descend_far_and_widely(void)
{
	descend_widely(16, record_large_stack);
}

static void test_stack_beyond_the_limit(void)
{
	begin();
	capture.captured.closes = hs_closes_now();
	descend(20, descend_far_and_widely);
	end();
}

/* Alternates with a whole stack of more frames, for which the room is kept. */
static void record_few_of_many_frames(void)
{
	size_t count;

	begin_beyond_the_limit();
	count = frame_count;
	for (int i = 0; i < 9; i++)
		(void)record_and_unwind();
	CHECK_INT(hs_thread.walk_room, count + 8);
	for (int i = 0; i < 3; i++) {
		learn_all_but(&frames[3]);
		CHECK((record_and_unwind()->flags & HS_RECORD_WALKED) == 0);
	}
	CHECK(hs_thread.walk_room > count / 2);
	hs_recorder.stack_limit_bytes = CAPTURE_BYTES / 2;
}

static void descend_far_and_keep(void)
{
	descend_widely(16, record_few_of_many_frames);
}

static void test_room_is_kept(void)
{
	begin();
	capture.captured.closes = hs_closes_now();
	descend(60, descend_far_and_keep);
	end();
}

static void record_hinted(void)
{
	struct hs_ring_item item;

	unwind();
	hs_recorder.known_pcs = known();
	CHECK(is_recorded_walked());
	CHECK_INT(hs_hint_record_put(&ring, HS_RECORD_MAP_HINT, 4096, 4096, 0, "", 0), 0);
	hs_ring_read(&ring, &item);
	ring_release(&ring);
	CHECK(!is_recorded_walked());
}

static void test_not_where_code_is_hinted(void)
{
	begin();
	capture.captured.closes = hs_closes_now();
	descend(4, record_hinted);
	end();
}

int main(void)
{
	if (hs_arena_init((size_t)256 << 20) < 0)
		return 99;
	RUN(test_cache);
	RUN(test_steps_hold_what_they_must);
	RUN(test_recursion_of_realigned_frames);
	RUN(test_only_the_stack_is_read);
	RUN(test_frames_by_other_registers);
	RUN(test_frame_pointer_of_the_caller);
	RUN(test_too_many_own_frames);
	RUN(test_large_realigned_frames);
	RUN(test_cache_grows);
	RUN(test_same_frames_as_the_unwinder);
	RUN(test_short_stacks);
	RUN(test_what_a_walk_leaves);
	RUN(test_unknown_pcs);
	RUN(test_own_frames_are_left_out);
	RUN(test_not_through_a_signal_handler);
	RUN(test_not_after_a_library_came_or_went);
	RUN(test_not_by_what_was_known_before_the_maps_changed);
	RUN(test_right_or_not_at_all_while_it_changes);
	RUN(test_trail);
	RUN(test_dropped_trail);
	RUN(test_trail_leads_on);
	RUN(test_trail_goes_round);
	RUN(test_trail_of_many_stacks);
	RUN(test_recorded);
	RUN(test_not_without_slots);
	RUN(test_copied_where_samples_are_rare);
	RUN(test_frame_beyond_the_limit);
	RUN(test_stack_beyond_the_limit);
	RUN(test_room_is_kept);
	RUN(test_not_where_code_is_hinted);
	free(capture.bytes);
	return CHECK_RESULT();
}
