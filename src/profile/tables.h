/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The books' tables taken together: releasing what a row holds in the others, and trimming all.
 *
 * Called on: the producer.
 */
#ifndef HS_PROFILE_TABLES_H
#define HS_PROFILE_TABLES_H

#include <stdint.h>

struct hs_producer;

/* Releases what a row holds, which is about to be dropped. */
void hs_tables_release_row(struct hs_producer *producer, uint32_t row);

/* Trims all tables (base/interner.h).  There must be no snapshot. */
void hs_tables_trim(struct hs_producer *producer);

#endif
