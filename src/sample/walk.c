/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks the calling thread's own stack.  See walk.h. */
#include "sample/walk.h"

#include "sample/heap.h"
#include "sample/recorder.h"
#include "sample/reentry.h"

/* Frames of this library in one stack, at most. */
#define MOST_OWN_FRAMES 8u

/*
 * Stacks are walked in place at intervals up to this: there samples follow each other so
 * closely that the rows are in the processor's cache.  Where they are not, each frame waits for
 * memory, and the copy, which does not, is done sooner.
 */
#define WALK_MOST_INTERVAL ((uint64_t)16 << 10)

/* Frames that a walk first gets room for, and has in reserve. */
#define WALK_FIRST_ROOM 24u
#define WALK_SPARE_ROOM 8u

/* After that many walks in vain in a row there is no walk for 2 to that power of samples. */
#define WALK_MOST_FAILS 4

/* What is needed from frame to frame, in the place of the record's fields. */
struct walk {
	struct hs_regs frame;
	struct hs_pc known;
};
_Static_assert(sizeof(struct walk) <= offsetof(struct hs_record, stack), "the record has room");

/*
 * Only what is beyond doubt: signal handlers, code without unwind information, and rows that
 * do not say it all are left to the worker.
 */
uint32_t hs_walk(const struct hs_known_pcs *pcs, const struct hs_regs *regs, size_t stack_bytes,
		 struct hs_record *record, uint32_t room)
{
	const struct hs_stack_window window = {
		.start = regs->sp,
		.bytes = (const uint8_t *)(uintptr_t)regs->sp,
		.size = stack_bytes,
	};
	struct hs_frame *frames = (struct hs_frame *)(void *)record->stack;
	struct walk *walk = (struct walk *)(void *)record;
	uint32_t count = 0, most = room + MOST_OWN_FRAMES;

	walk->frame = *regs;
	while (most-- > 0) {
		uint64_t below = walk->frame.sp;

		if (!hs_known_pcs_find(pcs, walk->frame.pc, true, &walk->known) ||
		    walk->known.is_signal_return)
			return HS_WALK_UNKNOWN;
		if (!walk->known.is_own) {
			if (count == room)
				return HS_WALK_LONG;
			frames[count++] =
				(struct hs_frame){walk->frame.pc - 1, walk->known.mapping};
		}
		if (walk->known.row.kind == HS_ROW_END)
			return count;
		if (walk->known.row.kind <= HS_ROW_NO_INFO ||
		    !hs_row_apply(&walk->known.row, &window, &walk->frame) ||
		    walk->frame.sp <= below)
			return HS_WALK_UNKNOWN;
		if (walk->frame.pc == 0)
			return count;
	}
	return HS_WALK_UNKNOWN;
}

/* Not inlined: its frame is to be gone during the walk. */
static __attribute__((noinline)) bool may_walk(struct hs_thread_state *thread,
					       const struct hs_known_pcs *pcs, uintptr_t sp)
{
	const struct hs_sample *sample = &thread->sample;
	uint64_t interval =
		sample->is_weighed ? hs_heap_interval(sample->heap) : sample->interval_bytes;

	if (pcs == NULL || interval > WALK_MOST_INTERVAL)
		return false;
	if (thread->walk_rest > 0) {
		thread->walk_rest--;
		return false;
	}
	return hs_thread_on_known_stack(thread, sp) && hs_known_pcs_hold(pcs);
}

/* Learn from a walk: how much room the next one should have, and when it makes sense. */
static void note_walk(struct hs_thread_state *thread, uint32_t room, uint32_t count)
{
	uint32_t most = hs_recorder.depth_frames, wanted = count + WALK_SPARE_ROOM;

	if (count == HS_WALK_LONG && room < most) {
		wanted = room * 2;
	} else if (count == HS_WALK_LONG || count == HS_WALK_UNKNOWN) {
		thread->walk_fails += thread->walk_fails < WALK_MOST_FAILS;
		thread->walk_rest = (uint8_t)(1u << thread->walk_fails);
		wanted = room;
	} else {
		thread->walk_fails = 0;
		/* Down slowly: stacks of different depths take turns. */
		if (wanted < room)
			wanted = room - (room - wanted + 7) / 8;
	}
	thread->walk_room = (uint16_t)(wanted < most ? wanted : most);
}

struct hs_record *hs_walk_record(struct hs_thread_state *thread, const struct hs_regs *regs)
{
	const struct hs_known_pcs *pcs =
		atomic_load_explicit(&hs_recorder.known_pcs, memory_order_relaxed);
	uint32_t room = thread->walk_room != 0 ? thread->walk_room : WALK_FIRST_ROOM, count;
	size_t bytes = thread->stack_high - regs->sp;
	struct hs_record *record;

	if (!may_walk(thread, pcs, regs->sp))
		return NULL;
	if (room > hs_recorder.depth_frames)
		room = hs_recorder.depth_frames;
	record = hs_ring_reserve(hs_recorder.ring, sizeof *record + room * sizeof(struct hs_frame),
				 HS_RING_ORDINARY, hs_reentry_tid(thread), 0, &thread->reservation);
	if (record == NULL)
		return NULL;
	if (bytes > hs_recorder.stack_limit_bytes)
		bytes = hs_recorder.stack_limit_bytes;
	count = hs_walk(pcs, regs, bytes, record, room);
	note_walk(thread, room, count);
	if (count == HS_WALK_LONG || count == HS_WALK_UNKNOWN) {
		hs_reentry_abandon(thread);
		return NULL;
	}
	record->stack_bytes = count * (uint32_t)sizeof(struct hs_frame);
	return record;
}
