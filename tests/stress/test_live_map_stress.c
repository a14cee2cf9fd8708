/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_live_set_stress.c with a journal and a map.  Addresses of the first thread are in region 0,
 * which has no sheet: these samples are in the index, all others in the map.
 */
#define MAP_SHEETS 6
#define JOURNAL 512

#include "test_live_set_stress.c"
