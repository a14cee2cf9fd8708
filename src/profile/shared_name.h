/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The name of a function, in one block for all locations that have it.
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_PROFILE_SHARED_NAME_H
#define HS_PROFILE_SHARED_NAME_H

#include <stdint.h>

struct hs_shared_name {
	const char *system_name; /* linkage name; it may be name; NULL: not known by a symbol */
	uint32_t holders;
	char name[]; /* for people */
};

/*
 * Copies both; system_name may be name, or NULL.  The caller is the first holder.
 * NULL when the arena is used up.
 */
struct hs_shared_name *hs_shared_name_create(const char *name, const char *system_name);

/* shared: may be NULL. */
void hs_shared_name_hold(struct hs_shared_name *shared);
void hs_shared_name_release(struct hs_shared_name *shared);

#endif
