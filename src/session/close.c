/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dlclose() waits until samples with the library in their stacks are unwound.
 *
 * The symbols and unwind tables of a library are looked up by address, some time after the sample
 * was taken.  So a thread that closes a library first waits until the worker has read all samples
 * so far, and waits again after each sample of its own until dlclose() returns: those of
 * destructors.  Samples that other threads take meanwhile are resolved by maps that are read after
 * they were taken (unwind/map_watch.h).
 *
 * Runs on the program's threads.
 */
#include <errno.h>

#include "base/libraries.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/recorder.h"
#include "sample/ring.h"
#include "sample/thread_state.h"
#include "session/session_state.h"

/* The longest that one dlclose() waits, unless a sample may wait longer for ring space. */
#define CLOSE_LIMIT_NS 100000000u

/* Until when to wait for a worker that has been created but does not read yet. */
static uint64_t start_end_ns(uint64_t end_ns)
{
	/* No longer: it may be loading libunwind, for which this thread may hold the lock. */
	uint64_t limit_ns = hs_sys_monotonic_ns() + CLOSE_LIMIT_NS;

	return end_ns < limit_ns ? end_ns : limit_ns;
}

static bool wait_until_read(struct hs_ring *ring, uint32_t ticket, uint64_t end_ns)
{
	if (!hs_record_has_reader())
		end_ns = start_end_ns(end_ns);
	while (hs_ring_unread_before(ring, ticket) > 0) {
		uint32_t space = hs_ring_space_counter(ring);

		if (hs_ring_unread_before(ring, ticket) == 0)
			return true;
		if (!hs_ring_wait_slice(ring, space, end_ns)) {
			hs_stats_add(close_waits_expired, 1);
			hs_thread.block_after_ns = hs_sys_monotonic_ns() + HS_BLOCK_PAUSE_NS;
			hs_thread.close_end_ns = 0;
			return false;
		}
	}
	return true;
}

static bool has_worker(const struct hs_session *session)
{
	return hs_record_has_reader() ||
	       atomic_load_explicit(&session->threads, memory_order_relaxed) == HS_THREADS_RUNNING;
}

static bool may_wait(uintptr_t sp)
{
	/*
	 * guard_sp: this handler has interrupted the slow path, which commits its record only after
	 * the handler returns.
	 */
	return hs_thread.close_end_ns != 0 && hs_thread.guard_sp == 0 && has_worker(&hs_session) &&
	       hs_record_may_wait(sp);
}

void hs_close_wait(void)
{
	struct hs_session *session = &hs_session;
	uint32_t ticket = hs_ring_head_ticket(&session->ring);
	int saved_errno = errno;

	if (hs_ring_unread_before(&session->ring, ticket) > 0 &&
	    (!may_wait((uintptr_t)__builtin_frame_address(0)) ||
	     !wait_until_read(&session->ring, ticket, hs_thread.close_end_ns)))
		hs_close_goes_on();
	errno = saved_errno;
}

void hs_session_library_opens(void)
{
	atomic_fetch_add_explicit(&hs_library_opens, 1, memory_order_release);
}

/* Until when a dlclose() that begins now may wait; 0: it may not. */
static uint64_t wait_end_ns(const struct hs_thread_state *thread)
{
	uint64_t now_ns = hs_sys_monotonic_ns(), limit_ns = hs_recorder.block_ns;

	if (now_ns < thread->block_after_ns)
		return 0;
	return now_ns + (limit_ns > CLOSE_LIMIT_NS ? limit_ns : CLOSE_LIMIT_NS);
}

bool hs_session_close_begins(void)
{
	struct hs_thread_state *thread = &hs_thread;

	if (!hs_session_is_active() || hs_on_profiler_thread() || thread->closing == UINT8_MAX ||
	    !hs_fork_is_own_process())
		return false;
	if (thread->closing++ == 0)
		thread->close_end_ns = wait_end_ns(thread);
	hs_close_wait();
	hs_close_begins();
	return true;
}

void hs_session_close_ends(bool unloaded)
{
	hs_close_ends(unloaded);
	hs_thread.closing--;
}
