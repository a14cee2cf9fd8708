/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encodes a view as perftools.profiles.Profile, the format that pprof reads.
 *
 * Each Sample, Location, Function and Mapping is packed by itself, by protobuf-c, behind its field
 * tag and length; they are written in pieces of 16 KiB, and the string table comes last.  So there
 * is never a second copy of the profile in memory.  Equal views give equal bytes.
 *
 * Bytes of texts that are not UTF-8 are written as %XX, and texts longer than 4096 bytes are cut
 * between two characters (output/string_table.h).
 *
 * Called on: the producer.  Allocates: from the arena.  Blocks: as the sink and the pauses do.
 */
#ifndef HS_OUTPUT_PPROF_ENCODER_H
#define HS_OUTPUT_PPROF_ENCODER_H

#include "output/byte_sink.h"
#include "output/profile_view.h"

/* Encodes a view; one at a time.  Returns 0, -ENOMEM (the arena is used up) or the sink's error. */
int hs_pprof_encode(const struct hs_view *view, hs_byte_sink_fn sink);

/*
 * Frees the encoder's memory: in a forked child, if the parent was in a pause of the view or in a
 * write of the sink.
 */
void hs_pprof_encode_end(void);

#endif
