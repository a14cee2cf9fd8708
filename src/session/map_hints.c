/* SPDX-License-Identifier: BSD-2-Clause */
/* Map hints that the program gives by calls.  See session.h.  Runs on the program's threads. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/stats.h"
#include "maps/map_hint_text.h"
#include "sample/hint_record.h"
#include "session/session_state.h"

static int put(enum hs_record_kind kind, uint64_t start, uint64_t length, uint64_t offset,
	       const char *path, size_t path_bytes)
{
	int error =
		hs_hint_record_put(&hs_session.ring, kind, start, length, offset, path, path_bytes);

	if (error < 0) {
		hs_stats_add(map_hints_refused, 1);
		/*
		 * The ring may be full of hints before the first sample, which starts the threads
		 * that read it.  It now starts them even if it finds no room.  They are not started
		 * here, because this may be a signal handler.
		 */
		atomic_store_explicit(&hs_session.is_ring_full_early, true, memory_order_relaxed);
	}
	return error;
}

int hs_session_map_hint(const char *objfile, uint64_t start, uint64_t length, uint64_t offset)
{
	struct hs_map_hint_problem problem;
	size_t bytes;

	if (!hs_session_is_active())
		return -ENOSYS;
	if (objfile == NULL || objfile[0] == '\0' ||
	    !hs_map_hint_check_range(start, length, offset, &problem))
		return -EINVAL;
	bytes = strnlen(objfile, PATH_MAX);
	if (bytes == PATH_MAX)
		return -ENAMETOOLONG;
	return put(HS_RECORD_MAP_HINT, start, length, offset, objfile, bytes);
}

int hs_session_unmap_hint(uint64_t start, uint64_t length)
{
	struct hs_map_hint_problem problem;

	if (!hs_session_is_active())
		return -ENOSYS;
	if (!hs_map_hint_check_range(start, length, 0, &problem))
		return -EINVAL;
	return put(HS_RECORD_MAP_UNHINT, start, length, 0, "", 0);
}
