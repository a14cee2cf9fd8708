/* SPDX-License-Identifier: BSD-2-Clause */
/* test_producer with most samples in the map, and most frees in the journal. */
#define MAP_BYTES (64 * MIB)
#define JOURNAL 4096

#include "test_producer.c"
