/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pauses in long work of the producer, in which it takes records and lets a fork in between: the
 * books may grow meanwhile, and the child of a fork does not have the stack of who paused.
 * Threads: the producer.
 */
#ifndef HS_BASE_PAUSES_H
#define HS_BASE_PAUSES_H

#include <stdint.h>

struct hs_pauses {
	void (*pause)(void *context); /* NULL: not called */
	void *context;
	uint32_t pieces; /* since the last pause */
};

/* A pause now; and one if enough pieces of work, of which one is done, were since the last. */
void hs_pauses_take(struct hs_pauses *pauses);
void hs_pauses_count(struct hs_pauses *pauses);

#endif
