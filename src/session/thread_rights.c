/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the profiler's threads have the rights of the calling thread.  They begin with their
 * creator's capabilities and seccomp filters; later a thread of the program may change its own
 * capabilities, or filter itself, which does not change ours.
 *
 * Runs on the program's threads.
 */
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "sample/thread_state.h"
#include "session/libc_threads.h"
#include "session/session_state.h"
#include "session/threads.h"

struct capabilities {
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
};

/* tid 0: the caller's.  False: a seccomp filter refuses it, or the thread is gone. */
static bool get_capabilities(pid_t tid, struct capabilities *out)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, tid};

	return hs_syscall(SYS_capget, (long)&header, (long)out->sets, 0, 0, 0, 0) == 0;
}

static bool differs(const struct capabilities *ours, pid_t tid)
{
	struct capabilities its;

	/* 0: it is just being created. */
	return tid != 0 && get_capabilities(tid, &its) && memcmp(ours, &its, sizeof its) != 0;
}

/*
 * Whether the caller has a seccomp filter, or a filter refuses the question.  Those of other
 * threads can be read from /proc only.
 */
static bool is_filtered(void)
{
	return hs_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) != 0;
}

/* Whether a profiler thread may have other rights than the caller. */
static bool may_differ(void)
{
	struct capabilities ours;

	if (is_filtered())
		return true;
	return get_capabilities(0, &ours) &&
	       (differs(&ours, atomic_load(&hs_session.tids[HS_WORKER])) ||
		differs(&ours, atomic_load(&hs_session.tids[HS_PRODUCER])));
}

/*
 * Ends them if their rights differ: libc ends the process if a call succeeds on some threads only.
 * Waits as long as exit() would.
 */
static bool stop_if_rights_differ(void)
{
	uint32_t phase = atomic_load(&hs_session.threads);

	if (phase != HS_THREADS_RUNNING && phase != HS_THREADS_STOPPING)
		return false;
	return may_differ() && hs_threads_stop(HS_PROFILE_LIMIT_NS);
}

struct hs_rights hs_session_rights_begin(void)
{
	struct hs_rights begun = {false, false};

	if (hs_on_profiler_thread())
		return begun;
	begun.are_threads_stopped = stop_if_rights_differ();
	/* Last, right before the call. */
	begun.are_threads_shown = hs_libc_show();
	return begun;
}

void hs_session_rights_end(struct hs_rights begun)
{
	if (begun.are_threads_shown)
		hs_libc_hide_again();
	if (begun.are_threads_stopped)
		hs_threads_start_for_sample((uintptr_t)__builtin_frame_address(0));
}
