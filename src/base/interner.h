/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of items of one size, each found by the key it begins with, numbered from 0
 * in the order of their arrival.  The number of an item that was removed is given out
 * again.  The table gives memory back only when it is trimmed.
 *
 * It grows part by part, so that only what finds the items is ever there twice: near the end of
 * the memory it still grows.
 *
 * Items of the first part move when the table grows: hold numbers, not pointers, over an add.
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_BASE_INTERNER_H
#define HS_BASE_INTERNER_H

#include <stdbool.h>
#include <stdint.h>

#define HS_INTERNER_NONE UINT32_MAX

#define HS_INTERNER_BITS 64

/* Numbers of a part, as a logarithm: parts of the books are blocks that give their pages back. */
#define HS_INTERNER_PART_LG 12
#define HS_INTERNER_PART (1u << HS_INTERNER_PART_LG)

struct hs_interner_part {
	uint64_t in_use[HS_INTERNER_PART / HS_INTERNER_BITS]; /* a bit per number */
	unsigned char items[]; /* of a number that is not in use: the next such, in 4 bytes */
};

struct hs_interner {
	struct hs_interner_part **parts; /* of HS_INTERNER_PART numbers; the first may be shorter */
	uint32_t *slots;     /* open addressing: number + 1; 0 = empty */
	uint32_t slot_count; /* a power of two */
	uint32_t capacity;   /* numbers for which there are parts */
	uint32_t count;      /* numbers are below; while nothing is removed, all in use */
	uint32_t used;       /* numbers in use */
	uint32_t first_free; /* the next number given out; HS_INTERNER_NONE: it is count */
	uint32_t item_bytes;
	uint32_t key_bytes; /* a multiple of 4, no padding in it */
	bool is_full;       /* set by the owner: nothing is added, as if memory were out */
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

static inline struct hs_interner_part *hs_interner_part(const struct hs_interner *interner,
							uint32_t number)
{
	return interner->parts[number >> HS_INTERNER_PART_LG];
}

/* Whether a number below count has an item. */
static inline bool hs_interner_is_used(const struct hs_interner *interner, uint32_t number)
{
	uint32_t place = number % HS_INTERNER_PART;

	return (hs_interner_part(interner, number)->in_use[place / HS_INTERNER_BITS] >>
			(place % HS_INTERNER_BITS) &
		1) != 0;
}

static inline void *hs_interner_item(const struct hs_interner *interner, uint32_t number)
{
	return hs_interner_part(interner, number)->items +
	       number % HS_INTERNER_PART * interner->item_bytes;
}

#endif
