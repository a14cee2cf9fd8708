/* SPDX-License-Identifier: BSD-2-Clause */
/* How a sample waits for room in the ring, if HEAPSAMPLE_BLOCK wants that.  See recorder.h. */
#include "sample/recorder.h"

#include "base/stats.h"
#include "base/sys.h"
#include "sample/reentry.h"

bool hs_record_may_wait(uintptr_t sp)
{
	const struct hs_thread_state *thread = &hs_thread;

	if (thread->no_wait || hs_sys_is_wake_refused() || hs_reentry_may_be_handler(thread, sp))
		return false;
	/* A vfork child shares our memory but must not hold up its parent. */
	return hs_sys_getpid() ==
		       atomic_load_explicit(&hs_recorder.process_id, memory_order_relaxed) &&
	       !hs_sys_is_real_time();
}

/* Whether this sample may wait for room; sets until when. */
static bool begin_wait(struct hs_thread_state *thread, uintptr_t sp)
{
	uint64_t now_ns = hs_sys_monotonic_ns();

	if (now_ns < thread->block_after_ns || !hs_record_may_wait(sp))
		return false;
	thread->block_end_ns = now_ns + hs_recorder.block_ns;
	hs_stats_add(blocked, 1);
	return true;
}

/* For a millisecond or so.  False: the time is up. */
static bool wait_slice(const struct hs_thread_state *thread, uint32_t space)
{
	uint64_t since_ns = hs_sys_monotonic_ns();
	bool may_go_on = hs_ring_wait_slice(hs_recorder.ring, space, thread->block_end_ns);

	hs_stats_add(blocked_ns, hs_sys_monotonic_ns() - since_ns);
	return may_go_on;
}

bool hs_record_wait_for_room(struct hs_thread_state *thread, uintptr_t sp, uint32_t space)
{
	if (!hs_record_has_reader() || (thread->block_end_ns == 0 && !begin_wait(thread, sp)) ||
	    (hs_recorder.died != NULL && hs_recorder.died()))
		return false;
	if (wait_slice(thread, space))
		return true;
	thread->block_after_ns = thread->block_end_ns + HS_BLOCK_PAUSE_NS;
	hs_stats_add(block_expired, 1);
	return false;
}
