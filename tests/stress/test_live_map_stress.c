/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_live_set_stress.c with a journal and a map.  There are more regions than sheets, and the
 * first of the first thread is region 0, which never has one: their samples are in the index.
 */
#define MAP_SHEETS 6
#define JOURNAL 512

#include "test_live_set_stress.c"
