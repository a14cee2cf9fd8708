/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limits of this process's memory cgroup, of either version, and of the groups above it.
 *
 * Called on: start-up, the producer.  Allocates: never.  Reads files of /proc and /sys/fs/cgroup.
 */
#ifndef HS_SESSION_MEMORY_CGROUP_H
#define HS_SESSION_MEMORY_CGROUP_H

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
 * How many more bytes can be used until that percentage of one of the limits is; page cache that
 * can be dropped at once does not count as used, where it matters.  HS_MEMORY_UNLIMITED: there is
 * no limit.
 */
uint64_t hs_memory_cgroup_left(unsigned percent);

/* The same for one limit. */
static inline uint64_t hs_memory_left(uint64_t used, uint64_t limit, unsigned percent)
{
	/* Divides first: the product could overflow. */
	uint64_t most = limit / 100 * percent;

	if (limit >= HS_MEMORY_UNLIMITED)
		return HS_MEMORY_UNLIMITED;
	return used < most ? most - used : 0;
}

/* The smaller of two. */
static inline uint64_t hs_memory_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#endif
