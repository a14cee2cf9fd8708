/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwinding worker's work: takes records out of the ring, unwinds them, and puts the results
 * into the frame queue.  One record per call, so that the caller can release its lock in between.
 *
 * Threads: the worker thread.  Memory: the arena.  Blocks: never for room in the queue; as
 * unwinder.h and map_hints.h, which read files and load libunwind.
 */
#ifndef HS_UNWIND_WORKER_H
#define HS_UNWIND_WORKER_H

#include <stdint.h>

#include "maps/map_hints.h"
#include "sample/ring.h"
#include "unwind/unwinder.h"

struct hs_worker;

enum hs_worker_result {
	HS_WORKER_DID_ONE,
	HS_WORKER_IDLE,    /* the ring is empty */
	HS_WORKER_STALLED, /* the next record is still being written */
	HS_WORKER_FULL,    /* the frame queue has no room: try again when it has */
};

/*
 * unwinder: NULL for a stream, whose records are passed on without frames.
 * hints: the table's, see hs_mapping_table_add_hints().  depth: the most frames of a stack.
 * NULL when the arena is used up.
 */
struct hs_worker *hs_worker_create(struct hs_ring *ring, struct hs_ring *queue,
				   struct hs_unwinder *unwinder, struct hs_map_hints *hints,
				   uint32_t depth);
enum hs_worker_result hs_worker_step(struct hs_worker *worker);

#endif
