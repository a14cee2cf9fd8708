/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The journal of frees: which sample was freed with which number.  At intervals below 512k: a slot
 * that was used long ago, or that the producer has read, is a cache line to wait for, and the
 * thread that frees need not write to it, with the live set's map not even look at it; nor does the
 * producer go from slot to slot, which takes the longer the more are live.
 *
 * A ring of entries; that of a number is at the number modulo their count.  A free's number is
 * taken, its entry written, and then the memory given back.  The producer, which takes events in
 * the order of their numbers, finds a free when it comes to its number, and clears the entry.
 *
 * An entry of a lap ago that is still there is not overwritten: then the slot goes on the freed
 * list, as without a journal, so no free is lost.  A thread that comes to its entry when the
 * producer has given up its number is found a lap later, or before the next profile.
 *
 * Written by: any thread, lock-free.  Read and cleared by: the producer.
 */
#ifndef HS_SAMPLE_FREE_JOURNAL_H
#define HS_SAMPLE_FREE_JOURNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/visibility.h"

/* Start-up; entries is NULL without a journal. */
struct hs_free_journal {
	_Atomic uint64_t *entries;
	uint64_t count; /* a power of two */
	unsigned lg;    /* its logarithm */
};
extern HS_HIDDEN struct hs_free_journal hs_free_journal;

static inline bool hs_free_journal_is_kept(void)
{
	return hs_free_journal.entries != NULL;
}

/*
 * A journal of so many entries: a power of two, pages of them.  Start-up.  0 or -ENOMEM: there is
 * none.
 */
int hs_free_journal_init(uint64_t count);

/* A free of about that number will be put: have its place fetched.  Any thread. */
void hs_free_journal_fetch(uint64_t number);

/* False: there is an entry in the place. */
bool hs_free_journal_put(uint64_t number, uint32_t slot, uint64_t address);

/* --- the producer's side ------------------------------------------------------- */

struct hs_journaled {
	uint32_t slot;
	uint32_t address_bits; /* for hs_live_set_take_journaled() */
	bool is_late;          /* of an earlier lap */
};

/* Take what is in the place of a number: its entry, or an earlier one.  False: there is none. */
bool hs_free_journal_take(uint64_t number, struct hs_journaled *out);

/* Whether there is an entry of an earlier lap in the place of a number, in pages that are there. */
bool hs_free_journal_is_late(uint64_t number);

/* The slot in the place of a number, without taking it; HS_SLOT_NONE: there is nothing. */
uint32_t hs_free_journal_peek(uint64_t number);

/* The first number from `from` on, below `to`, that is there; 0: none. */
uint64_t hs_free_journal_first(uint64_t from, uint64_t to);

/* Have pages for what comes next. */
void hs_free_journal_maintain(uint64_t next);

/* Some bits of an address, to tell a slot that is another sample's by now. */
static inline uint32_t hs_free_journal_bits(uint64_t address)
{
	return address >> 4 & 0xffff;
}

#endif
