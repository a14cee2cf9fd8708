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
#define WALK_LONGEST_PAUSE (1u << WALK_MOST_FAILS)

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
 * left on the trail too, unless the frame is realigned.  pc_and_next is 0 if there is none: signal
 * frames, code without unwind information, and rows by other registers or that do not say all are
 * left to the worker.
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

static HS_RARE uint32_t stop_at(struct hs_walk *walk, uint64_t pc, uint64_t sp, uint64_t fp,
				uint32_t result)
{
	walk->pc = pc;
	walk->sp = sp;
	walk->fp = fp;
	return result;
}

/* The same, where a frame may have been noted. */
static HS_RARE uint32_t stop_in(struct hs_walk *walk, uint64_t pc, uint64_t sp, uint64_t fp,
				uint32_t count, uint32_t how)
{
	return stop_at(walk, pc, sp, fp, (count - ((how & HS_TRAIL_OWN) == 0)) | HS_WALK_STOPPED);
}

uint32_t hs_walk(struct hs_walk *walk, struct hs_trail *trail, const struct hs_regs *regs,
		 struct hs_frame *frames)
{
	uint64_t pc = regs->pc, sp = regs->sp, fp = hs_arch_frame_pointer(regs);
	uint64_t cfa, caller, fp_at;
	uint32_t count = 0, own = 0;
	struct hs_trail_step *at = hs_trail_guess(trail, pc, sp), *last = hs_trail_stray(trail);

