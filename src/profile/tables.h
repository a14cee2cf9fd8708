/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The books' tables taken together: what a row keeps in the others, and the room of all.
 * Threads: the producer.
 */
#ifndef HS_PROFILE_TABLES_H
#define HS_PROFILE_TABLES_H

#include <stdint.h>

struct hs_producer;

/* Releases what a row holds in the other tables: it is about to be removed. */
void hs_tables_let_row_go(struct hs_producer *producer, uint32_t row);

/* Trim all (base/interner.h).  When there is no snapshot. */
void hs_tables_trim(struct hs_producer *producer);

#endif
