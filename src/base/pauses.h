/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pauses in long work of the producer.  In a pause it takes records from the ring, so the books may
 * grow; and the process may fork, whose child has the books but not the thread that paused.
 * Threads: the producer.
 */
#ifndef HS_BASE_PAUSES_H
#define HS_BASE_PAUSES_H

#include <stdint.h>

enum hs_at_file {
	HS_AT_FILE_BEGINS, /* what follows may wait for a disk: a pause, until _ENDS */
	HS_AT_FILE_OPENS,  /* a file is opened and noted, or closed: a fork waits a moment, */
	HS_AT_FILE_OPENED, /* until this */
	HS_AT_FILE_ENDS,
};

struct hs_pauses {
	void (*pause)(void); /* NULL: not called */
	void (*at_file)(enum hs_at_file what); /* NULL: files are read without a pause */
	uint32_t pieces; /* since the last pause */
};

/* Pauses now. */
void hs_pauses_take(struct hs_pauses *pauses);

/* A piece of work is done: pauses if there were enough since the last pause. */
void hs_pauses_count(struct hs_pauses *pauses);

#endif
