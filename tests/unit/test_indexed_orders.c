/* SPDX-License-Identifier: BSD-2-Clause */
/* test_producer_orders with all samples in the index, and most frees in the journal. */
#define JOURNAL 512

#include "test_producer_orders.c"
