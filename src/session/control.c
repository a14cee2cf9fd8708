/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the program asks for: profiles, sampling on and off, empty books, labels.  See session.h.
 * Runs on the program's threads.
 */
#include <errno.h>
#include <heapsample/heapsample.h>

#include "base/alone.h"
#include "base/arena.h"
#include "base/options.h"
#include "base/stats.h"
#include "sample/heap.h"
#include "sample/labels.h"
#include "sample/recorder.h"
#include "sample/thread_state.h"
#include "session/ask.h"
#include "session/session_state.h"
#include "session/threads.h"

/* 0 if this thread may ask and wait now; -errno. */
static int check_may_ask(void)
{
	if (!hs_session_is_active() || hs_on_profiler_thread())
		return -ENOSYS;
	/* In a vfork child; in fork handlers; in a handler that has interrupted the slow path. */
	if (!hs_fork_is_own_process() || hs_thread.no_wait || hs_thread.guard_sp != 0)
		return -EBUSY;
	return 0;
}

static int ask(const struct hs_ask *what, char *path, size_t capacity)
{
	int saved_errno = errno, error = check_may_ask();

	if (error != 0)
		return error;
	hs_record_settle();
	if (!hs_threads_await())
		error = -EAGAIN;
	else
		error = hs_ask(what, path, capacity);
	errno = saved_errno;
	return error;
}

/* The producer will take sequence numbers, for the frees of what is in use. */
static int ask_to_free(const struct hs_ask *what)
{
	if (check_may_ask() == 0)
		hs_alone_end();
	return ask(what, NULL, 0);
}

int hs_session_dump(char *path, size_t capacity)
{
	if (hs_options_streams(&hs_options))
		return hs_session_is_active() ? -ENOTSUP : -ENOSYS;
	return ask(&(const struct hs_ask){.kind = HS_ASK_DUMP, .reason = "call"}, path, capacity);
}

int hs_session_switch_on(void)
{
	int error = ask(&(const struct hs_ask){.kind = HS_ASK_START}, NULL, 0);

	hs_heaps_notify();
	return error;
}

int hs_session_switch_off(void)
{
	int error = ask(&(const struct hs_ask){.kind = HS_ASK_STOP}, NULL, 0);

	hs_heaps_notify();
	return error;
}

int hs_session_reset(void)
{
	/* A stream has no books, and samples that are under way would be missing in it. */
	if (hs_options_streams(&hs_options))
		return hs_session_is_active() ? -ENOTSUP : -ENOSYS;
	return ask_to_free(&(const struct hs_ask){.kind = HS_ASK_RESET});
}

int hs_session_close_heap(uint32_t heap)
{
	return ask_to_free(&(const struct hs_ask){.kind = HS_ASK_CLOSE_HEAP, .heap = heap});
}

int hs_session_get_stats(struct heapsample_stats *stats)
{
	if (!hs_session_is_active())
		return -ENOSYS;
	hs_record_settle();
	*stats = (struct heapsample_stats){
		.is_sampling = atomic_load_explicit(&hs_epoch, memory_order_relaxed) != 0 &&
			       !hs_sampler_has_ended(),
		.interval_bytes = hs_heap_interval(HS_HEAP_MALLOC),
		.allocated_bytes = hs_stats_get(allocated_bytes),
		.samples = hs_heap_total(samples),
		.samples_lost = hs_heap_total(lost_ring) + hs_heap_total(lost_live_set) +
				hs_heap_total(lost_memory),
		.frees = hs_heap_total(frees),
		.profiles = hs_stats_get(dumps),
		.profiles_failed = hs_stats_get(dump_failures),
		.memory_bytes = hs_arena_used(),
	};
	return 0;
}

int hs_session_set_label(const char *key, const char *value)
{
	return hs_session_is_active() ? hs_labels_set(&hs_thread.labels, key, value) : -ENOSYS;
}
