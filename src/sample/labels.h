/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The labels that a program sets for its threads.
 *
 * A thread has a set of labels, sorted by key.  Each distinct set has a number, which samples and
 * rows carry.  A set is never changed or removed: setting a label gives the thread another set,
 * which is added to the table if nobody has had it before.
 *
 * Adding is lock-free.  A thread reserves a place, fills it, and publishes it by a compare-and-swap
 * of an empty slot of the hash table.  If two threads (or a thread and its handler) add the same
 * set, one wins and the other's place is wasted.  So is that of a thread that is killed, or forked
 * away from, before it publishes.
 *
 * Threads: any, signal handlers too.  Memory: 1 MiB of the arena's range, reserved at start-up,
 * committed and counted with the first label.
 */
#ifndef HS_SAMPLE_LABELS_H
#define HS_SAMPLE_LABELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Without their NULs. */
#define HS_LABEL_KEY_BYTES 63
#define HS_LABEL_VALUE_BYTES 255

/* The most labels of a set, and their bytes with a NUL for each key and value. */
#define HS_LABELS_MAX 8
#define HS_LABELS_BYTES 1000

/* The most sets that there can be. */
#define HS_LABEL_SETS 4096

/* Reserves the memory; without it no label can be set.  Start-up. */
void hs_labels_init(void);

/*
 * Sets one label of a thread (value NULL or "": removes it; key NULL: removes all).  labels: of the
 * calling thread; its handlers may change it at any time.
 *
 * Returns 0, or an error as heapsample_set_label(), and the set is as before.  -ENOSPC is counted
 * as labels_refused.  Blocks, allocates: never.  Errno: not touched.
 */
int hs_labels_set(_Atomic uint32_t *labels, const char *key, const char *value);

/*
 * Whether hs_labels_text() can be asked for a number: it is 0, or small enough for a set's, and
 * there are sets.  Others are in records that the program has damaged.
 */
bool hs_labels_has_number(uint32_t labels);

/*
 * The text of a set, which stays valid: key NUL value NUL ... NUL, sorted by key.  NULL for 0.
 * The number must have come from the thread that set it by something that synchronises.
 */
const char *hs_labels_text(uint32_t labels);

#endif
