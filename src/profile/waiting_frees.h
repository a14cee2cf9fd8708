/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frees that are far ahead of their turn: lists of slots, by sequence number.  A slot has all that
 * is known of its free, and is not used again before it.  So they need no memory, however many they
 * are and however far their numbers are apart.
 *
 * Called on: the producer.  Allocates: never.
 */
#ifndef HS_PROFILE_WAITING_FREES_H
#define HS_PROFILE_WAITING_FREES_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers are divided into spans of so many. */
#define HS_WAITING_SPAN 256u

/* A free is due when the number waited for is in its span or the one before. */
#define HS_WAITING_DUE (2 * HS_WAITING_SPAN)

enum { HS_WAITING_LISTS = 1024 };

struct hs_waiting_frees {
	uint32_t lists[HS_WAITING_LISTS]; /* first slots; span s is in list s % HS_WAITING_LISTS */
	uint32_t looked_at; /* first of the slots that are left of the list being looked through */
	uint32_t count;
	uint64_t next_span; /* the lists of all spans before it have been looked through */
};

void hs_waiting_frees_init(struct hs_waiting_frees *frees);

/* Whether a free is due.  next: the number waited for. */
static inline bool hs_waiting_frees_is_due(uint64_t number, uint64_t next)
{
	return number / HS_WAITING_SPAN <= next / HS_WAITING_SPAN + 1;
}

/*
 * Adds a slot that is not due.  This and _first(): not before _take() has returned HS_SLOT_NONE for
 * the present `next`.
 */
void hs_waiting_frees_add(struct hs_waiting_frees *frees, uint32_t slot);

/* Takes a slot that is due, or HS_SLOT_NONE. */
uint32_t hs_waiting_frees_take(struct hs_waiting_frees *frees, uint64_t next);

/* The lowest number; 0: there is none.  Slow: walks the lists up to it. */
uint64_t hs_waiting_frees_first(const struct hs_waiting_frees *frees);

#endif
