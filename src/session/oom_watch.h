/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_OOM: whether the process is about to run out of memory.
 *
 * All limits are checked: those of the memory cgroup of now and of the groups above it, where page
 * cache that can be dropped at once does not count as used; RLIMIT_AS and RLIMIT_DATA; and if no
 * cgroup has a limit, the machine's memory, against what of the process is resident.
 *
 * Called on: the producer, except _start().  Allocates: never.  Reads files of /proc and
 * /sys/fs/cgroup.
 */
#ifndef HS_SESSION_OOM_WATCH_H
#define HS_SESSION_OOM_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * percent: of any limit, 1..99.  root: the directory that /proc and /sys are in, "" except in
 * tests; it is kept.  Start-up.
 */
void hs_oom_watch_start(unsigned percent, const char *root);

/*
 * Whether one of the limits is used up to that percentage now, and none was at the last call.  Use
 * then has to fall five points below it before this can be true again.  *look_bytes: set to how
 * many bytes can be allocated before it is to be asked again.
 */
bool hs_oom_watch_is_crossed(uint64_t *look_bytes);

/* It can be true again at the next call: nothing came of the last one. */
void hs_oom_watch_rearm(void);

#endif
