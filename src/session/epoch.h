/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts and stops sampling, and resets the books.
 *
 * While sampling is stopped countdowns go on, but where one ends nothing is sampled.  So when it is
 * started again every byte is as likely to be chosen as before, at once and on all threads.  Frees
 * of samples in the books are always followed.
 *
 * The producer's thread, producer_batch held.
 */
#ifndef HS_SESSION_EPOCH_H
#define HS_SESSION_EPOCH_H

#include <stdbool.h>

/* 0; -EALREADY: it is on (counted as starts_refused); -ECANCELED: it has ended for good. */
int hs_epoch_start(void);

/* Afterwards all that was sampled is in the books.  0; -EALREADY: it is off. */
int hs_epoch_stop(void);

/* Empties the books, as if the program had just begun.  0 or -ENOMEM. */
int hs_epoch_reset(void);

/* Whether sampling has ever been on; whether it has been on from the start, without a reset. */
bool hs_epoch_was_on(void);
bool hs_epoch_was_always_on(void);

/* active: whether sampling is on.  Start-up. */
void hs_epoch_init(bool active);

#endif
