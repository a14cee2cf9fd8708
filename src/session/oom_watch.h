/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_OOM: is the process about to run out of memory?
 *
 * Looked at are all limits there are: those of the memory cgroup and of the groups above
 * it, without page cache that can be dropped at once; RLIMIT_AS and RLIMIT_DATA; and the
 * machine's memory against the process's resident part where no cgroup limits it.
 *
 * Threads: the producer, but for _start().  Memory: none.  Reads files of /proc and
 * /sys/fs/cgroup.
 */
#ifndef HS_SESSION_OOM_WATCH_H
#define HS_SESSION_OOM_WATCH_H

#include <stdbool.h>

#include "base/visibility.h"

/* What stands before /proc and /sys: "".  Set by tests only, before the start. */
extern HS_HIDDEN const char *hs_oom_watch_root;

/* percent: of any limit, 1..99.  Start-up. */
void hs_oom_watch_start(unsigned percent);

/*
 * Whether one of the limits is used up to that percentage now, and none was at the last
 * look; it has to fall five points below before it can be crossed again.
 */
bool hs_oom_watch_is_crossed(void);

#endif
