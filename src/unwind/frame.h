/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Resolved frames (struct hs_frame of sample/record.h): what the unwinding worker hands to the
 * producer.
 */
#ifndef HS_UNWIND_FRAME_H
#define HS_UNWIND_FRAME_H

#include <stdint.h>

#include "maps/mapping_table.h"
#include "sample/record.h"

/* The mapping of a frame whose address is in none: generated code may have been there. */
#define HS_MAPPING_UNKNOWN (HS_MAPPING_NONE - 1)

/*
 * A pseudo frame has mapping HS_MAPPING_NONE and one of these as its address.
 * X(name, text shown in the profile)
 */
#define HS_PSEUDO_FRAMES(X)                                                                        \
	X(HS_PSEUDO_UNKNOWN, "[unknown]")           /* a pc in no mapping */                       \
	X(HS_PSEUDO_TRUNCATED, "[truncated]")       /* root: the stack copy or the depth ended */  \
	X(HS_PSEUDO_UNWIND_ERROR, "[unwind error]") /* root: a step failed */                      \
	X(HS_PSEUDO_STACKLESS, "[no stack]")        /* root: only the return address was kept */   \
	X(HS_PSEUDO_LOST, "[lost]")                 /* stack and frees not known */                \
	X(HS_PSEUDO_FILTERED, "FILTERED")           /* see profile/frame_filter.h */

enum hs_pseudo_frame {
#define HS_PSEUDO_ENUM(name, text) name,
	HS_PSEUDO_FRAMES(HS_PSEUDO_ENUM)
#undef HS_PSEUDO_ENUM
	HS_PSEUDO_COUNT
};

#endif
