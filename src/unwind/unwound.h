/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An unwound record: what the unwinding worker puts into the frame queue (a ring of
 * sample/ring.h) and the producer takes out.
 */
#ifndef HS_UNWIND_UNWOUND_H
#define HS_UNWIND_UNWOUND_H

#include <stdint.h>

#include "sample/record.h"
#include "unwind/frame.h"

struct hs_unwound {
	uint64_t sequence; /* 0: no number was taken, nothing waits for this one */
	uint64_t size;     /* requested bytes */
	uint64_t interval_bytes;
	uint64_t address;
	uint64_t time_ns; /* of CLOCK_MONOTONIC_COARSE, in a stream; otherwise 0 */
	uint32_t slot;       /* of the live set; HS_SLOT_NONE: none */
	uint32_t generation; /* of the slot */
	uint32_t tid;
	uint16_t kind; /* enum hs_record_kind; a tombstone with a slot gives the slot back */
	uint16_t frame_count;
	struct hs_frame frames[]; /* innermost first */
};

#endif
