/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks the calling thread's own stack.  See walk.h. */
#include "sample/walk.h"

#include "base/likely.h"
#include "sample/capture.h"
#include "sample/recorder.h"
#include "sample/reentry.h"
#include "sample/trail.h"

/* A thread's first walk gets room for so many frames; each further one so many more than needed. */
#define WALK_FIRST_ROOM 24u
#define WALK_SPARE_ROOM 8u

/* After n failed walks in a row the next 2^n samples are copied; n is this at most. */
#define WALK_MOST_FAILS 4

/* The address may be odd, if it is a wrong one. */
static uint64_t word_at(uint64_t address)
{
	const struct {
		uint64_t word;
	} __attribute__((packed, may_alias)) *at = (const void *)(uintptr_t)address;

	return at->word;
}

/* Of a realigned frame: the caller's stack pointer is stored at base + the row's offset. */
static bool find_realigned(const struct hs_unwind_row *row, uint64_t base, uint64_t sp,
			   uint64_t end, struct hs_trail_step *step)
{
	uint64_t at = base + (uint64_t)(int64_t)row->cfa_offset, cfa, words;
	uint32_t fp_words = hs_trail_step_fp_words(step);

	if (at < sp || at > end || end - at < HS_ROW_WORD)
		return false;
	cfa = word_at(at);
	/* Registers are saved below the word at base. */
	words = (cfa - base - HS_ROW_WORD) / HS_ROW_WORD + fp_words;
	if (cfa - sp > INT32_MAX || words > HS_TRAIL_FP_WORDS_MOST)
		return false;
	step->cfa_offset = (int32_t)(cfa - sp);
	step->how &= ~(uint32_t)HS_TRAIL_BY_FP;
	if (fp_words > 0)
		step->how += ((uint32_t)words - fp_words) << HS_TRAIL_FP_SHIFT;
	return true;
}

/* The step that a row describes, unless the frame is realigned. */
static struct hs_trail_step step_of(const struct hs_pc *known)
{
	const struct hs_unwind_row *row = &known->row;
	uint32_t fp_words = row->saved[HS_ARCH_FP - HS_ARCH_FIRST_SAVED];

	return (struct hs_trail_step){
		.pc_and_next = known->pc << HS_TRAIL_PC_SHIFT,
		.cfa_offset = row->cfa_offset,
		.how = (known->is_own ? HS_TRAIL_OWN : 0) |
		       (row->kind == HS_ROW_END ? HS_TRAIL_LAST : 0) |
		       (row->cfa_register == HS_ARCH_FP ? HS_TRAIL_BY_FP : 0) |
		       fp_words << HS_TRAIL_FP_SHIFT | known->mapping << HS_TRAIL_MAPPING_SHIFT,
	};
}

/*
 * The step of a frame from elsewhere on the trail, or else from the cache of known pcs; then it is
 * left on the trail too.  Its pc is 0 if there is none: signal frames, code without unwind
 * information, and rows by other registers or that do not say all are left to the worker.
 */
static __attribute__((noinline)) struct hs_trail_step find_step(const struct hs_known_pcs *pcs,
							  struct hs_trail *trail, uint64_t pc,
							  uint64_t sp, uint64_t fp, uint64_t end)
{
	static const struct hs_trail_step none;
	const struct hs_unwind_row *row;
	struct hs_trail_step step;
	struct hs_pc known;

	if (hs_trail_find(trail, pc, sp, &step))
		return step;
	if (!hs_known_pcs_find(pcs, pc, true, &known))
		return none;
	row = &known.row;
	if (row->kind <= HS_ROW_NO_INFO || row->cfa_register > HS_ARCH_FP ||
	    known.mapping > HS_TRAIL_MAPPING_MOST)
		return none;
	step = step_of(&known);
	if (row->kind == HS_ROW_REALIGNED) {
		uint64_t base = row->cfa_register == HS_ARCH_FP ? fp : sp;

		if (!find_realigned(row, base, sp, end, &step))
			return none;
		return hs_trail_pass(trail, step);
	}
	return hs_trail_leave(trail, pc, step);
}

/* The result of a walk that goes no further than `at`: cut, if a copy would not come there. */
static HS_RARE uint32_t cut_before(const struct hs_walk_reach *reach, uint64_t at, uint32_t count)
{
	if (count == 0 || at <= reach->copied || at > reach->used)
		return HS_WALK_UNKNOWN;
	return count | HS_WALK_CUT;
}

/* The result of a walk that has come to an unknown pc: cut there, if a copy would be cut before. */
static HS_RARE uint32_t cut_at_unknown(const struct hs_walk_reach *reach, uint64_t sp, uint64_t pc,
				       struct hs_frame *frames, uint32_t count, uint32_t room)
{
	uint32_t result = cut_before(reach, sp, count);

	if (result == HS_WALK_UNKNOWN || count == room)
		return result;
	frames[count].address = pc - 1;
	return (result + 1) | HS_WALK_LAST_UNKNOWN;
}

