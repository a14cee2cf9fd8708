/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process executes another program: its profile is written before.  See session.h.  Runs on the
 * program's threads.
 */
#include <errno.h>

#include "base/log.h"
#include "base/options.h"
#include "base/sys.h"
#include "sample/heap.h"
#include "sample/recorder.h"
#include "sample/thread_state.h"
#include "session/ask.h"
#include "session/session_state.h"
#include "session/started.h"
#include "session/threads.h"

/* Where a program tries the directories of PATH itself, as python does, most executions fail. */
static bool is_missing(const char *path)
{
	struct stat status;
	int error = path != NULL ? hs_sys_stat(path, &status) : 0;

	return error == -ENOENT || error == -ENOTDIR;
}

/*
 * Whether something was sampled that was not written before an earlier exec, which failed then.
 * Only then is the path looked at.
 */
static bool has_news(const char *path)
{
	static _Atomic uint64_t samples_before; /* at the last exec */
	uint64_t samples = hs_heap_total(samples);
	bool streams = hs_options_streams(&hs_options); /* in which frees may be left to write */

	if ((!hs_options.final_dump && !streams) || samples == hs_session.samples_before_fork ||
	    is_missing(path))
		return false;
	return atomic_exchange_explicit(&samples_before, samples, memory_order_relaxed) !=
		       samples ||
	       streams;
}

void hs_session_exec_begins(const char *path)
{
	const struct hs_ask profile = {.kind = HS_ASK_DUMP, .reason = "exec"};
	int saved_errno, error;

	hs_started_exec_begins();
	/* The process first, then errno: as in hs_session_finish(). */
	if (!hs_session_is_active() || !hs_fork_is_own_process() || hs_on_profiler_thread() ||
	    !has_news(path))
		return;
	saved_errno = errno;
	/* If this handler has interrupted fork() the producer would wait for its locks. */
	hs_fork_let_go();
	hs_record_settle();
	error = -EAGAIN;
	if ((atomic_load(&hs_session.threads) == HS_THREADS_RUNNING ||
	     hs_threads_may_start((uintptr_t)__builtin_frame_address(0))) &&
	    hs_threads_await())
		error = hs_ask(&profile, NULL, 0);
	/* Other errors have been logged by who wrote the profile. */
	if (error == -ETIMEDOUT || error == -EBUSY || error == -EAGAIN)
		hs_log(HS_LOG_ERROR, "the profile of %s was not complete before its exec",
		       hs_session.program);
	errno = saved_errno;
}

void hs_session_exec_failed(void)
{
	hs_started_exec_failed();
}
