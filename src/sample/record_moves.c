/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks that a realloc may move or free.  See recorder.h. */
#include "sample/heap.h"
#include "sample/live_set.h"
#include "sample/record.h"
#include "sample/recorder.h"
#include "sample/reentry.h"

uint32_t hs_record_move_begin(const void *address)
{
	return hs_live_set_begin_move(address);
}

/*
 * Delivers a number that stands for no event.  If there is no room, or this is a handler that has
 * interrupted the slow path, it stays a gap, which the producer notices.
 */
static void record_tombstone(uint64_t number)
{
	struct hs_thread_state *thread = &hs_thread;
	struct hs_record *record;
	struct hs_guard guard;
	uint32_t ticket;

	/* Guarded, so that a reservation is found that a handler has jumped out of. */
	if (!hs_reentry_enter(thread, (uintptr_t)__builtin_frame_address(0), &guard))
		return;
	record = hs_ring_reserve(hs_recorder.ring, sizeof *record, HS_RING_KEPT,
				 hs_reentry_tid(thread), 0, &thread->reservation);
	if (record != NULL) {
		ticket = hs_ring_ticket(thread->reservation);
		hs_ring_note_sequence(hs_recorder.ring, ticket, number);
		*record = (struct hs_record){.kind = HS_RECORD_TOMBSTONE};
		hs_ring_commit(hs_recorder.ring, ticket);
		atomic_signal_fence(memory_order_seq_cst);
		thread->reservation = 0;
		hs_ring_tell_reader(hs_recorder.ring);
	}
	hs_reentry_leave(thread, thread->guarded_countdown);
}

void hs_record_move_end(uint32_t token, bool moved)
{
	if (token == HS_SLOT_NONE)
		return;
	if (moved) {
		hs_live_set_end_move(token);
		hs_heap_count_frees(HS_HEAP_MALLOC, 1);
	} else {
		record_tombstone(hs_live_set_cancel_move(token));
	}
}
