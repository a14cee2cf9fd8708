/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of threads, for the label "thread": as /proc has them when the producer takes a thread's
 * first sample of a batch, or for a thread that is gone the last that was read.  Threads that are
 * gone are forgotten as new ones come, which may have their ids.
 *
 * A name is held by events and rows that have its number, and by the thread that had it last.
 * Without holders it is removed, and its number is given out again.
 *
 * Called on: the producer.  Allocates: from the arena.  Blocks: reads files of /proc.
 */
#ifndef HS_PROFILE_THREAD_NAMES_H
#define HS_PROFILE_THREAD_NAMES_H

#include "base/interner.h"
#include "base/pauses.h"

struct hs_thread_names {
	struct hs_interner names; /* number 0, for good: the name is not known */
	struct hs_interner tids;  /* from a tid to the name that was last read */
	uint32_t next;            /* number of the tid to look at next */
	uint32_t batch;           /* names are read once in each */
};

/* Returns 0 or -ENOMEM. */
int hs_thread_names_init(struct hs_thread_names *names);
void hs_thread_names_fini(struct hs_thread_names *names);

/* From now on each thread's name is read anew. */
void hs_thread_names_begin_batch(struct hs_thread_names *names);

/* The number of the name of thread tid, held; 0: not known, or out of memory. */
uint32_t hs_thread_names_read(struct hs_thread_names *names, uint32_t tid);

/* Releases a name.  number: may be 0. */
void hs_thread_names_release(struct hs_thread_names *names, uint32_t number);

/* Forgets all threads that are gone, except those that were read not long ago. */
void hs_thread_names_forget_gone(struct hs_thread_names *names, struct hs_pauses *pauses);

/* The text of a number: never "", NULL for 0.  Valid as long as the number is held. */
const char *hs_thread_names_text(const struct hs_thread_names *names, uint32_t number);

#endif
