/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The journal of frees, for intervals below 512k: which sample was freed under which sequence
 * number.
 *
 * Without it a thread that frees writes to the sample's slot, which is usually a cache miss, and
 * the producer follows lists through slots, more misses.  With it a thread writes a journal entry
 * beside the one before, and need not touch the slot.
 *
 * A ring of entries; the entry of number n is at n modulo their count.  A thread takes a number,
 * writes the entry, and only then frees the memory.  The producer, which handles events in the
 * order of their numbers, finds the free at its number and clears the entry.
 *
 * An entry of the lap before that is still there is not overwritten: the slot goes on the freed
 * list then, as without a journal, so no free is lost.  An entry written after the producer has
 * given up waiting for its number is found a lap later, or before the next profile.
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

/* count: of entries, a power of two that fills pages.  Start-up.  0, or -ENOMEM: no journal. */
int hs_free_journal_init(uint64_t count);

/* Prefetches the place of a free that is about to be put, of about this number.  Any thread. */
void hs_free_journal_fetch(uint64_t number);

/* Writes an entry.  False: there still is one in its place.  Any thread, signal handlers too. */
bool hs_free_journal_put(uint64_t number, uint32_t slot, uint64_t address);

/* --- the producer's side ------------------------------------------------------- */

struct hs_journaled {
	uint32_t slot;
	uint32_t address_bits; /* for hs_live_set_take_journaled() */
	bool is_late;          /* of an earlier lap */
};

/* Takes the entry in the place of a number: its own, or an earlier lap's.  False: there is none. */
bool hs_free_journal_take(uint64_t number, struct hs_journaled *out);

/* Whether an entry of an earlier lap is in the place of a number.  Touches no new page. */
bool hs_free_journal_is_late(uint64_t number);

/* The slot of the entry in the place of a number, which stays; HS_SLOT_NONE: there is none. */
uint32_t hs_free_journal_peek(uint64_t number);

/* The lowest number in [from, to) that has an entry; 0: none. */
uint64_t hs_free_journal_first(uint64_t from, uint64_t to);

/* Has the kernel give pages to the entries from number `next` on. */
void hs_free_journal_maintain(uint64_t next);

/* Some bits of an address, to recognise a slot that another sample has by now. */
static inline uint32_t hs_free_journal_bits(uint64_t address)
{
	return address >> 4 & 0xffff;
}

#endif
