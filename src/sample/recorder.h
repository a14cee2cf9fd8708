/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slow path on the program's threads: what happens to an allocation that the fast path did not
 * let pass, and to the free of an address that may be a sample.
 *
 * A sampled allocation takes a slot of the live set, copies its stack into the ring, makes the slot
 * LIVE, takes a sequence number, and commits; in that order, so that every number is in a record
 * and every free finds its slot.  If there is no room for the stack, the sample is recorded without
 * it; if there is none at all, its weight is added to the lost totals.
 *
 * Called on: the program's threads, around an allocator call, never inside it.
 * Allocates: never.  Blocks: never, unless hs_recorder.block_ns allows it.
 * Errno: not touched (system calls are raw).
 * Signals: safe.  Allocations of a handler that interrupts the slow path are not sampled.  A
 * handler that leaves it by siglongjmp() leaves an open reservation and a guard; the next entry
 * from further up the stack closes both.
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

/* After a wait for the worker that was in vain, a thread does not wait again for so long. */
#define HS_BLOCK_PAUSE_NS 1000000000u

struct hs_known_pcs;

/*
 * Where samples go.  Set before sampling starts and constant afterwards, except reader_runs;
 * known_pcs, which the first map hint sets to NULL; and block_ns, 0 when the process ends.
 */
struct hs_recorder {
	struct hs_ring *ring;
	size_t stack_limit_bytes; /* 0 with stream */
	uint32_t depth_frames; /* stacks with more frames are not walked in place */
	const struct hs_known_pcs *_Atomic known_pcs; /* for walks in place; NULL: no walks */
	_Atomic uint64_t block_ns;   /* longest wait for room per sample; 0: none, lose stacks */
	bool stream;                 /* no stacks; instead CLOCK_MONOTONIC_COARSE's time */
	_Atomic bool reader_runs;    /* there is a worker that will make room */
	bool (*died)(void);          /* whether the worker has died; NULL: not known */
	_Atomic int64_t process_id;  /* the process that the worker is in */
};
extern HS_HIDDEN struct hs_recorder hs_recorder;

enum hs_recorded {
	HS_RECORDED_NOTHING, /* sampling is stopped */
	HS_RECORDED_LOSS,    /* counted, for there was no room */
	HS_RECORDED_SAMPLE,  /* in the ring */
};

/*
 * Records thread->sample, a chosen allocation of any heap; fills in its epoch and its stack plan.
 * A sample that the heap still has under the same id counts as freed first.  Called inside the slow
 * path: between hs_reentry_enter() and hs_reentry_leave().
 */
enum hs_recorded hs_record_sample(struct hs_thread_state *thread, const struct hs_regs *regs);

/*
 * An allocation is about to be made that may be a sample: prefetches cache lines that another
 * processor may have, those that every sample writes to and those of the ring that its reader
 * writes to.
 */
static inline void hs_record_fetch(void)
{
	/* Else it will hardly be written. */
	if (hs_likely(!hs_thread.met_full_ring))
		hs_arch_prefetch_write(&hs_sequence);
	hs_arch_prefetch_write(&hs_heaps[HS_HEAP_MALLOC].samples);
	/* If samples are dense, few of them add to this. */
	if (atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed) > HS_DENSE_INTERVAL)
		hs_arch_prefetch_write(&hs_stats.allocated_bytes);
	if (hs_recorder.ring != NULL)
		hs_ring_fetch_ends(hs_recorder.ring);
}

/*
 * An allocation has returned address (NULL: it failed, and is only counted down).  Decides whether
 * it is sampled, and records it.  regs: of the call site.
 * Returns true if a sample was put into the ring.
 */
HS_SAMPLE_CODE bool hs_record_allocation(const void *address, size_t size,
					 const struct hs_regs *regs);

static inline bool hs_record_has_reader(void)
{
	return atomic_load_explicit(&hs_recorder.reader_runs, memory_order_acquire);
}

/*
 * Whether this thread may wait for the worker: not in a signal handler, a hook that must not wait,
 * or a vfork child, nor under a real-time policy.  sp: of the caller.  A few system calls.
 */
bool hs_record_may_wait(uintptr_t sp);

/*
 * A sample has found no room since `space` was read (hs_ring_space_counter()): waits a while.
 * Returns whether to try again; not if the time is over.  Inside the slow path.
 */
HS_RARE bool hs_record_wait_for_room(struct hs_thread_state *thread, uintptr_t sp, uint32_t space);

/*
 * Counts thread->sample as lost, for want of room in the ring or else of a slot.  Inside the slow
 * path.
 */
HS_RARE void hs_record_lose(struct hs_thread_state *thread, bool is_ring_full);

/*
 * The thread's last sample was lost to a full ring.  If the ring still is full and nobody waits for
 * room, refuses thread->sample: it is to be counted, and nothing else.  It would only take a slot
 * and give it back, and fetch for writing what the reader reads next; and many threads that do so
 * at once wait for each other's cache lines.
 */
HS_RARE bool hs_record_refuse(struct hs_thread_state *thread);

/* The program is about to free address, or a heap's id.  Must come before the real free. */
void hs_record_free(const void *address);
HS_SAMPLE_CODE void hs_record_free_id(uint32_t heap, uint64_t id);

/*
 * realloc: before the call and after it.  The token says which slot moves.
 * moved: the old block is gone (freed, moved or grown in place).
 */
uint32_t hs_record_move_begin(const void *address);
void hs_record_move_end(uint32_t token, bool moved);

/* Adds what this thread has allocated to the exact total: the thread ends, or a dump is due. */
void hs_record_settle(void);

/*
 * The process ends on this thread, perhaps by an _exit() in a handler that has interrupted the slow
 * path: closes what that has left open, and settles.
 */
void hs_record_stop_thread(void);

/*
 * In a forked child, on the thread that forked: notes its new tid, and begins other random numbers
 * than its parent's.  False if the fork happened in a handler that has interrupted the slow path,
 * which will go on with a reservation under the old tid: then nobody must read the ring.
 */
bool hs_record_after_fork(void);

#endif
