/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heaps: malloc's, and those that the program reports through heapsample.h.
 *
 * A heap has a number, by which samples name it, and an interval of its own.
 *
 * Sampling has epochs, for all heaps together: one begins when sampling is started or the
 * books are reset, and ends when it is stopped or they are reset again.  A sample carries
 * the epoch that it was chosen in, and the books drop it if that is over.
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

/* With the NUL. */
#define HS_HEAP_NAME_BYTES 64

enum hs_heap_state {
	HS_HEAP_UNUSED,  /* or unregistered, and all that it had in use is freed */
	HS_HEAP_CLOSING, /* unregistered */
	HS_HEAP_REGISTERED,
};

/* Samples that nothing could be recorded of: sums of their weights. */
struct hs_lost {
	_Atomic uint64_t objects_weight; /* units of 1 / HS_WEIGHT_ONE */
	_Atomic uint64_t bytes;
};

struct hs_heap {
	char name[HS_HEAP_NAME_BYTES]; /* "" : the number was never used */

	/* Looked at for each sample, by the program's threads and the producer; seldom written. */
	_Alignas(64) uint64_t asked_bytes; /* the interval by the settings; 0: not to be sampled */
	bool is_default;        /* that is hs_options.interval_bytes, which is in another page */
	bool waits;             /* its samples for room, if hs_recorder.block_ns allows it */
	_Atomic uint32_t state; /* enum hs_heap_state; set after what is above */

	/* Counted for each sample, by the program's threads: HS_HEAP_COUNTS. */
	_Alignas(64) _Atomic uint64_t samples;
	_Atomic uint64_t frees, stackless, lost_ring, lost_live_set;

	/* Mostly by the producer. */
	_Alignas(64) _Atomic uint64_t sampled_bytes;
	_Atomic uint64_t lost_memory, stale;
	struct hs_lost lost;
};
extern HS_HIDDEN struct hs_heap hs_heaps[HS_HEAP_LIMIT];

/* The epoch of now; 0: sampling is stopped.  Written by: the producer, relaxed. */
extern HS_HIDDEN _Atomic uint32_t hs_epoch;

#define hs_heap_add(heap, count, n)                                                                \
	atomic_fetch_add_explicit(&hs_heaps[heap].count, (uint64_t)(n), memory_order_relaxed)
#define hs_heap_get(heap, count) atomic_load_explicit(&hs_heaps[heap].count, memory_order_relaxed)

/* Samples have been freed.  With a journal the producer counts them.  Any thread. */
static inline void hs_heap_count_frees(uint32_t heap, uint32_t count)
{
	if (!hs_free_journal_is_kept())
		hs_heap_add(heap, frees, count);
}

/* The sum of a count of all heaps.  count: where it is in struct hs_heap.  Any thread. */
uint64_t hs_heap_sum(size_t count);
#define hs_heap_total(count) hs_heap_sum(offsetof(struct hs_heap, count))

/* What a heap's interval is when hs_sampler_interval is now. */
uint64_t hs_heap_interval_at(uint32_t heap, uint64_t now);

/*
 * The interval for countdowns drawn now, bytes; 0: nothing is sampled.  It is the heap's own,
 * times what hs_sampler_interval was raised by.
 */
static inline uint64_t hs_heap_interval(uint32_t heap)
{
	/* Relaxed: see hs_sampler_interval. */
	uint64_t now = atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed);

	return hs_likely(hs_heaps[heap].is_default) ? now : hs_heap_interval_at(heap, now);
}

/* The same; where sampling has ended for good, what it was then. */
uint64_t hs_heap_last_interval(uint32_t heap);

/* The smallest interval of the reported heaps; 0: none is sampled.  Relaxed. */
extern HS_HIDDEN _Atomic uint64_t hs_heap_least_interval;

/* The intervals, the heaps or the epoch have changed: work that out anew.  Any thread. */
void hs_heap_follow(void);

/* What the settings want of a heap.  Before its samples: start-up, and hs_heap_make(). */
void hs_heap_set(uint32_t heap, uint64_t asked_bytes, bool waits);

/*
 * Give a heap of the program a number, an interval, and whether its samples wait.  The caller
 * holds a lock.  Returns the number; -EEXIST: there is one of that name; -ENOSPC: there are too
 * many.  It is registered by the second: then its allocations count.
 */
int hs_heap_make(const char *name, uint64_t asked_bytes, bool waits);
void hs_heap_register(uint32_t heap);

/*
 * Its allocations do not count any more.  When all that was in use of it is freed in the
 * books the number is free, for a heap of that name.  False: it is neither registered nor
 * on the way out.
 */
bool hs_heap_unregister(uint32_t heap);
void hs_heap_gone(uint32_t heap);

/* A sample that is in neither ring nor books.  Any thread. */
void hs_heap_lose(uint32_t heap, uint64_t size, uint64_t weight);

#endif
