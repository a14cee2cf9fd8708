/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reentrancy guard of the slow path: while a thread is inside, its signal handlers' allocations
 * are not sampled.  A handler that leaves by siglongjmp() leaves the guard, and perhaps an open
 * reservation, behind.  The next entry closes both if it comes from further up the same stack, or
 * finds the guard overwritten.
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

/* Lies in the frame of the slow path: the mark is there until that returns. */
struct hs_guard {
	volatile uint64_t mark;
};

/* The mark of a guard at this address. */
static inline uint64_t hs_guard_mark(uintptr_t guard)
{
	return guard ^ 0x9d3a51c7e60f284bu;
}

/*
 * Whether the program has ever used SS_AUTODISARM: then sigaltstack() does not tell whether a
 * handler is on an alternate stack.
 */
extern HS_HIDDEN _Atomic bool hs_reentry_stacks_disarm;

/* Whether the caller may be in a handler that does not run on the stack that it interrupted. */
bool hs_reentry_may_be_on_alternate_stack(void);

/*
 * Whether the caller, whose stack pointer is sp, may be in a handler on a stack of its own: it is
 * on no known stack, and the kernel does not say that it is on no alternate one, as it does on a
 * coroutine's stack, or in a thread that the interposed pthread_create() has not started.
 */
bool hs_reentry_may_be_handler(const struct hs_thread_state *thread, uintptr_t sp);

/*
 * Enters the slow path.  False: this thread is inside already, and this is an allocation of a
 * signal handler.  caller_sp: of the program's call.  guard: on the caller's stack, until
 * hs_reentry_leave().
 */
HS_SAMPLE_CODE bool hs_reentry_enter(struct hs_thread_state *thread, uintptr_t caller_sp,
				     struct hs_guard *guard);

/* Leaves the slow path.  countdown: the new bytes_until_sample. */
static inline void hs_reentry_leave(struct hs_thread_state *thread, uint64_t countdown)
{
	/* The fences order the stores for this thread's own signal handlers. */
	atomic_signal_fence(memory_order_seq_cst);
	thread->bytes_until_sample = countdown;
	atomic_signal_fence(memory_order_seq_cst);
	thread->guard_sp = 0;
}

/* Abandons the thread's open reservation.  Does not wake the reader. */
void hs_reentry_abandon(struct hs_thread_state *thread);

/* Closes what a slow path has left open that will never return: a handler jumped out of it. */
void hs_reentry_close_abandoned(struct hs_thread_state *thread);

/* The thread's id; in a vfork child, the child's. */
uint32_t hs_reentry_find_tid(struct hs_thread_state *thread);

static inline uint32_t hs_reentry_tid(struct hs_thread_state *thread)
{
	return thread->tid != 0 ? thread->tid : hs_reentry_find_tid(thread);
}

#endif
