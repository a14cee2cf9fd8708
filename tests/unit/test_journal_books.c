/* SPDX-License-Identifier: BSD-2-Clause */
/* test_producer with most frees in the journal. */
#define JOURNAL 4096

#include "test_producer.c"
