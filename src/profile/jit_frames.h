/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames in generated code: in anonymous executable memory, or in no mapping at all.
 *
 * The location of such a frame is identified by mapping, address and code, because the address may
 * be another function later.  `code` is the number of a function that a JIT compiler has told of.
 * It is looked up when the record is taken, in what compilers have told by then
 * (symbolize/perf_map.h, gdb_jit.h).  So a sample has the name of the function that was there when
 * it was taken, as far as can be known: a perf map has no times, and a record is some milliseconds
 * old when it is taken (session/threads.c).
 *
 * A location without code is looked up again for each profile, because some compilers write their
 * map late.  If its frame is sampled again by then, with its code known, it stays the same location
 * (hs_location_table_learn_code()).  Frames in files never have code: a perf map does not tell that
 * a library has taken the place of generated code.
 *
 * Without such frames nothing is read.  With them each batch of records costs a stat(2) for the
 * perf map and a process_vm_readv(2) for each list of the GDB JIT interface.
 *
 * Called on: the producer.  Allocates: from the arena.  Blocks: reads files.
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
 * When the process begins.  sources: bits of enum hs_jit_source.  most_bytes: of memory for the
 * table of code.  NULL: the arena is used up.
 */
struct hs_jit_frames *hs_jit_frames_create(const struct hs_mapping_table *table, unsigned sources,
					   size_t most_bytes);
void hs_jit_frames_destroy(struct hs_jit_frames *jit);

/* Whether a frame of a record may be generated code. */
bool hs_jit_frames_may_be_in(const struct hs_jit_frames *jit, const struct hs_frame *frames,
			     uint32_t count);

/*
 * If a frame may be generated code, reads what compilers have told since the last time.  Whether
 * one may be.
 */
bool hs_jit_frames_follow(struct hs_jit_frames *jit, const struct hs_frame *frames, uint32_t count);

/* Whether a compiler has told of any code so far. */
bool hs_jit_frames_has_code(const struct hs_jit_frames *jit);

/* Records that follow may be newer than what was read. */
void hs_jit_frames_begin_batch(struct hs_jit_frames *jit);

/* Names that follow are for another profile. */
void hs_jit_frames_begin_profile(struct hs_jit_frames *jit);

/*
 * The code of a frame; 0: none, or not known.  A frame in no mapping that has code is given the
 * mapping HS_MAPPING_JIT_PERF_MAP or HS_MAPPING_JIT_GDB.
 */
uint32_t hs_jit_frames_code(struct hs_jit_frames *jit, struct hs_frame *frame);

/*
 * Names those locations of a run that are of known code.  What compilers have told is read before,
 * once for each profile.  Counts those that are of unknown generated code and have no name yet
 * (jit_unknown_frames).
 */
void hs_jit_frames_name(struct hs_jit_frames *jit, const struct hs_location_run *run,
			struct hs_pauses *pauses);

/* The name of a location, if it is of known code. */
bool hs_jit_frames_name_of(const struct hs_jit_frames *jit, const struct hs_location *location,
			   struct hs_jit_name *out);

/* The path that a profile has for a made-up mapping (location_table.h); NULL: it is none. */
const char *hs_jit_frames_path(uint32_t mapping);

#endif
