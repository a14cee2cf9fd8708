/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pauses in long work of the producer.  In a pause it takes records from the ring, so the books may
 * grow; and the process may fork, whose child has the books but not the thread that paused.
 * Threads: the producer.
 */
#ifndef HS_BASE_PAUSES_H
#define HS_BASE_PAUSES_H

#include <stdint.h>

struct hs_pauses {
	void (*pause)(void); /* NULL: not called */
	uint32_t pieces;     /* since the last pause */
};

/* Pauses now. */
void hs_pauses_take(struct hs_pauses *pauses);

/* A piece of work is done: pauses if there were enough since the last pause. */
void hs_pauses_count(struct hs_pauses *pauses);

#endif
