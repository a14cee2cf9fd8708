/* SPDX-License-Identifier: BSD-2-Clause */
/* The cache of known pcs: the unwinding worker's side.  See known_pcs.h. */
#include "sample/known_pcs.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/hot.h"
#include "base/sys.h"
#include "sample/trail.h"

/* The logarithm of the number of sets of the first table, and what each further one adds to it. */
#define FIRST_SETS_LG 7
#define GROWTH_LG 2

/* A table takes at most this part of the budget, which is three quarters of all memory. */
#define BUDGET_SHARE 12

enum { WORDS = sizeof(struct hs_pc) / sizeof(uint64_t) };

_Static_assert(HS_CACHE_LINE_BYTES % sizeof(struct hs_known_pc) == 0,
	       "each is in one cache line");
_Static_assert(WORDS == 4 && HS_KNOWN_PC_STAMPED == 1 && offsetof(struct hs_pc, pc) == 0,
	       "as hs_known_pcs_find() copies it");

/* The stamp is removed first and set last, so that readers never use half an entry. */
static void write_entry(struct hs_known_pc *entry, const struct hs_pc *pc)
{
	uint64_t words[WORDS];

	memcpy(words, pc, sizeof words);
	atomic_store_explicit(&entry->words[HS_KNOWN_PC_STAMPED], 0, memory_order_relaxed);
	/* Release: each has the store above before it, see hs_known_pcs_find(). */
	for (unsigned i = 0; i < WORDS; i++) {
		if (i != HS_KNOWN_PC_STAMPED)
			atomic_store_explicit(&entry->words[i], words[i], memory_order_release);
	}
	atomic_store_explicit(&entry->words[HS_KNOWN_PC_STAMPED], words[HS_KNOWN_PC_STAMPED],
			      memory_order_release);
}

/* This thread alone writes: what it reads is whole. */
static struct hs_pc read_entry(const struct hs_known_pc *entry)
{
	struct hs_pc pc;

	memcpy(&pc, (const void *)entry, sizeof pc);
	return pc;
}

/* An entry of the pc's set that is not in use, or NULL. */
static struct hs_known_pc *free_place(const struct hs_known_pcs *pcs, struct hs_known_pc *set)
{
	uint32_t oldest = atomic_load_explicit(&pcs->oldest, memory_order_relaxed);

	for (unsigned way = 0; way < HS_KNOWN_PCS_WAYS; way++) {
		if (read_entry(&set[way]).stamp < oldest)
			return &set[way];
	}
	return NULL;
}

/* All entries of the current table, and their number. */
static struct hs_known_pc *entries(const struct hs_known_pcs *pcs, size_t *count)
{
	uintptr_t table = atomic_load_explicit(&pcs->table, memory_order_relaxed);

	*count = table == 0 ? 0 : (size_t)HS_KNOWN_PCS_WAYS << (64 - (table & 63));
	return (struct hs_known_pc *)(table & ~(uintptr_t)63);
}

/* Zeroed memory.  *block: to be freed; NULL: there is no memory. */
static void *make_aligned(size_t alignment, size_t bytes, void **block)
{
	/* hs_arena_aligned_alloc() would have to zero it, and so touch all of its pages. */
	*block = hs_arena_zalloc(bytes + alignment);
	return (void *)(((uintptr_t)*block + alignment - 1) & ~(uintptr_t)(alignment - 1));
}

/* Makes the next table; 0: it would be too large, or there is no memory. */
static uintptr_t make_table(struct hs_known_pcs *pcs)
{
	size_t number = 0, bytes;
	unsigned lg;
	void *start;

	while (number < HS_KNOWN_PCS_TABLES && pcs->blocks[number] != NULL)
		number++;
	if (number == HS_KNOWN_PCS_TABLES)
		return 0;
	lg = FIRST_SETS_LG + (unsigned)number * GROWTH_LG;
	bytes = sizeof(struct hs_known_pc[HS_KNOWN_PCS_WAYS]) << lg;
	if (bytes > hs_arena_budget() / BUDGET_SHARE)
		return 0;
	start = make_aligned(HS_CACHE_LINE_BYTES, bytes, &pcs->blocks[number]);
	if (pcs->blocks[number] == NULL)
		return 0;
	hs_sys_touch(start, bytes);
	return (uintptr_t)start | (64 - lg);
}

