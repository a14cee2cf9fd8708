/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switching sampling on and off, and new books.
 *
 * While it is off, countdowns go on as before, and where one ends nothing is sampled: so each
 * thread is in step at once when it is on again, with every byte as likely to be chosen as ever.
 * Frees of what is in the books are followed all the time.
 *
 * The producer's thread, producer_batch held.
 */
#ifndef HS_SESSION_EPOCH_H
#define HS_SESSION_EPOCH_H

#include <stdbool.h>

/* 0; -EALREADY: it is on (counted, starts_refused); -ECANCELED: it was ended for good. */
int hs_epoch_start(void);

/* What was sampled before is in the books then.  0; -EALREADY: it is off. */
int hs_epoch_stop(void);

/* Empty books, as if the program had just begun.  0 or -ENOMEM. */
int hs_epoch_reset(void);

/* At start-up: on or not. */
void hs_epoch_init(bool active);

#endif
