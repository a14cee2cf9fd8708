/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A four-way cache of pcs seen before: in which mapping each is, and the row that leads to its
 * caller.  It saves the worker the look-ups in mapping table, code and unwind tables, and is all
 * that the program's threads need to walk their own stacks.
 *
 * Threads: the unwinding worker writes.  Any thread reads, signal handlers too; an entry that is
 * being written is not found.  Memory: the arena; a table of 16 KiB at first, then tables each four
 * times as large, up to 16 MiB (524,288 pcs), but at most a sixteenth of the profiler's memory.
 * The smaller ones are kept, because a thread may still be reading one, and what it finds there is
 * right: a third more in all.
 */
#ifndef HS_SAMPLE_KNOWN_PCS_H
#define HS_SAMPLE_KNOWN_PCS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/libraries.h"
#include "sample/unwind_row.h"

#define HS_KNOWN_PCS_WAYS 4u
#define HS_KNOWN_PCS_TABLES 6u

struct hs_trail;

struct hs_pc {
	uint64_t pc;
	uint32_t mapping; /* its number in the mapping table */
	uint32_t stamp;   /* a new one each time the entry is written; 0: being written */
	struct hs_unwind_row row;
	bool is_call; /* pc is a return address: the call site is pc - 1 */
	bool is_own;  /* pc is in this library */
};

/* A struct hs_pc, which threads may read while it is written. */
struct hs_known_pc {
	_Atomic uint64_t words[sizeof(struct hs_pc) / sizeof(uint64_t)];
};

/* The word with the stamp. */
enum { HS_KNOWN_PC_STAMPED = offsetof(struct hs_pc, stamp) / sizeof(uint64_t) };

struct hs_known_pcs {
	/* The current table: address of its sets | the shift that makes a set's number of a hash */
	_Atomic uintptr_t table;
	void *blocks[HS_KNOWN_PCS_TABLES]; /* to be freed: of all tables, the smallest first */
	void *trails_block;
	struct hs_trail *trails; /* of threads that walk with this cache */
	uint32_t next_stamp;     /* the worker's */
	_Atomic uint32_t oldest; /* entries with lower stamps have been dropped */
	_Atomic hs_closes valid; /* the entries hold while this is hs_closes_now(), */
	_Atomic uint64_t opens;  /* and this hs_library_opens */
};

/* Returns 0 or -ENOMEM. */
int hs_known_pcs_init(struct hs_known_pcs *pcs);
void hs_known_pcs_destroy(struct hs_known_pcs *pcs);

/* Drops all entries: addresses may mean something else now.  The worker. */
void hs_known_pcs_drop(struct hs_known_pcs *pcs);

/*
 * From now on the entries hold for stacks, as long as the counts of closes and opens are these, and
 * no close is under way.  Release: pairs with the acquire in hs_known_pcs_hold(), for what was
 * dropped and added before.  The worker.
 */
void hs_known_pcs_vouch(struct hs_known_pcs *pcs, uint32_t closes_over, uint64_t opens);

/*
 * No library has been opened since the maps were read, perhaps where one was that went without a
 * dlclose() that is counted.  Any thread.
 */
static inline bool hs_known_pcs_are_of_now(const struct hs_known_pcs *pcs)
{
	return atomic_load_explicit(&hs_library_opens, memory_order_relaxed) ==
	       atomic_load_explicit(&pcs->opens, memory_order_acquire);
}

/* Whether the entries hold for this thread's stack now.  Any thread. */
static inline bool hs_known_pcs_hold(const struct hs_known_pcs *pcs)
{
	return hs_closes_now() == atomic_load_explicit(&pcs->valid, memory_order_acquire) &&
	       hs_known_pcs_are_of_now(pcs);
}

/* The set of the current table that a pc belongs to.  Acquire: what is in the table. */
static inline struct hs_known_pc *hs_known_pcs_set(const struct hs_known_pcs *pcs, uint64_t pc,
						   bool is_call)
{
	uintptr_t table = atomic_load_explicit(&pcs->table, memory_order_acquire);
	uint64_t hash = (pc + is_call) * HS_HASH_FACTOR;

	return (struct hs_known_pc *)(table & ~(uintptr_t)63) +
	       (hash >> (table & 63)) * HS_KNOWN_PCS_WAYS;
}

/* Copies the entry of a pc.  False: there is none. */
static inline bool hs_known_pcs_find(const struct hs_known_pcs *pcs, uint64_t pc, bool is_call,
				     struct hs_pc *out)
{
	const struct hs_known_pc *set = hs_known_pcs_set(pcs, pc, is_call);
	/* Acquire: pairs with the release in begin_again(), for the entries that it has cleared. */
	uint32_t oldest = atomic_load_explicit(&pcs->oldest, memory_order_acquire);

	for (unsigned way = 0; way < HS_KNOWN_PCS_WAYS; way++) {
		const _Atomic uint64_t *words = set[way].words;
		uint64_t stamped, *copy = (uint64_t *)(void *)out;

		if (atomic_load_explicit(&words[0], memory_order_relaxed) != pc)
			continue;
		/*
		 * All acquire: pairs with the releases in hs_known_pcs_add().  If any of the words
		 * is of the next entry, the stamp is seen to be gone.
		 */
		stamped = atomic_load_explicit(&words[HS_KNOWN_PC_STAMPED], memory_order_acquire);
		copy[HS_KNOWN_PC_STAMPED] = stamped;
		copy[0] = atomic_load_explicit(&words[0], memory_order_acquire);
		copy[2] = atomic_load_explicit(&words[2], memory_order_acquire);
		copy[3] = atomic_load_explicit(&words[3], memory_order_acquire);
		if (atomic_load_explicit(&words[HS_KNOWN_PC_STAMPED], memory_order_relaxed) ==
			    stamped &&
		    /* The words are what *out is: NOLINTNEXTLINE(clang-analyzer-core.*) */
		    out->pc == pc && out->stamp >= oldest && out->is_call == is_call)
			return true;
	}
	return false;
}

/* Adds an entry for a pc that has none; fills in its stamp.  The worker. */
void hs_known_pcs_add(struct hs_known_pcs *pcs, const struct hs_pc *pc);

#endif
