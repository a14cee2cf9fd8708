/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of threads, for the label "thread", read from /proc when a sample is handled; for a thread
 * that is gone, the name last read.
 *
 * A name is held by the events and rows that keep its number, and by the thread that was last
 * called so.  One that nobody holds any more goes, and its number is given out again.
 *
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_PROFILE_THREAD_NAMES_H
#define HS_PROFILE_THREAD_NAMES_H

#include "base/interner.h"
#include "base/pauses.h"

struct hs_thread_names {
	struct hs_interner names; /* number 0: not known; it stays */
	struct hs_interner tids;  /* tid -> the name last read */
};

/* Returns 0 or -ENOMEM. */
int hs_thread_names_init(struct hs_thread_names *names);
void hs_thread_names_fini(struct hs_thread_names *names);

/* The number of the name of thread tid, held; 0: not known, or out of memory. */
uint32_t hs_thread_names_read(struct hs_thread_names *names, uint32_t tid);

/* A holder has let go.  number: may be 0. */
void hs_thread_names_release(struct hs_thread_names *names, uint32_t number);

/* Forget threads that are gone and were not read since the call before. */
void hs_thread_names_forget_gone(struct hs_thread_names *names, struct hs_pauses *pauses);

/* The text of a number: never "", NULL for 0.  Stays as long as the number is held. */
const char *hs_thread_names_text(const struct hs_thread_names *names, uint32_t number);

#endif
