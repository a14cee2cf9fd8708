/* SPDX-License-Identifier: BSD-2-Clause */
/* The same where most samples are in the live set's map: there are eight regions. */
#define MAP_SHEETS 6
#define JOURNAL 512

#include "test_live_set_stress.c"
