/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known about pcs.  Written by the unwinding worker.  See known_pcs.h. */
#include "sample/known_pcs.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "sample/trail.h"

#define CACHE_LINE 64u

#define SETS_BYTES (HS_KNOWN_PCS_SETS * sizeof(struct hs_known_pc[HS_KNOWN_PCS_WAYS]))
#define TRAILS_BYTES (HS_TRAILS * sizeof(struct hs_trail))

enum { WORDS = sizeof(struct hs_pc) / sizeof(uint64_t) };

_Static_assert(CACHE_LINE % sizeof(struct hs_known_pc) == 0, "each is in one cache line");
_Static_assert(WORDS == 4 && HS_KNOWN_PC_STAMPED == 1 && offsetof(struct hs_pc, pc) == 0,
	       "as hs_known_pcs_find() copies it");

int hs_known_pcs_init(struct hs_known_pcs *pcs)
{
	/* Not hs_arena_aligned_alloc(): what has to be zeroed there need not be touched here. */
	void *block = hs_arena_zalloc(SETS_BYTES + TRAILS_BYTES + CACHE_LINE);
	uintptr_t start = ((uintptr_t)block + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1);

	if (block == NULL)
		return -ENOMEM;
	*pcs = (struct hs_known_pcs){
		.sets = (void *)start,
		.block = block,
		.trails = (void *)(start + SETS_BYTES),
		.next_stamp = 1,
		.oldest = 1,
		.valid = UINT64_MAX,
	};
	return 0;
}

void hs_known_pcs_destroy(struct hs_known_pcs *pcs)
{
	hs_arena_free(pcs->block);
}

/* So that readers take no half of it: first there is no stamp, and at last a new one. */
static void write_entry(struct hs_known_pc *entry, const uint64_t words[WORDS])
{
	atomic_store_explicit(&entry->words[HS_KNOWN_PC_STAMPED], 0, memory_order_relaxed);
	/* Release: each has the store above before it, see hs_known_pcs_find(). */
	for (unsigned i = 0; i < WORDS; i++) {
		if (i != HS_KNOWN_PC_STAMPED)
			atomic_store_explicit(&entry->words[i], words[i], memory_order_release);
	}
	atomic_store_explicit(&entry->words[HS_KNOWN_PC_STAMPED], words[HS_KNOWN_PC_STAMPED],
			      memory_order_release);
}

/* Stamps have run out: begin again, with nothing known. */
static void begin_again(struct hs_known_pcs *pcs)
{
	static const uint64_t nothing[WORDS];

	for (uint32_t set = 0; set < HS_KNOWN_PCS_SETS; set++) {
		for (unsigned way = 0; way < HS_KNOWN_PCS_WAYS; way++)
			write_entry(&pcs->sets[set][way], nothing);
	}
	pcs->next_stamp = 1;
	atomic_store_explicit(&pcs->oldest, 1, memory_order_relaxed);
}

void hs_known_pcs_drop(struct hs_known_pcs *pcs)
{
	atomic_store_explicit(&pcs->oldest, pcs->next_stamp, memory_order_relaxed);
}

void hs_known_pcs_vouch(struct hs_known_pcs *pcs, uint32_t closes_over)
{
	/* Threads that walk read this line for each sample: it is written when it changes. */
	if (atomic_load_explicit(&pcs->valid, memory_order_relaxed) != closes_over)
		atomic_store_explicit(&pcs->valid, closes_over, memory_order_release);
}

/* Of a set: one that says nothing, or else any, so that not always the same ones take turns. */
static struct hs_known_pc *place_for_one_more(struct hs_known_pcs *pcs, struct hs_known_pc *set)
{
	uint32_t oldest = atomic_load_explicit(&pcs->oldest, memory_order_relaxed);

	for (unsigned way = 0; way < HS_KNOWN_PCS_WAYS; way++) {
		struct hs_pc there;

		/* This thread alone writes: what it reads is whole. */
		memcpy(&there, (const void *)&set[way], sizeof there);
		if (there.stamp < oldest)
			return &set[way];
	}
	return &set[pcs->next_stamp % HS_KNOWN_PCS_WAYS];
}

void hs_known_pcs_add(struct hs_known_pcs *pcs, const struct hs_pc *pc)
{
	struct hs_known_pc *set = pcs->sets[hs_known_pcs_set(pc->pc, pc->is_call)];
	struct hs_pc added = *pc;
	uint64_t words[WORDS];

	if (pcs->next_stamp == UINT32_MAX)
		begin_again(pcs);
	added.stamp = pcs->next_stamp;
	memcpy(words, &added, sizeof words);
	write_entry(place_for_one_more(pcs, set), words);
	pcs->next_stamp++;
}
