/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Computes what the books must have after a history: from the program's events in the order in
 * which they happened, and for each heap from the sample that is alive at each address.  An
 * allocation at the address of a live sample shows that the free of that one was missed: it has
 * ended.  All is plain tables and sums, and does nothing the way the producer does.
 *
 * Events are numbered 1, 2, 3, ... as they are logged.  They may arrive in any order, and are
 * applied in the order of their numbers.  An event whose number has been given up is applied when
 * it arrives.
 */
#ifndef HS_TESTS_BOOKS_ORACLE_H
#define HS_TESTS_BOOKS_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "check.h"
#include "sample/heap_id.h"
#include "sample/sampler.h"

/* Heaps: malloc's, and two that the program reports. */
enum { ORACLE_EVENTS = 40000, ORACLE_SITES = 8, ORACLE_HEAPS = HS_HEAP_FIRST_REPORTED + 2 };

enum oracle_kind { ORACLE_ALLOCATE, ORACLE_FREE, ORACLE_NOTHING };

struct oracle_event {
	enum oracle_kind kind;
	uint32_t heap;
	unsigned site;
	uint64_t address;
	uint64_t size;
	uint64_t weight; /* units of 1 / HS_WEIGHT_ONE */
	uint64_t ends;   /* number of the allocation that it ends; 0: none */
	bool has_ended;  /* of an allocation: its end has been applied */
	bool arrived;
	bool applied;
};

/* Units of 1 / HS_WEIGHT_ONE. */
struct oracle_totals {
	unsigned __int128 objects, bytes, inuse_objects, inuse_bytes;
};

struct oracle {
	struct oracle_event events[ORACLE_EVENTS + 1]; /* by number */
	uint64_t logged;                               /* events, so the highest number */
	uint64_t next;                                 /* the number waited for */
	uint64_t given_up;                             /* how many numbers were */
	struct oracle_heap {
		struct oracle_totals now[ORACLE_SITES];
		struct oracle_totals peak[ORACLE_SITES]; /* now[], when peak_bytes was reached */
		unsigned __int128 in_use, peak_bytes;
	} heaps[ORACLE_HEAPS];
};

static struct oracle oracle;

/* Begins the arrival anew: nothing has arrived yet.  The log stays. */
static inline void oracle_rewind(void)
{
	for (uint64_t n = 1; n <= oracle.logged; n++)
		oracle.events[n].has_ended = oracle.events[n].arrived = oracle.events[n].applied =
			false;
	memset(oracle.heaps, 0, sizeof oracle.heaps);
	oracle.given_up = 0;
	oracle.next = 1;
}

/* Begins with an empty log. */
static inline void oracle_begin(void)
{
	oracle.logged = 0;
	oracle_rewind();
}

/* The number of the allocation that is alive at address after all logged events; 0: none. */
static inline uint64_t oracle_alive_at(uint32_t heap, uint64_t address)
{
	for (uint64_t n = oracle.logged; n > 0; n--) {
		const struct oracle_event *event = &oracle.events[n];

		if (event->kind != ORACLE_NOTHING && event->heap == heap &&
		    event->address == address)
			return event->kind == ORACLE_ALLOCATE ? n : 0;
	}
	return 0;
}

/* Logs the next event.  Returns its number. */
static inline uint64_t oracle_log(enum oracle_kind kind, uint32_t heap, uint64_t address,
				  uint64_t size, uint64_t interval, unsigned site)
{
	uint64_t ends = kind == ORACLE_NOTHING ? 0 : oracle_alive_at(heap, address);

	if (oracle.logged == ORACLE_EVENTS || heap >= ORACLE_HEAPS || site >= ORACLE_SITES)
		exit(99);
	oracle.events[++oracle.logged] = (struct oracle_event){
		.kind = kind,
		.heap = heap,
		.site = site,
		.address = address,
		.size = size,
		.weight = kind == ORACLE_ALLOCATE ? hs_sampler_weight(size, interval) : 0,
		.ends = ends,
	};
	return oracle.logged;
}

/* Adds a sample to what is in use (sign 1), or takes it away (-1). */
static inline void oracle_use(const struct oracle_event *sample, int sign)
{
	struct oracle_heap *heap = &oracle.heaps[sample->heap];
	struct oracle_totals *totals = &heap->now[sample->site];
	__int128 bytes = (__int128)sample->weight * (__int128)sample->size * sign;

	totals->inuse_objects += (unsigned __int128)((__int128)sample->weight * sign);
	totals->inuse_bytes += (unsigned __int128)bytes;
	heap->in_use += (unsigned __int128)bytes;
}

static inline void oracle_apply_allocation(struct oracle_event *event)
{
	struct oracle_heap *heap = &oracle.heaps[event->heap];

	heap->now[event->site].objects += event->weight;
	heap->now[event->site].bytes += (unsigned __int128)event->weight * event->size;
	if (event->has_ended)
		return;
	oracle_use(event, 1);
	if (heap->in_use > heap->peak_bytes) {
		heap->peak_bytes = heap->in_use;
		memcpy(heap->peak, heap->now, sizeof heap->peak);
	}
}

static inline void oracle_apply(struct oracle_event *event)
{
	event->applied = true;
	if (event->ends != 0) {
		struct oracle_event *ended = &oracle.events[event->ends];

		ended->has_ended = true;
		if (ended->applied)
			oracle_use(ended, -1);
	}
	if (event->kind == ORACLE_ALLOCATE)
		oracle_apply_allocation(event);
}

static inline void oracle_commit(void)
{
	while (oracle.next <= oracle.logged && oracle.events[oracle.next].arrived)
		oracle_apply(&oracle.events[oracle.next++]);
}

/* An event arrives.  If it has arrived before nothing happens. */
static inline void oracle_arrive(uint64_t number)
{
	struct oracle_event *event = &oracle.events[number];

	if (event->arrived)
		return;
	event->arrived = true;
	if (number < oracle.next)
		oracle_apply(event);
	oracle_commit();
}

/* The lowest number of an event that has arrived and waits for others; 0: none. */
static inline uint64_t oracle_first_waiting(void)
{
	for (uint64_t n = oracle.next; n <= oracle.logged; n++) {
		if (oracle.events[n].arrived)
			return n;
	}
	return 0;
}

/* Gives up the missing numbers before the first event that waits. */
static inline void oracle_give_up(void)
{
	uint64_t first = oracle_first_waiting();

	if (first == 0)
		return;
	oracle.given_up += first - oracle.next;
	oracle.next = first;
	oracle_commit();
}

#endif
