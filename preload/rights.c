/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that changes its user, groups or capabilities.
 *
 * To the kernel each thread has its own.  For setuid() and its like libc makes the system call on
 * every thread, and ends the process if it fails on some only; it would fail on a profiler thread
 * whose capabilities are fewer.  So the profiler's threads are stopped before such a call if theirs
 * differ from the caller's, and always before capset(), which changes the caller only.  They are
 * started again after it, with the rights of the caller.
 */
#include <grp.h>
#include <unistd.h>

#include "preload/next.h"
#include "session/session.h"

#define DEFINE_RIGHTS(name, arguments, names)                                                      \
	HS_EXPORT int name arguments;                                                              \
	int name arguments                                                                         \
	{                                                                                          \
		struct hs_rights begun;                                                            \
		int result;                                                                        \
												   \
		HS_NEXT_ENSURE(name);                                                              \
		begun = hs_session_rights_begin();                                                 \
		result = hs_next.name names;                                                       \
		hs_session_rights_end(begun);                                                      \
		return result;                                                                     \
	}
HS_NEXT_RIGHTS(DEFINE_RIGHTS)

HS_EXPORT int capset(void *header, const void *data);
int capset(void *header, const void *data)
{
	struct hs_undisturbed before;
	bool stopped;
	int result;

	HS_NEXT_ENSURE(capset);
	stopped = hs_session_stop_threads(&before);
	result = hs_next.capset(header, data);
	if (stopped)
		hs_session_restart_threads(&before);
	return result;
}
