/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encodes a view as perftools.profiles.Profile, the format that pprof reads.
 *
 * Each Sample, Location, Function and Mapping is packed on its own with protobuf-c
 * behind its field tag and length, and they are written in pieces of 16 KiB; the string
 * table comes last.  So there is never a second copy of the profile in memory.
 * Equal views give equal bytes.
 *
 * Text that is not UTF-8 is escaped as %XX; a name longer than 4096 bytes is cut at
 * a character's boundary.
 *
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_OUTPUT_PPROF_ENCODER_H
#define HS_OUTPUT_PPROF_ENCODER_H

#include "output/byte_sink.h"
#include "output/profile_view.h"

/* One at a time.  Returns 0, -ENOMEM (arena used up) or the sink's error. */
int hs_pprof_encode(const struct hs_view *view, const struct hs_byte_sink *sink);

/* In a child of a fork that came in a pause of the view, or in a write: give back what that has. */
void hs_pprof_encode_end(void);

#endif
