/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sample path on the program's threads: what happens to an allocation that the fast
 * path did not let pass, and to the free of an address that may be a sample.
 *
 * A sampled allocation takes a slot of the live set, copies its stack into the ring,
 * becomes LIVE, takes a number, and commits; in that order, so that every number is
 * in a record and every free finds its slot.  Where there is no room for the stack the
 * sample is recorded without it; where there is none at all its weight is added to the
 * lost totals.
 *
 * Called on: the program's threads, around an allocator call, never inside it.
 * Allocates: never.  Blocks: never, but where hs_recorder.block_ns allows it.
 * Errno: not touched (system calls are raw).
 * Signals: safe.  A handler that interrupts the slow path and allocates is passed through
 * unsampled; one that leaves it by siglongjmp leaves an open reservation and a guard, and
 * the next entry from further up the stack closes both.
 */
#ifndef HS_SAMPLE_RECORDER_H
#define HS_SAMPLE_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "base/hot.h"
#include "base/stats.h"
#include "base/visibility.h"
#include "sample/heap.h"
#include "sample/ring.h"
#include "sample/sequence.h"
#include "sample/thread_state.h"

/* After a wait for the worker in vain a thread does not wait again for so long. */
#define HS_BLOCK_PAUSE_NS 1000000000u

struct hs_known_pcs;

/*
 * Where samples go.  Written before sampling starts; then constant but for reader_runs, and for
 * known_pcs, which the first map hint sets to NULL.
 */
struct hs_recorder {
	struct hs_ring *ring;
	size_t stack_limit_bytes; /* 0 with stream */
	uint32_t depth_frames; /* a longer stack is the worker's */
	const struct hs_known_pcs *_Atomic known_pcs; /* to walk stacks in place by; NULL: never */
	uint64_t block_ns;           /* longest wait for room per sample; 0: none, lose stacks */
	bool stream;                 /* no stacks; instead CLOCK_MONOTONIC_COARSE's time */
	_Atomic bool reader_runs;    /* there is a worker that will make room */
	bool (*died)(void);          /* whether there is none any more; NULL: not known */
	_Atomic int64_t process_id;  /* of the process whose worker that is */
};
extern HS_HIDDEN struct hs_recorder hs_recorder;

enum hs_recorded {
	HS_RECORDED_NOTHING, /* sampling is stopped */
	HS_RECORDED_LOSS,    /* counted, for there was no room */
	HS_RECORDED_SAMPLE,  /* in the ring */
};

/*
 * Record thread->sample, a chosen allocation of any heap; its epoch and the plan for its stack are
 * filled in.  What the heap had in use under that id counts as freed first.  In the slow path:
 * between hs_reentry_enter() and _leave() of sample/reentry.h.
 */
HS_SAMPLE_CODE enum hs_recorded hs_record_sample(struct hs_thread_state *thread,
						 const struct hs_regs *regs);

/*
 * An allocation is about to be made that may be a sample: have the cache lines fetched meanwhile
 * that each sample writes to, whoever takes it, and another processor may have; and those of the
 * ring that its reader writes to.
 */
static inline void hs_record_fetch(void)
{
	hs_arch_prefetch_write(&hs_sequence);
	hs_arch_prefetch_write(&hs_heaps[HS_HEAP_MALLOC].samples);
	/* Where samples are dense, few of them settle. */
	if (atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed) > HS_DENSE_INTERVAL)
		hs_arch_prefetch_write(&hs_stats.allocated_bytes);
	if (hs_recorder.ring != NULL)
		hs_ring_fetch_ends(hs_recorder.ring);
}

/*
 * An allocation returned address (NULL: it failed, and is but counted down).  Decides
 * whether it is sampled and records it.  regs: the call site.
 * Returns true if a sample was put into the ring.
 */
HS_SAMPLE_CODE bool hs_record_allocation(const void *address, size_t size,
					 const struct hs_regs *regs);

static inline bool hs_record_has_reader(void)
{
	return atomic_load_explicit(&hs_recorder.reader_runs, memory_order_acquire);
}

/*
 * Whether this thread may wait for the worker, if there is one: it is in no signal handler,
 * hook, vfork child or real-time policy.  sp: of the caller.  A few system calls.
 */
bool hs_record_may_wait(uintptr_t sp);

/*
 * A sample has found no room since space was read (hs_ring_space_counter()): wait a while.  Whether
 * to try again with its stack; the time may be over.  In the slow path, on the way of a sample.
 */
HS_RARE bool hs_record_wait_for_room(struct hs_thread_state *thread, uintptr_t sp, uint32_t space);

/* The program is about to free address, or a heap's id.  Must come before the real free. */
HS_SAMPLE_CODE void hs_record_free(const void *address);
HS_SAMPLE_CODE void hs_record_free_id(uint32_t heap, uint64_t id);

/*
 * realloc: before the call and after it.  The token says which slot moves.
 * moved: the old block is gone (freed, moved or grown in place).
 */
uint32_t hs_record_move_begin(const void *address);
void hs_record_move_end(uint32_t token, bool moved);

/* Add this thread's countdown to the exact total: the thread ends, or a dump is due. */
void hs_record_settle(void);

/*
 * The process ends on this thread, which will not come back to a slow path that it may be
 * in (a handler calls _exit): close what that left open, and settle.
 */
void hs_record_stop_thread(void);

/*
 * In a forked child, on the thread that forked: it has another tid.  False if the fork
 * happened in a handler that had interrupted the slow path: that goes on with a
 * reservation in its old thread's name, and nobody must read the ring.
 */
bool hs_record_after_fork(void);

#endif
