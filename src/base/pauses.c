/* SPDX-License-Identifier: BSD-2-Clause */
/* Pauses in long work.  Runs on the producer. */
#include "base/pauses.h"

#include <stddef.h>

#define PIECES_PER_PAUSE 256

void hs_pauses_take(struct hs_pauses *pauses)
{
	pauses->pieces = 0;
	if (pauses->pause != NULL)
		pauses->pause();
}

void hs_pauses_count(struct hs_pauses *pauses)
{
	if (++pauses->pieces >= PIECES_PER_PAUSE)
		hs_pauses_take(pauses);
}
