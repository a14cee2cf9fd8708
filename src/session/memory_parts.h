/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much memory the profiler may have, and its two parts: one is for the books and all else that
 * lasts, and the other is kept for writing profiles.
 *
 * While a profile is written it may take all of the memory.  In its pauses, in which the books go
 * on, what it has taken so far does not count as theirs.
 *
 * Called on: the producer, or the worker in its place, producer_batch held; start-up; in a forked
 * child.
 */
#ifndef HS_SESSION_MEMORY_PARTS_H
#define HS_SESSION_MEMORY_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Start-up: makes the arena.  0 or -errno. */
int hs_memory_init(void);

/*
 * HEAPSAMPLE_MEMORY; less if the memory cgroup's limit leaves less, or a resource limit: then three
 * quarters of the arena's addresses, as blocks that are free lie between those in use.  Any thread.
 */
uint64_t hs_memory_most(void);

/* What bounds it, for messages.  The text is valid until the next call, here and below. */
const char *hs_memory_bound(void);

/* What may be the reason if hs_memory_init() fails, for messages. */
const char *hs_memory_limits(void);

/*
 * Sets the arena's budget and the room that it keeps anew: the memory may have become less
 * (hs_memory_most()).
 */
void hs_memory_follow(void);

/* A profile is going to be written. */
void hs_memory_begin_writing(void);

/*
 * Around what is done for the books, perhaps while a profile is being written: then begin returns
 * true.  The worker's turn may overlap one of the producer's, which lets go of its lock at
 * messages, and the beginning and the end of a profile.
 */
bool hs_memory_begin_books_turn(void);
void hs_memory_end_books_turn(void);

/* The profile is written, or given up, and has freed what it had taken. */
void hs_memory_end_writing(void);

/* In a forked child, where nobody is writing. */
void hs_memory_after_fork(void);

/*
 * The books' part, and what they have of it; to which belongs what their profile would need of it,
 * because it does not fit into its own.
 */
size_t hs_memory_of_books(void);
size_t hs_memory_used_by_books(void);

#endif
