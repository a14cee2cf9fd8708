/* SPDX-License-Identifier: BSD-2-Clause */
/* Why the walk of a stack ends.  Threads: the unwinding worker. */
#ifndef HS_UNWIND_STOP_H
#define HS_UNWIND_STOP_H

#include <stdbool.h>

#include "unwind/frame.h"

enum hs_stop {
	HS_STOP_NOT, /* it goes on */
	HS_STOP_COMPLETE,
	HS_STOP_DEPTH,
	HS_STOP_CUT,      /* at the end of the copied stack */
	HS_STOP_SWITCHED, /* on another stack than the copied one */
	HS_STOP_NO_MAPPING,
	HS_STOP_NO_INFO,
	HS_STOP_BAD_FRAME,
	HS_STOP_NO_ENGINE,
};

/*
 * Counts the reason.  has_stack: the record has a stack; if not, it was counted as stackless
 * before.  Returns the pseudo frame that tells it, or HS_PSEUDO_COUNT if none is needed.
 */
enum hs_pseudo_frame hs_stop_count(enum hs_stop stop, bool has_stack);

#endif