	for (;;) {
		struct hs_trail_step step = *at;

		if (hs_unlikely(hs_trail_step_pc(&step) != pc)) {
			step = find_step(walk->pcs, trail, pc, sp, fp, walk->end);
			if (step.pc_and_next == 0)
				return stop_at(walk, pc, sp, fp, count | HS_WALK_STOPPED);
			at = hs_trail_lead(trail, last);
		}
		last = at;
		at = hs_trail_at(trail, step.pc_and_next);
		if (hs_likely((step.how & HS_TRAIL_OWN) == 0)) {
			if (hs_unlikely(count == walk->room))
				return stop_at(walk, pc, sp, fp, count | HS_WALK_LONG);
			frames[count++] = (struct hs_frame){pc - 1, hs_trail_step_mapping(&step)};
		} else if (own++ == HS_MOST_OWN_FRAMES) {
			return stop_at(walk, pc, sp, fp, count | HS_WALK_STOPPED);
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
		if (hs_unlikely(cfa < sp + HS_ROW_WORD) || hs_unlikely(cfa > walk->end))
			return stop_in(walk, pc, sp, fp, count, step.how);
		caller = word_at(cfa - HS_ARCH_RETURN_WORD * HS_ROW_WORD);
		if (hs_trail_step_fp_words(&step) > 0) {
			fp_at = cfa - hs_trail_step_fp_words(&step) * HS_ROW_WORD;
			if (hs_unlikely(fp_at < sp))
				return stop_in(walk, pc, sp, fp, count, step.how);
			fp = word_at(fp_at);
		}
		pc = caller;
		sp = cfa;
		if (hs_unlikely(pc == 0))
			return count;
	}
}

static bool is_long(uint32_t result)
{
	return (result & HS_WALK_LONG) != 0;
}

static bool is_whole(uint32_t result)
{
	return (result & (HS_WALK_LONG | HS_WALK_STOPPED)) == 0;
}

/* There are as many frames as are wanted, and more. */
static bool is_deep(const struct hs_walk *walk, uint32_t result)
{
	return is_long(result) && walk->room == hs_recorder.depth_frames;
}

static uint32_t frames_of(uint32_t result)
{
	return result & ~(HS_WALK_LONG | HS_WALK_STOPPED);
}

/*
 * Whether a copy would not be all of a stack.  By the limit, and not by the sample's plan, which a
 * sample in a signal handler overwrites.
 */
static bool is_large(const struct hs_thread_state *thread, uintptr_t sp)
{
	return hs_unlikely(thread->stack_high - sp > hs_recorder.stack_limit_bytes);
}

/* Not inlined, so that its frame is gone during the walk. */
static __attribute__((noinline)) bool may_walk(struct hs_thread_state *thread,
					       const struct hs_known_pcs *pcs, uintptr_t sp)
{
	if (hs_unlikely(pcs == NULL))
		return false;
	if (hs_unlikely(thread->walk_rest > 0)) {
		thread->walk_rest--;
		/* Of a large stack a copy would be cut.  But longer pauses have another reason. */
		if (!is_large(thread, sp) || thread->walk_rest >= WALK_LONGEST_PAUSE)
			return false;
	}
	if (hs_unlikely(!hs_known_pcs_hold(pcs)))
		return false;
	/* The rest may be unreadable: the walk goes no further than has been read. */
	if (hs_likely(hs_thread_has_read(thread, sp, HS_ROW_WORD)))
		return true;
	if (!is_large(thread, sp))
		return false;
	hs_capture_look(thread, sp, thread->sample.stack.bytes);
	return hs_thread_has_read(thread, sp, HS_ROW_WORD);
}

/* Frames that the first walk of a sample gets room for. */
static uint32_t room_of(const struct hs_thread_state *thread)
{
	uint32_t room = thread->walk_room != 0 ? thread->walk_room : WALK_FIRST_ROOM;

	return room < hs_recorder.depth_frames ? room : hs_recorder.depth_frames;
}

static void set_room(struct hs_thread_state *thread, uint32_t wanted)
{
	uint32_t most = hs_recorder.depth_frames;

	thread->walk_room = (uint16_t)(wanted < most ? wanted : most);
}

/* A walk of a small stack was in vain: it is copied, and so are those of the next samples. */
static HS_RARE void note_failure(struct hs_thread_state *thread, uint32_t result)
{
	if (is_long(result)) {
		set_room(thread, room_of(thread) * 2);
	} else {
		thread->walk_fails += thread->walk_fails < WALK_MOST_FAILS;
		thread->walk_rest = (uint8_t)(1u << thread->walk_fails);
	}
}

/* Decides, by the frames of a walk, with how much room the thread walks next. */
static __attribute__((noinline)) void note_walk(struct hs_thread_state *thread, uint32_t frames)
{
	uint32_t room = room_of(thread), wanted = frames + WALK_SPARE_ROOM;

	thread->walk_fails = 0;
	/* Shrinks slowly: stacks of different depths alternate. */
	if (wanted < room)
		wanted = room - (room - wanted + 7) / 8;
	set_room(thread, wanted);
}

/* Reserves a record, and walks into it.  NULL: the ring has no room. */
static inline __attribute__((always_inline)) struct hs_record *
walk_into_record(struct hs_thread_state *thread, struct hs_walk *walk, const struct hs_regs *regs,
		 uint32_t *result)
{
	size_t bytes = hs_likely(walk->rest_bytes == 0)
			       ? hs_record_walked_bytes(walk->room)
			       : sizeof(struct hs_record) + walk->rest_bytes;
	struct hs_trail *trail;
	struct hs_record *record =
		hs_ring_reserve(hs_recorder.ring, bytes, HS_RING_ORDINARY, hs_reentry_tid(thread),
				0, &thread->reservation);

	if (record == NULL)
		return NULL;
	if (thread->sample.is_dense)
		hs_ring_fetch(hs_recorder.ring, bytes);
	walk->end = thread->read_high < thread->stack_high ? thread->read_high : thread->stack_high;
	trail = hs_trail_take(walk->pcs->trails,
			      atomic_load_explicit(&walk->pcs->oldest, memory_order_relaxed));
	if (hs_likely(trail != NULL)) {
		*result = hs_walk(walk, trail, regs, hs_record_frames(record));
		hs_trail_give_back(trail);
	} else {
		*result = stop_at(walk, regs->pc, regs->sp, hs_arch_frame_pointer(regs),
				  HS_WALK_STOPPED);
	}
	record->walked = frames_of(*result);
	record->stack_bytes = 0;
	record->flags = is_whole(*result) ? HS_RECORD_WALKED : 0;
	return record;
}

/*
 * A stack that is larger than a copy has been walked in part.  The record has no room for the rest,
 * so it is walked again, into one that has: for the same frames, or, if that walk may come further,
 * for all that are wanted, and for as much of the stack as a copy would have.
 * False: another thread has protected some of the stack meanwhile.
 */
static HS_RARE bool plan_rest(const struct hs_thread_state *thread, struct hs_walk *walk,
			      uintptr_t sp, uint32_t result)
{
	size_t left = thread->stack_high - walk->sp, limit = hs_recorder.stack_limit_bytes;
	bool may_go_on = is_long(result) || thread->read_high > walk->end;

	walk->room = may_go_on ? hs_recorder.depth_frames : frames_of(result);
	walk->rest_bytes = walk->room * (uint32_t)sizeof(struct hs_frame) +
			   (uint32_t)(left < limit ? left : limit);
	return hs_thread_has_read(thread, sp, HS_ROW_WORD);
}

/* Copies the stack from where the walk has stopped, as far as there is room.  Returns how much. */
static HS_RARE size_t copy_rest(struct hs_thread_state *thread, const struct hs_walk *walk,
				const struct hs_regs *first, const struct hs_record *record)
{
	size_t bytes = walk->rest_bytes - record->walked * sizeof(struct hs_frame);
	size_t left = thread->stack_high - walk->sp, limit = hs_recorder.stack_limit_bytes;
	struct hs_regs *regs = hs_record_unwalked(record);

	bytes = bytes < left ? bytes : left;
	bytes = bytes < limit ? bytes : limit;
	*regs = record->walked == 0 ? *first : (struct hs_regs){.pc = walk->pc, .sp = walk->sp};
	*hs_arch_register(regs, HS_ARCH_FP) = walk->fp;
	return hs_capture_copy_known(thread, walk->sp, bytes, regs + 1);
}

struct hs_record *hs_walk_record(struct hs_thread_state *thread, const struct hs_regs *regs)
{
	struct hs_walk walk = {
		.pcs = atomic_load_explicit(&hs_recorder.known_pcs, memory_order_relaxed),
		.room = room_of(thread),
	};
	struct hs_record *record;
	uint32_t result;

	if (!may_walk(thread, walk.pcs, regs->sp))
		return NULL;
	for (;;) {
		record = walk_into_record(thread, &walk, regs, &result);
		if (record == NULL)
			return NULL;
		if (hs_likely(is_whole(result)) || is_deep(&walk, result) || walk.rest_bytes > 0)
			break;
		hs_reentry_abandon(thread);
		if (!is_large(thread, regs->sp)) {
			note_failure(thread, result);
			return NULL;
		}
		/* Perhaps it has stopped where it was not known that more can be read. */
		hs_capture_read_on(thread);
		if (!plan_rest(thread, &walk, regs->sp, result))
			return NULL;
	}
	note_walk(thread, frames_of(result));
	if (is_deep(&walk, result)) {
		record->flags = HS_RECORD_WALKED | HS_RECORD_DEPTH_CUT;
	} else if (!is_whole(result)) {
		record->stack_bytes = (uint32_t)copy_rest(thread, &walk, regs, record);
		if (walk.sp + record->stack_bytes < thread->stack_high)
			record->flags |= HS_RECORD_STACK_CUT;
	}
	return record;
}
