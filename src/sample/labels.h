/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The labels that a program sets for its threads.
 *
 * A thread has a set of labels, sorted by key, and the set a number; samples and rows carry the
 * number.  Sets are never changed, and stay: setting a label gives the thread another set,
 * which is added to the table if nobody has had it before.
 *
 * Adding is lock-free.  A thread reserves a place, fills it, and publishes it by a compare and
 * swap of an empty slot of the hash table; of two threads (or a thread and its handler) that
 * add the same set one wins, and the other's place is wasted.  So is that of a thread that is
 * killed, or forked away from, before it publishes.
 *
 * Threads: any, signal handlers too.  Memory: 1 MiB of the arena's range, reserved at
 * start-up; usable, and counted, from the first label on.
 */
#ifndef HS_SAMPLE_LABELS_H
#define HS_SAMPLE_LABELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Without their NULs. */
#define HS_LABEL_KEY_BYTES 63
#define HS_LABEL_VALUE_BYTES 255

/* The most that a set holds; bytes with a NUL for each key and value. */
#define HS_LABELS_MAX 8
#define HS_LABELS_BYTES 1000

/* The most sets that there can be. */
#define HS_LABEL_SETS 4096

/* Reserve the memory.  Start-up.  Without it, or if there is none, no label can be set. */
void hs_labels_init(void);

/*
 * Set one label in a thread's set (value NULL or "": remove it; key NULL: remove all).
 * labels: of the calling thread, which its handlers may change at any time.
 *
 * Returns 0, or what heapsample_set_label() does; then the set is as before.  -ENOSPC is counted
 * as labels_refused.  Blocks, allocates: never.  Errno: not touched.
 */
int hs_labels_set(_Atomic uint32_t *labels, const char *key, const char *value);

/* Whether there can be a set of that number, or it is 0. */
static inline bool hs_labels_has_number(uint32_t labels)
{
	return labels <= HS_LABEL_SETS;
}

/*
 * The text of a set, for good: key NUL value NUL, ..., NUL, sorted by key.  NULL for 0.
 * The number has come from the thread that has set it, by whatever synchronises.
 */
const char *hs_labels_text(uint32_t labels);

#endif
