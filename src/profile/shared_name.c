/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that are shared.  See shared_name.h. */
#include "profile/shared_name.h"

#include <stddef.h>
#include <string.h>

#include "base/arena.h"

struct hs_shared_name *hs_shared_name_create(const char *name, const char *system_name)
{
	size_t bytes = strlen(name) + 1, system_bytes = 0;
	struct hs_shared_name *shared;

	if (system_name != NULL && system_name != name)
		system_bytes = strlen(system_name) + 1;
	shared = hs_arena_alloc(sizeof *shared + bytes + system_bytes);
	if (shared == NULL)
		return NULL;
	shared->holders = 1;
	memcpy(shared->name, name, bytes);
	shared->system_name = system_name != NULL ? shared->name : NULL;
	if (system_bytes > 0)
		shared->system_name = memcpy(shared->name + bytes, system_name, system_bytes);
	return shared;
}

void hs_shared_name_hold(struct hs_shared_name *shared)
{
	if (shared != NULL)
		shared->holders++;
}

void hs_shared_name_release(struct hs_shared_name *shared)
{
	if (shared != NULL && --shared->holders == 0)
		hs_arena_free(shared);
}
