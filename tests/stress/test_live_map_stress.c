/* SPDX-License-Identifier: BSD-2-Clause */
/* The same with most samples in the live set's map, which covers six of the eight regions. */
#define MAP_SHEETS 6
#define JOURNAL 512

#include "test_live_set_stress.c"
