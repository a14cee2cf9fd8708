/* SPDX-License-Identifier: BSD-2-Clause */
/* The guard of the slow path.  See reentry.h. */
#include "sample/reentry.h"

#include <signal.h>
#include <sys/syscall.h>

#include "base/stats.h"
#include "base/sys.h"
#include "sample/recorder.h"

/* Two stack pointers this near are on the same coroutine's stack. */
#define NEAR_BYTES ((uintptr_t)256 << 10)

uint32_t hs_reentry_find_tid(struct hs_thread_state *thread)
{
	uint32_t tid = (uint32_t)hs_sys_gettid();

	/* A vfork child runs on this thread's memory, with a tid of its own. */
	if (hs_sys_getpid() == atomic_load_explicit(&hs_recorder.process_id, memory_order_relaxed))
		thread->tid = tid;
	return tid;
}

void hs_reentry_abandon(struct hs_thread_state *thread)
{
	hs_ring_abandon(hs_recorder.ring, hs_ring_ticket(thread->reservation),
			hs_reentry_tid(thread));
	thread->reservation = 0;
}

/*
 * Close what a slow path left open that will never return: a handler jumped out of it.
 */
void hs_reentry_close_abandoned(struct hs_thread_state *thread)
{
	if (thread->reservation != 0 &&
	    hs_ring_abandon(hs_recorder.ring, hs_ring_ticket(thread->reservation),
			    hs_reentry_tid(thread))) {
		hs_stats_add(abandoned, 1);
		hs_ring_tell_reader(hs_recorder.ring);
	}
	thread->reservation = 0;
}

static bool on_alternate_stack(void)
{
	stack_t now = {.ss_flags = 0};

	return hs_syscall(SYS_sigaltstack, 0, (long)&now, 0, 0, 0, 0) == 0 &&
	       (now.ss_flags & SS_ONSTACK) != 0;
}

/*
 * Whether the slow path that set the guard will never return: a call from further up the
 * same stack shows that a handler has jumped out of it.  On the thread's own stack that is
 * certain; on another (a coroutine's) calls near each other are on the same one, but for
 * a handler on the alternate stack.
 */
static bool is_gone(const struct hs_thread_state *thread, uintptr_t guard, uintptr_t caller_sp)
{
	bool guard_known = hs_thread_on_known_stack(thread, guard);

	if (caller_sp <= guard || guard_known != hs_thread_on_known_stack(thread, caller_sp))
		return false;
	return guard_known || (caller_sp - guard < NEAR_BYTES && !on_alternate_stack());
}

/*
 * Enter the slow path: from here on this thread's allocations (of signal handlers) come
 * back at once.  False if this is one of them.
 */
bool hs_reentry_enter(struct hs_thread_state *thread, uintptr_t caller_sp)
{
	uintptr_t guard = thread->guard_sp;

	if (guard != 0) {
		if (!is_gone(thread, guard, caller_sp))
			return false;
		hs_reentry_close_abandoned(thread);
	}
	/* The fences order the stores for this thread's own signal handlers. */
	atomic_signal_fence(memory_order_seq_cst);
	thread->guard_sp = hs_arch_stack_pointer();
	atomic_signal_fence(memory_order_seq_cst);
	/* Under the guard, for a handler may have changed it.  0: saved by the one that is gone. */
	if (thread->bytes_until_sample != 0)
		thread->guarded_countdown = thread->bytes_until_sample;
	atomic_signal_fence(memory_order_seq_cst);
	thread->bytes_until_sample = 0;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

void hs_reentry_leave(struct hs_thread_state *thread, uint64_t countdown)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->bytes_until_sample = countdown;
	atomic_signal_fence(memory_order_seq_cst);
	thread->guard_sp = 0;
}
