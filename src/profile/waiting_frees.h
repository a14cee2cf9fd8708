/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frees that are far ahead of their turn, in lists of slots, by number.  They need no memory,
 * however many they are: a slot has all about its free, and is not reused before that is committed.
 * Threads: the producer.
 */
#ifndef HS_PROFILE_WAITING_FREES_H
#define HS_PROFILE_WAITING_FREES_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers are waited for in spans of so many. */
#define HS_WAITING_SPAN 256u

/* A free is due when the number waited for is in its span or the one before. */
#define HS_WAITING_DUE (2 * HS_WAITING_SPAN)

enum { HS_WAITING_LISTS = 1024 };

struct hs_waiting_frees {
	uint32_t lists[HS_WAITING_LISTS]; /* first slot; a span is in the list of its remainder */
	uint32_t looked_at; /* the first slot of those left of the list that is looked through */
	uint32_t count;
	uint64_t next_span; /* those before have been looked through */
};

void hs_waiting_frees_init(struct hs_waiting_frees *frees);

/* Whether a free's turn is less than HS_WAITING_DUE from the number that is waited for. */
static inline bool hs_waiting_frees_is_due(uint64_t number, uint64_t next)
{
	return number / HS_WAITING_SPAN <= next / HS_WAITING_SPAN + 1;
}

/* Keeps a slot that is not due.  _take() must have returned none for the number waited for. */
void hs_waiting_frees_add(struct hs_waiting_frees *frees, uint32_t slot);

/* Take a slot that has become due, or HS_SLOT_NONE. */
uint32_t hs_waiting_frees_take(struct hs_waiting_frees *frees, uint64_t next);

/* The lowest number; 0 if there is none.  Slow: walks the lists up to it. */
uint64_t hs_waiting_frees_first(const struct hs_waiting_frees *frees);

#endif
