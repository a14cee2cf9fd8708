/* SPDX-License-Identifier: BSD-2-Clause */
/* test_producer_orders with most frees in the journal. */
#define JOURNAL 512

#include "test_producer_orders.c"
