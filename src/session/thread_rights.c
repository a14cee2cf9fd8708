/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the profiler's threads may do what a thread of the program may.  They begin with their
 * creator's capabilities; a program that keeps its own while it takes another user, or changes
 * them, leaves theirs behind.
 *
 * Runs on the program's threads.
 */
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "sample/thread_state.h"
#include "session/session_state.h"

struct capabilities {
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
};

/* tid 0: of the caller.  False where a seccomp filter refuses it, or the thread is gone. */
static bool get_capabilities(pid_t tid, struct capabilities *out)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, tid};

	return hs_syscall(SYS_capget, (long)&header, (long)out->sets, 0, 0, 0, 0) == 0;
}

static bool differs(const struct capabilities *ours, pid_t tid)
{
	struct capabilities its;

	/* Not known yet: it is just being made by a thread of the program. */
	return tid != 0 && get_capabilities(tid, &its) && memcmp(ours, &its, sizeof its) != 0;
}

bool hs_session_rights_begin(void)
{
	uint32_t phase = atomic_load(&hs_session.threads);
	struct capabilities ours;

	if (hs_on_profiler_thread())
		return false;
	hs_libc_tell_all();
	if ((phase != HS_THREADS_RUNNING && phase != HS_THREADS_STOPPING) ||
	    !get_capabilities(0, &ours))
		return false;
	/* As long as exit() would wait: libc ends the process where one of them may not. */
	return (differs(&ours, atomic_load(&hs_session.tids[0])) ||
		differs(&ours, atomic_load(&hs_session.tids[1]))) &&
	       hs_threads_stop(HS_DRAIN_LIMIT_NS + HS_WRITE_LIMIT_NS);
}

void hs_session_rights_end(void)
{
	hs_threads_ensure();
}
