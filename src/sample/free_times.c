/* SPDX-License-Identifier: BSD-2-Clause */
/* See free_times.h. */
#include "sample/free_times.h"

#include <errno.h>
#include <stddef.h>

#include "base/arena.h"
#include "sample/live_set.h"

_Atomic uint64_t *hs_free_times;

int hs_free_times_init(void)
{
	size_t bytes = (size_t)hs_live_set_limit() * sizeof *hs_free_times;
	void *times = hs_arena_reserve(bytes);
	int error = times == NULL ? -ENOMEM : hs_arena_commit(times, bytes);

	if (error == 0)
		hs_free_times = times;
	return error;
}
