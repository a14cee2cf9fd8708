/* SPDX-License-Identifier: BSD-2-Clause */
/* Epochs of sampling.  See epoch.h. */
#include "session/epoch.h"

#include <errno.h>

#include "base/stats.h"
#include "base/sys.h"
#include "sample/heap.h"
#include "sample/sampler.h"
#include "session/memory_parts.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/threads.h"
#include "session/unlocked.h"

/* The last epoch; 0: there was none. */
static uint32_t last;

static bool was_always_on; /* and never reset */

/* The books are told first: they must know the epoch of its first sample. */
static void open_epoch(void)
{
	if (++last == 0)
		last = 1;
	hs_producer_set_epoch(hs_session.producer, last);
	atomic_store(&hs_epoch, last);
	hs_heap_follow();
}

static bool is_on(void)
{
	return atomic_load_explicit(&hs_epoch, memory_order_relaxed) != 0;
}

bool hs_epoch_was_on(void)
{
	return last != 0;
}

bool hs_epoch_was_always_on(void)
{
	return was_always_on;
}

void hs_epoch_init(bool active)
{
	atomic_store(&hs_epoch, 0);
	hs_producer_set_epoch(hs_session.producer, 0);
	was_always_on = active;
	if (active)
		open_epoch();
}

int hs_epoch_start(void)
{
	/* For good, in which the epoch may go on. */
	if (hs_sampler_has_ended())
		return -ECANCELED;
	if (is_on()) {
		hs_stats_add(starts_refused, 1);
		return -EALREADY;
	}
	open_epoch();
	hs_unlocked_log(HS_LOG_INFO, "sampling of %s is on", hs_session.program);
	return 0;
}

int hs_epoch_stop(void)
{
	if (!is_on())
		return -EALREADY;
	atomic_store(&hs_epoch, 0);
	hs_heap_follow();
	hs_drain_now();
	was_always_on = false;
	/* Samples that arrive later are dropped. */
	hs_producer_set_epoch(hs_session.producer, 0);
	hs_unlocked_log(HS_LOG_INFO, "sampling of %s is off", hs_session.program);
	return 0;
}

int hs_epoch_reset(void)
{
	int error;

	/* Full books need room for the empty ones. */
	hs_memory_begin_writing();
	error = hs_producer_reset(hs_session.producer);
	hs_memory_end_writing();
	if (error != 0)
		return error;
	was_always_on = false;
	if (is_on())
		open_epoch();
	/* The slots of what was in use become free. */
	hs_threads_process();
	hs_session.start_ns = hs_sys_monotonic_ns();
	hs_dump_after_reset();
	hs_schedule_after_reset();
	hs_stats_add(resets, 1);
	return 0;
}