/* Moves all entries to the next table, which has several sets for each of this one. */
static bool grow(struct hs_known_pcs *pcs)
{
	uint32_t oldest = atomic_load_explicit(&pcs->oldest, memory_order_relaxed);
	struct hs_known_pcs next = {.oldest = oldest, .table = make_table(pcs)};
	size_t count;
	const struct hs_known_pc *from = entries(pcs, &count);

	if (next.table == 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct hs_pc pc = read_entry(&from[i]);

		if (pc.stamp >= oldest)
			write_entry(free_place(&next, hs_known_pcs_set(&next, pc.pc, pc.is_call)),
				    &pc);
	}
	/* Release: what is in the table; pairs with the acquire in hs_known_pcs_set(). */
	atomic_store_explicit(&pcs->table, next.table, memory_order_release);
	return true;
}

int hs_known_pcs_init(struct hs_known_pcs *pcs)
{
	*pcs = (struct hs_known_pcs){.next_stamp = 1, .oldest = 1, .valid = UINT64_MAX};
	pcs->trails = make_aligned(_Alignof(struct hs_trail), HS_TRAILS * sizeof(struct hs_trail),
				   &pcs->trails_block);
	if (pcs->trails_block != NULL && grow(pcs))
		return 0;
	hs_known_pcs_destroy(pcs);
	return -ENOMEM;
}

void hs_known_pcs_destroy(struct hs_known_pcs *pcs)
{
	for (size_t i = 0; i < HS_KNOWN_PCS_TABLES; i++)
		hs_arena_free(pcs->blocks[i]);
	hs_arena_free(pcs->trails_block);
	*pcs = (struct hs_known_pcs){0};
}

/* Stamps have run out: clears all entries and starts from the first. */
static void begin_again(struct hs_known_pcs *pcs)
{
	static const struct hs_pc nothing;
	size_t count;
	struct hs_known_pc *all = entries(pcs, &count);

	for (size_t i = 0; i < count; i++)
		write_entry(&all[i], &nothing);
	pcs->next_stamp = 1;
	/* Release: whoever sees it finds no entry of before, whose stamp would now do. */
	atomic_store_explicit(&pcs->oldest, 1, memory_order_release);
}

void hs_known_pcs_drop(struct hs_known_pcs *pcs)
{
	atomic_store_explicit(&pcs->oldest, pcs->next_stamp, memory_order_relaxed);
}

void hs_known_pcs_vouch(struct hs_known_pcs *pcs, uint32_t closes_over, uint64_t opens)
{
	/* Threads that walk read this cache line for each sample: written only if it changes. */
	if (atomic_load_explicit(&pcs->valid, memory_order_relaxed) != closes_over)
		atomic_store_explicit(&pcs->valid, closes_over, memory_order_release);
	if (atomic_load_explicit(&pcs->opens, memory_order_relaxed) != opens)
		atomic_store_explicit(&pcs->opens, opens, memory_order_release);
}

/* Whether sets are full because there are too many pcs, and not by chance. */
static bool is_small(const struct hs_known_pcs *pcs)
{
	uint32_t oldest = atomic_load_explicit(&pcs->oldest, memory_order_relaxed);
	size_t count;

	(void)entries(pcs, &count);
	return pcs->next_stamp - oldest >= count / HS_KNOWN_PCS_WAYS;
}

/* An unused entry of the pc's set, or else one chosen at random to be replaced. */
static struct hs_known_pc *place_for_one_more(struct hs_known_pcs *pcs, const struct hs_pc *pc)
{
	struct hs_known_pc *set = hs_known_pcs_set(pcs, pc->pc, pc->is_call);
	struct hs_known_pc *place = free_place(pcs, set);

	if (place == NULL && is_small(pcs) && grow(pcs)) {
		set = hs_known_pcs_set(pcs, pc->pc, pc->is_call);
		place = free_place(pcs, set);
	}
	return place != NULL ? place : &set[pcs->next_stamp % HS_KNOWN_PCS_WAYS];
}

void hs_known_pcs_add(struct hs_known_pcs *pcs, const struct hs_pc *pc)
{
	struct hs_pc added = *pc;

	if (pcs->next_stamp == UINT32_MAX)
		begin_again(pcs);
	added.stamp = pcs->next_stamp;
	write_entry(place_for_one_more(pcs, &added), &added);
	pcs->next_stamp++;
}
