/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that takes other rights.  Users and groups are a thread's to the kernel, and libc
 * has each thread change its own: one that may not, having other capabilities, would end the
 * process.  Capabilities are a thread's altogether.  So the profiler's threads end before, and are
 * started again with what their creator may then.
 */
#include <grp.h>
#include <unistd.h>

#include "preload/next_alloc.h"
#include "session/session.h"

#define HS_EXPORT __attribute__((visibility("default"), used))

#define DEFINE(name, arguments, names)                                                             \
	HS_EXPORT int name arguments;                                                              \
	int name arguments                                                                         \
	{                                                                                          \
		bool alone;                                                                        \
		int result;                                                                        \
												   \
		if (hs_next.name == NULL)                                                          \
			hs_next_resolve_all();                                                     \
		alone = hs_session_alone_begins();                                                 \
		result = hs_next.name names;                                                       \
		if (alone)                                                                         \
			hs_session_alone_ends();                                                   \
		return result;                                                                     \
	}
HS_NEXT_RIGHTS(DEFINE)
