/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that takes other rights.  Users and groups are a thread's to the kernel, and libc
 * has each thread change its own: one that may not, having other capabilities, would end the
 * process.  Capabilities are a thread's altogether.  So the profiler's threads end before such a
 * call where theirs are others than the caller's, and before one that changes the caller's; they
 * are started again with what their creator may then.
 */
#include <grp.h>
#include <unistd.h>

#include "preload/next_alloc.h"
#include "session/session.h"

#define DEFINE_RIGHTS(name, arguments, names)                                                      \
	HS_EXPORT int name arguments;                                                              \
	int name arguments                                                                         \
	{                                                                                          \
		struct hs_rights begun;                                                            \
		int result;                                                                        \
												   \
		if (hs_next.name == NULL)                                                          \
			hs_next_resolve_all();                                                     \
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
	bool alone;
	int result;

	if (hs_next.capset == NULL)
		hs_next_resolve_all();
	alone = hs_session_alone_begins(&before);
	result = hs_next.capset(header, data);
	if (alone)
		hs_session_alone_ends(&before);
	return result;
}
