/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The name of a function, in one block of memory for all locations that have it.
 *
 * Called on: the producer.  Allocates: from the arena.
 */
#ifndef HS_PROFILE_SHARED_NAME_H
#define HS_PROFILE_SHARED_NAME_H

#include <stdint.h>

struct hs_shared_name {
	const char *system_name; /* linkage name, perhaps `name` itself; NULL: no symbol has it */
	uint32_t holders;
	char name[]; /* as shown: demangled */
};

/*
 * Copies both; system_name may be name, or NULL.  The caller is the first holder.
 * NULL: the arena is used up.
 */
struct hs_shared_name *hs_shared_name_create(const char *name, const char *system_name);

/* shared: may be NULL. */
void hs_shared_name_hold(struct hs_shared_name *shared);
void hs_shared_name_release(struct hs_shared_name *shared);

#endif
