/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of items of one size, each found by the key it begins with, numbered from 0
 * in the order of their arrival.  The number of an item that was removed is given out
 * again.  The table gives memory back only when it is trimmed.
 *
 * Items move when the table grows: hold numbers, not pointers, over an add.
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_BASE_INTERNER_H
#define HS_BASE_INTERNER_H

#include <stdbool.h>
#include <stdint.h>

#define HS_INTERNER_NONE UINT32_MAX

#define HS_INTERNER_BITS 64

struct hs_interner {
	unsigned char *items; /* of a number that is not in use: the next such, in 4 bytes */
	uint32_t *slots;      /* open addressing: number + 1; 0 = empty; twice capacity */
	uint64_t *in_use;     /* a bit per number */
	uint32_t count;       /* numbers are below; while nothing is removed, all in use */
	uint32_t used;        /* numbers in use */
	uint32_t first_free;  /* the next number given out; HS_INTERNER_NONE: it is count */
	uint32_t capacity;    /* a power of two */
	uint32_t item_bytes;
	uint32_t key_bytes; /* a multiple of 4, no padding in it */
};

/* Returns 0 or -ENOMEM; then there is nothing to give back. */
int hs_interner_init(struct hs_interner *interner, uint32_t item_bytes, uint32_t key_bytes);
void hs_interner_fini(struct hs_interner *interner);

/* The number of the item with this key, or HS_INTERNER_NONE. */
uint32_t hs_interner_find(const struct hs_interner *interner, const void *key);

/*
 * As above; a copy of item is added if there is none.  HS_INTERNER_NONE: out of
 * memory, the table is as before.
 */
uint32_t hs_interner_add(struct hs_interner *interner, const void *item);

/* number: in use.  Allocates nothing. */
void hs_interner_remove(struct hs_interner *interner, uint32_t number);

/*
 * To be called from time to time.  Lets go of half of the room or more if numbers in its first
 * quarter were enough since the call before, and gives the lowest free ones out first from
 * now on.  Items move, but keep their numbers.
 */
void hs_interner_trim(struct hs_interner *interner);

/* Whether a number below count has an item. */
static inline bool hs_interner_is_used(const struct hs_interner *interner, uint32_t number)
{
	return (interner->in_use[number / HS_INTERNER_BITS] >> number % HS_INTERNER_BITS & 1) != 0;
}

static inline void *hs_interner_item(const struct hs_interner *interner, uint32_t number)
{
	return interner->items + (uint64_t)number * interner->item_bytes;
}

#endif
