/* SPDX-License-Identifier: BSD-2-Clause */
/* The guard of the slow path.  See reentry.h. */
#include "sample/reentry.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "base/likely.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/recorder.h"

/* Two stack pointers this near are on the same coroutine's stack. */
#define NEAR_BYTES ((uintptr_t)256 << 10)

_Atomic bool hs_reentry_stacks_disarm;

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

/* Whether a guard has been overwritten; false if that cannot be told. */
static bool has_lost_mark(const struct hs_thread_state *thread, uintptr_t guard)
{
	uint64_t mark = 0;
	ssize_t got = hs_sys_process_vm_read(hs_sys_gettid(), guard, &mark, sizeof mark);

	if (got < 0 && got != -EFAULT) {
		if (!hs_thread_on_known_stack(thread, guard))
			return false;
		hs_arch_copy(&mark, (const void *)guard, sizeof mark);
	}
	return mark != hs_guard_mark(guard);
}

bool hs_reentry_may_be_on_alternate_stack(void)
{
	stack_t now = {.ss_flags = 0};

	if (hs_syscall(SYS_sigaltstack, 0, (long)&now, 0, 0, 0, 0) != 0)
		return true;
	return (now.ss_flags & SS_ONSTACK) != 0 ||
	       ((now.ss_flags & SS_DISABLE) != 0 &&
		atomic_load_explicit(&hs_reentry_stacks_disarm, memory_order_relaxed));
}

bool hs_reentry_may_be_handler(const struct hs_thread_state *thread, uintptr_t sp)
{
	return !hs_thread_on_known_stack(thread, sp) && hs_reentry_may_be_on_alternate_stack();
}

/*
 * Also in the page below what is known, where the guard is after an overflow: the lowest bytes are
 * not known, see hs_capture_init_thread().
 */
static bool is_on_thread_stack(const struct hs_thread_state *thread, uintptr_t sp)
{
	uintptr_t low = thread->stack_low - HS_PAGE_BYTES;

	return thread->stack_high != 0 && sp - low < thread->stack_high - low;
}

static bool is_same_stack(const struct hs_thread_state *thread, uintptr_t guard, uintptr_t sp)
{
	bool guard_known = is_on_thread_stack(thread, guard);

	return guard_known == is_on_thread_stack(thread, sp) &&
	       (guard_known || sp - guard < NEAR_BYTES);
}

/*
 * Whether the slow path that set the guard will never return, because a handler has jumped out of
 * it: its guard lies between the caller's frame and this one, or has been overwritten, or the
 * caller is further up the same stack.  The last is no proof on a handler's own stack, which may
 * lie anywhere, also within the thread's stack above what it has interrupted.
 */
static HS_RARE bool is_gone(const struct hs_thread_state *thread, uintptr_t guard,
			    uintptr_t caller_sp)
{
	if (guard >= caller_sp)
		return false;
	return guard >= hs_arch_stack_pointer() ||
	       (is_same_stack(thread, guard, caller_sp) &&
		!hs_reentry_may_be_on_alternate_stack()) ||
	       has_lost_mark(thread, guard);
}

bool hs_reentry_enter(struct hs_thread_state *thread, uintptr_t caller_sp, struct hs_guard *guard)
{
	if (hs_unlikely(thread->guard_sp != 0)) {
		if (!is_gone(thread, thread->guard_sp, caller_sp))
			return false;
		hs_reentry_close_abandoned(thread);
	}
	guard->mark = hs_guard_mark((uintptr_t)guard);
	/* The fences order the stores for this thread's own signal handlers. */
	atomic_signal_fence(memory_order_seq_cst);
	thread->guard_sp = (uintptr_t)guard;
	atomic_signal_fence(memory_order_seq_cst);
	/* Read under the guard: a handler may have changed it.  0: the abandoned path saved it. */
	if (hs_likely(thread->bytes_until_sample != 0))
		thread->guarded_countdown = thread->bytes_until_sample;
	atomic_signal_fence(memory_order_seq_cst);
	thread->bytes_until_sample = 0;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}
