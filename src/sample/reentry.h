/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guard of the slow path: while a thread is in it, allocations of its signal handlers pass
 * unsampled.  A handler that leaves by siglongjmp leaves the guard and maybe a reservation
 * behind; the next entry that is further up the same stack, or finds the guard's memory in use by
 * others, closes both.
 *
 * Called on: the program's threads, signal handlers too.  Allocates, blocks: never.  Errno:
 * not touched.
 */
#ifndef HS_SAMPLE_REENTRY_H
#define HS_SAMPLE_REENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hot.h"
#include "base/visibility.h"
#include "sample/thread_state.h"

/* In the frame of the slow path: as long as it has not returned, the mark is there. */
struct hs_guard {
	volatile uint64_t mark;
};

/* What the mark of a guard at this address is. */
static inline uint64_t hs_guard_mark(uintptr_t guard)
{
	return guard ^ 0x9d3a51c7e60f284bu;
}

/*
 * Whether the program has had an alternate stack that is disarmed while a handler is on it: then
 * the kernel does not say that one is.  For good.
 */
extern HS_HIDDEN _Atomic bool hs_reentry_stacks_disarm;

/*
 * Whether the caller, whose stack pointer is sp, may be in a handler with a stack of its own: it is
 * on no stack that is known, and the kernel does not deny it.  On a coroutine's stack, or that of a
 * thread which was not started by the interposed pthread_create(), it does.
 */
bool hs_reentry_may_be_handler(const struct hs_thread_state *thread, uintptr_t sp);

/*
 * Enter the slow path: from here on this thread's allocations come back at once.  False if
 * this is one of them.  caller_sp: of the call that the slow path is for.  guard: on the caller's
 * stack, until hs_reentry_leave().
 */
HS_SAMPLE_CODE bool hs_reentry_enter(struct hs_thread_state *thread, uintptr_t caller_sp,
				     struct hs_guard *guard);

/* The end of it.  countdown: what bytes_until_sample is to be. */
static inline void hs_reentry_leave(struct hs_thread_state *thread, uint64_t countdown)
{
	/* The fences order the stores for this thread's own signal handlers. */
	atomic_signal_fence(memory_order_seq_cst);
	thread->bytes_until_sample = countdown;
	atomic_signal_fence(memory_order_seq_cst);
	thread->guard_sp = 0;
}

/* Give up the open reservation, of which nothing is to become.  Wakes nobody. */
void hs_reentry_abandon(struct hs_thread_state *thread);

/* Close what a slow path left open that will never return: a handler jumped out of it. */
void hs_reentry_close_abandoned(struct hs_thread_state *thread);

/* The thread's id, in a vfork child that of the child. */
uint32_t hs_reentry_find_tid(struct hs_thread_state *thread);

static inline uint32_t hs_reentry_tid(struct hs_thread_state *thread)
{
	return thread->tid != 0 ? thread->tid : hs_reentry_find_tid(thread);
}

#endif
