/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heaps: malloc's, and those that the program reports through heapsample.h.
 *
 * A heap has a number, by which samples name it, and an interval of its own.
 *
 * Sampling has epochs, common to all heaps: one begins when sampling is started or the books are
 * reset, and ends when it is stopped or they are reset again.  A sample carries the epoch in which
 * it was chosen; the books drop it if that is over.
 *
 * Threads: any reads; who writes is said with each field.  Memory: static.
 */
#ifndef HS_SAMPLE_HEAP_H
#define HS_SAMPLE_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/likely.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/visibility.h"
#include "sample/free_journal.h"
#include "sample/heap_id.h"
#include "sample/sampler.h"

enum hs_heap_state {
	HS_HEAP_UNUSED,  /* or unregistered, and all its samples are freed */
	HS_HEAP_CLOSING, /* unregistered, its samples are not all freed */
	HS_HEAP_REGISTERED,
};

/* Sums of the weights of samples that could not be recorded at all. */
struct hs_lost {
	_Atomic uint64_t objects;   /* without fractions, */
	_Atomic uint64_t fractions; /* and those, in units of 1 / HS_WEIGHT_ONE */
	_Atomic uint64_t bytes;     /* the sum, rounded */
	_Atomic uint64_t byte_fractions;
};

struct hs_heap {
	char name[HS_HEAP_NAME_BYTES]; /* "" : the number was never used */

	/* Read for each sample, by the program's threads and the producer; seldom written. */
	_Alignas(64) uint64_t asked_bytes; /* the interval in the settings; 0: not sampled */
	bool is_default;        /* it is hs_options.interval_bytes, which is in another page */
	bool waits;             /* its samples wait for room, if hs_recorder.block_ns allows it */
	_Atomic uint32_t state; /* enum hs_heap_state; set after the fields above */

	/*
	 * Counted for each sample by the program's threads: see HS_HEAP_COUNTS.  One cache line,
	 * also for samples that a full ring refuses, and then on all processors at once.
	 */
	_Alignas(64) _Atomic uint64_t samples;
	_Atomic uint64_t frees, stackless, lost_ring;
	struct hs_lost lost;

	/* Counted mostly by the producer. */
	_Alignas(64) _Atomic uint64_t sampled_bytes;
	_Atomic uint64_t lost_live_set, lost_memory, stale;
};
extern HS_HIDDEN struct hs_heap hs_heaps[HS_HEAP_LIMIT];

/*
 * The current epoch; 0: sampling is stopped.  Written by: the producer, in order with what
 * session/heaps.c notes (sequentially consistent).
 */
extern HS_HIDDEN _Atomic uint32_t hs_epoch;

#define hs_heap_add(heap, count, n)                                                                \
	atomic_fetch_add_explicit(&hs_heaps[heap].count, (uint64_t)(n), memory_order_relaxed)
#define hs_heap_get(heap, count) atomic_load_explicit(&hs_heaps[heap].count, memory_order_relaxed)

/* Counts frees of samples, unless there is a journal: then the producer does.  Any thread. */
static inline void hs_heap_count_frees(uint32_t heap, uint32_t count)
{
	if (!hs_free_journal_is_kept())
		hs_heap_add(heap, frees, count);
}

/* The sum of a counter of all heaps.  count: its offset in struct hs_heap.  Any thread. */
uint64_t hs_heap_sum(size_t count);
#define hs_heap_total(count) hs_heap_sum(offsetof(struct hs_heap, count))

/* A heap's interval if hs_sampler_interval is `now`. */
uint64_t hs_heap_interval_at(uint32_t heap, uint64_t now);

/*
 * The interval of a heap for countdowns drawn now, in bytes: its own, times the factor by which
 * hs_sampler_interval is raised.  0: nothing is sampled.
 */
static inline uint64_t hs_heap_interval(uint32_t heap)
{
	/* Acquire: see hs_sampler_interval. */
	uint64_t now = atomic_load_explicit(&hs_sampler_interval, memory_order_acquire);

	return hs_likely(hs_heaps[heap].is_default) ? now : hs_heap_interval_at(heap, now);
}

/* The same; once sampling has ended for good, what it was last. */
uint64_t hs_heap_last_interval(uint32_t heap);

/*
 * What the user is told that the interval is, if hs_sampler_interval is `now`: the heap's; if that
 * is not sampled, that of what HEAPSAMPLE_HEAPS does not name.
 */
uint64_t hs_heap_period(uint32_t heap, uint64_t now);

/* The smallest interval of the reported heaps; 0: none is sampled.  Relaxed. */
extern HS_HIDDEN _Atomic uint64_t hs_heap_least_interval;

/* Recomputes it, after the intervals, the heaps or the epoch have changed.  Any thread. */
void hs_heap_follow(void);

/* Sets a heap's fields by the settings.  Before its first sample: start-up, hs_heap_make(). */
void hs_heap_set(uint32_t heap, uint64_t asked_bytes, bool waits);

/*
 * Makes a heap of the program.  Returns its number; -EEXIST: there is one of that name; -ENOSPC:
 * there are too many.  Its allocations count from hs_heap_register() on.  The caller holds a lock.
 */
int hs_heap_make(const char *name, uint64_t asked_bytes, bool waits);
void hs_heap_register(uint32_t heap);

/*
 * Ends the counting of its allocations; false: it is neither registered nor closing.  When all its
 * samples are freed in the books, hs_heap_gone() makes the number free, for a heap of that name.
 */
bool hs_heap_unregister(uint32_t heap);
void hs_heap_gone(uint32_t heap);

/* Counts a sample that could not be recorded.  Any thread. */
void hs_heap_lose(uint32_t heap, uint64_t size, uint64_t weight);

/* The sum of their weights.  Any thread. */
unsigned __int128 hs_heap_lost_weight(uint32_t heap);

/* Begins to count anew.  The producer. */
void hs_heap_forget_lost(uint32_t heap);

#endif
