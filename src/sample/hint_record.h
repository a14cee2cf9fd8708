/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends map hints to the worker, as records in the ring among those of samples.  So a hint holds
 * for the samples taken after it, and not for those before.
 *
 * Called on: the program's threads.  Allocates: never.  Blocks: never; signals are blocked
 * meanwhile, because a handler that jumps out would leave the reservation open.
 * Errno: not touched (system calls are raw).
 */
#ifndef HS_SAMPLE_HINT_RECORD_H
#define HS_SAMPLE_HINT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "sample/record.h"
#include "sample/ring.h"

/*
 * Puts a record into the ring: HS_RECORD_MAP_HINT, or HS_RECORD_MAP_UNHINT, which has no path.
 * path_bytes: without the NUL, at most 4095.  Returns 0 or -EAGAIN (no room).
 */
int hs_hint_record_put(struct hs_ring *ring, enum hs_record_kind kind, uint64_t start,
		       uint64_t length, uint64_t offset, const char *path, size_t path_bytes);

#endif
