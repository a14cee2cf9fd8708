/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of walks are counted.  See stop.h. */
#include "unwind/stop.h"

#include "base/stats.h"

enum hs_pseudo_frame hs_stop_count(enum hs_stop stop, bool has_stack)
{
	switch (stop) {
	case HS_STOP_NOT:
	case HS_STOP_COMPLETE:
		return HS_PSEUDO_COUNT;
	case HS_STOP_DEPTH:
		hs_stats_add(depth_truncated, 1);
		return HS_PSEUDO_TRUNCATED;
	case HS_STOP_SWITCHED:
	case HS_STOP_CUT:
		if (has_stack)
			hs_stats_add(stack_truncated, 1);
		return HS_PSEUDO_TRUNCATED;
	case HS_STOP_NO_MAPPING:
		hs_stats_add(unwind_no_mapping, 1);
		break;
	case HS_STOP_NO_INFO:
		hs_stats_add(unwind_no_info, 1);
		break;
	case HS_STOP_BAD_FRAME:
		hs_stats_add(unwind_bad_frame, 1);
		break;
	case HS_STOP_NO_ENGINE:
		hs_stats_add(unwind_no_engine, 1);
		break;
	}
	return HS_PSEUDO_UNWIND_ERROR;
}
