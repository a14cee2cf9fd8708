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
	union {
		uint64_t interval_bytes;
		uint64_t weight; /* HS_RECORD_WEIGHED */
	};
	uint64_t address;
	uint64_t time_ns; /* of CLOCK_MONOTONIC_COARSE, in a stream; otherwise 0 */
	uint32_t slot;       /* of the live set; HS_SLOT_NONE: none */
	uint32_t generation; /* of the slot */
	uint32_t tid;
	uint32_t epoch;  /* hs_epoch */
	uint32_t labels; /* of the thread */
	uint8_t kind;    /* enum hs_record_kind; a tombstone with a slot gives the slot back */
	uint8_t heap;
	uint16_t flags;  /* enum hs_record_flags */
	uint16_t frame_count;
	struct hs_frame frames[]; /* innermost first */
};

#endif
