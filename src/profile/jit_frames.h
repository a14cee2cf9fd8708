/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames in generated code: anonymous executable memory, or no mapping at all.
 *
 * Such a frame's location is known by mapping, address and code, for the same address is
 * another function later.  The code is looked up when the record is handled, in what the
 * JIT compilers have said by then (symbolize/perf_map.h, gdb_jit.h), so a sample has the name of
 * the function that was there when it was taken, as well as the profiler can tell: there is no time
 * in a perf map, and a record is some milliseconds old when it is handled (session/threads.c).
 *
 * A location without code is looked up again for each profile: some compilers write their
 * map late.  Frames in files never have code: a perf map does not say when a library
 * has taken the place of generated code.
 *
 * Without such frames nothing is read.  With them each batch of records costs a stat(2) for the
 * perf map and a process_vm_readv(2) for each list of the GDB JIT interface.
 *
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_PROFILE_JIT_FRAMES_H
#define HS_PROFILE_JIT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pauses.h"
#include "maps/mapping_table.h"
#include "profile/location_table.h"
#include "symbolize/jit_map.h"
#include "unwind/frame.h"

struct hs_jit_frames;

/*
 * sources: bits of enum hs_jit_source; most_bytes: for the table of code.
 * NULL when the arena is used up.
 */
struct hs_jit_frames *hs_jit_frames_create(const struct hs_mapping_table *table, unsigned sources,
					   size_t most_bytes);
void hs_jit_frames_destroy(struct hs_jit_frames *jit);

/* Whether a frame of a record may be generated code. */
bool hs_jit_frames_may_be_in(const struct hs_jit_frames *jit, const struct hs_frame *frames,
			     uint32_t count);

/* Reads what compilers have written since, if that is allowed now; whether it is. */
bool hs_jit_frames_follow(struct hs_jit_frames *jit, const struct hs_frame *frames, uint32_t count);

/* Whether a compiler has told of any code so far. */
bool hs_jit_frames_has_code(const struct hs_jit_frames *jit);

/* Records that follow may be newer than what was read. */
void hs_jit_frames_begin_batch(struct hs_jit_frames *jit);

/*
 * The code of a frame, 0 = none or not known.  A frame in no mapping that has code gets
 * HS_MAPPING_JIT_PERF_MAP or HS_MAPPING_JIT_GDB.
 */
uint32_t hs_jit_frames_code(struct hs_jit_frames *jit, struct hs_frame *frame);

/*
 * Name the locations in ids, which are all of one mapping, as far as they are of known
 * code.  The others that are of generated code are counted once each: jit_unknown_frames.
 */
void hs_jit_frames_name(struct hs_jit_frames *jit, const struct hs_location_table *locations,
			const uint32_t *ids, uint32_t count, struct hs_pauses *pauses);

/* The name of a location, if it is of known code. */
bool hs_jit_frames_name_of(const struct hs_jit_frames *jit, const struct hs_location *location,
			   struct hs_jit_name *out);

/* What a profile shows for the mapping of code that is in none; NULL: it is no such. */
const char *hs_jit_frames_path(uint32_t mapping);

#endif
