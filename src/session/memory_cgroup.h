/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limits of this process's memory cgroup, of either version, and of the groups above it.
 *
 * Called on: start-up, the producer.  Allocates: never.  Reads files of /proc and /sys/fs/cgroup.
 */
#ifndef HS_SESSION_MEMORY_CGROUP_H
#define HS_SESSION_MEMORY_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* A limit of this many bytes, or more, is none. */
#define HS_MEMORY_UNLIMITED ((uint64_t)1 << 60)

/*
 * Finds the group, before the others are called.  root: the directory that /proc and /sys are in,
 * "" except in tests; it is kept.
 */
void hs_memory_cgroup_find(const char *root);

/* The smallest of the limits, in bytes. */
uint64_t hs_memory_cgroup_limit(void);

/*
 * Whether one of the limits is used up to that percentage; page cache that can be dropped at once
 * does not count as used.  *is_limited: set if there is a limit.
 */
bool hs_memory_cgroup_is_above(unsigned percent, bool *is_limited);

/* Whether used is at least that percentage of the limit. */
static inline bool hs_memory_is_above(uint64_t used, uint64_t limit, unsigned percent)
{
	/* Divides first: the product could overflow. */
	return limit < HS_MEMORY_UNLIMITED && used >= limit / 100 * percent;
}

#endif
