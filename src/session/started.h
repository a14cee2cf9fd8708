/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that the process starts without ending itself, as timeout, flock or a shell does.  They
 * are not profiled, unless the settings say so: where nothing was sampled in the process itself,
 * it may be the wrong one.
 */
#ifndef HS_SESSION_STARTED_H
#define HS_SESSION_STARTED_H

#include <stdbool.h>

/* Start-up; in a forked child, before hs_session.forked is set. */
void hs_started_init(void);
void hs_started_after_fork(void);

/*
 * An exec begins, which counts if it is that of a child; or it has failed.  Any thread of the
 * program; in vfork children too.  Errno: preserved.
 */
void hs_started_exec_begins(void);
void hs_started_exec_failed(void);

/* Whether nothing was sampled, but programs were started and not profiled.  The producer's. */
bool hs_started_is_wrapper(void);

/* With the last profile: logs if it is so.  The producer's thread with producer_batch held. */
void hs_started_tell(void);

#endif