uint32_t hs_walk(const struct hs_known_pcs *pcs, struct hs_trail *trail, const struct hs_regs *regs,
		 const struct hs_walk_reach *reach, struct hs_frame *frames, uint32_t room)
{
	uint64_t pc = regs->pc, sp = regs->sp, fp = hs_arch_frame_pointer(regs);
	uint64_t end = reach->read, cfa, fp_at;
	uint32_t count = 0, own = 0;
	struct hs_trail_step *at = hs_trail_guess(trail, pc, sp), *last = hs_trail_stray(trail);

	for (;;) {
		struct hs_trail_step step = *at;

		if (hs_unlikely(hs_trail_step_pc(&step) != pc)) {
			step = find_step(pcs, trail, pc, sp, fp, end);
			if (step.pc_and_next == 0)
				return cut_at_unknown(reach, sp, pc, frames, count, room);
			at = hs_trail_lead(trail, last);
		}
		last = at;
		at = hs_trail_at(trail, step.pc_and_next);
		if (hs_likely((step.how & HS_TRAIL_OWN) == 0)) {
			if (hs_unlikely(count == room))
				return HS_WALK_LONG;
			frames[count++] = (struct hs_frame){pc - 1, hs_trail_step_mapping(&step)};
		} else if (own++ == HS_MOST_OWN_FRAMES) {
			return HS_WALK_UNKNOWN;
		}
		if (hs_unlikely((step.how & HS_TRAIL_LAST) != 0))
			return count;
		cfa = sp;
		if ((step.how & HS_TRAIL_BY_FP) != 0) {
			cfa = fp;
			/* Makes gcc emit a jump: the next frame would wait for a cmov. */
			__asm__("" : "+r"(cfa));
		}
		cfa += (uint64_t)(int64_t)step.cfa_offset;
		if (hs_unlikely(cfa < sp + HS_ROW_WORD))
			return HS_WALK_UNKNOWN;
		if (hs_unlikely(cfa > end))
			return cut_before(reach, cfa, count);
		pc = word_at(cfa - HS_ARCH_RETURN_WORD * HS_ROW_WORD);
		if (hs_trail_step_fp_words(&step) > 0) {
			fp_at = cfa - hs_trail_step_fp_words(&step) * HS_ROW_WORD;
			if (hs_unlikely(fp_at < sp))
				return HS_WALK_UNKNOWN;
			fp = word_at(fp_at);
		}
		sp = cfa;
		if (hs_unlikely(pc == 0))
			return count;
	}
}

/* Not inlined, so that its frame is gone during the walk. */
static __attribute__((noinline)) bool
may_walk(struct hs_thread_state *thread, const struct hs_known_pcs *pcs, uintptr_t sp, size_t bytes)
{
	if (pcs == NULL)
		return false;
	if (thread->walk_rest > 0) {
		thread->walk_rest--;
		return false;
	}
	return hs_thread_has_read(thread, sp, bytes) && hs_known_pcs_hold(pcs);
}

/* Decides, by the result of a walk, when the thread walks again and with how much room. */
static void note_walk(struct hs_thread_state *thread, uint32_t room, uint32_t count)
{
	uint32_t most = hs_recorder.depth_frames, wanted = count + WALK_SPARE_ROOM;

	if (count == HS_WALK_LONG) {
		wanted = room * 2;
	} else if (count == HS_WALK_UNKNOWN) {
		thread->walk_fails += thread->walk_fails < WALK_MOST_FAILS;
		thread->walk_rest = (uint8_t)(1u << thread->walk_fails);
		wanted = room;
	} else {
		thread->walk_fails = 0;
		/* Shrinks slowly: stacks of different depths alternate. */
		if (wanted < room)
			wanted = room - (room - wanted + 7) / 8;
	}
	thread->walk_room = (uint16_t)(wanted < most ? wanted : most);
}

struct hs_record *hs_walk_record(struct hs_thread_state *thread, const struct hs_regs *regs)
{
	const struct hs_known_pcs *pcs =
		atomic_load_explicit(&hs_recorder.known_pcs, memory_order_relaxed);
	uint32_t room = thread->walk_room != 0 ? thread->walk_room : WALK_FIRST_ROOM;
	uint32_t count = HS_WALK_UNKNOWN;
	size_t bytes = thread->sample.stack.bytes;
	struct hs_walk_reach reach = {.copied = regs->sp + bytes, .used = thread->stack_high};
	struct hs_record *record;
	struct hs_trail *trail;

	if (!may_walk(thread, pcs, regs->sp, bytes))
		return NULL;
	reach.read = thread->read_high < reach.used ? thread->read_high : reach.used;
	if (room > hs_recorder.depth_frames)
		room = hs_recorder.depth_frames;
	record = hs_ring_reserve(hs_recorder.ring, hs_record_walked_bytes(room), HS_RING_ORDINARY,
				 hs_reentry_tid(thread), 0, &thread->reservation);
	if (record == NULL)
		return NULL;
	if (thread->sample.is_dense)
		hs_ring_fetch(hs_recorder.ring, hs_record_walked_bytes(room));
	trail = hs_trail_take(pcs->trails,
			      atomic_load_explicit(&pcs->oldest, memory_order_relaxed));
	if (hs_likely(trail != NULL)) {
		count = hs_walk(pcs, trail, regs, &reach, hs_record_frames(record), room);
		hs_trail_give_back(trail);
	}
	record->flags = HS_RECORD_WALKED;
	if (count == HS_WALK_LONG && room == hs_recorder.depth_frames) {
		record->flags |= HS_RECORD_DEPTH_CUT;
		count = room;
	} else if (count != HS_WALK_LONG && (count & HS_WALK_CUT) != 0) {
		record->flags |= HS_RECORD_STACK_CUT;
		if ((count & HS_WALK_LAST_UNKNOWN) != 0)
			record->flags |= HS_RECORD_LAST_UNKNOWN;
		else
			hs_capture_read_on(thread);
		count &= ~(HS_WALK_CUT | HS_WALK_LAST_UNKNOWN);
	}
	note_walk(thread, room, count);
	if (count == HS_WALK_LONG || count == HS_WALK_UNKNOWN) {
		hs_reentry_abandon(thread);
		return NULL;
	}
	record->stack_bytes = count * (uint32_t)sizeof(struct hs_frame);
	return record;
}
