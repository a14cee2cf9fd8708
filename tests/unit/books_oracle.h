/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the books have to say of a history: the program's events in the order in which they
 * happened, and a map from address to the sample there.  An allocation where a sample is
 * alive shows that its free was not seen: it has ended.  Plain tables, everything summed anew
 * or step by step in the open; nothing of how the producer does it.
 *
 * Events are numbered 1, 2, 3, ... as they are logged.  They may arrive in any order and
 * are applied in that of their numbers, but for those that come after theirs was given up:
 * these are applied when they come.
 */
#ifndef HS_TESTS_BOOKS_ORACLE_H
#define HS_TESTS_BOOKS_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "check.h"
#include "sample/sampler.h"

enum { ORACLE_EVENTS = 40000, ORACLE_SITES = 64 };

enum oracle_kind { ORACLE_ALLOCATE, ORACLE_FREE, ORACLE_NOTHING };

struct oracle_event {
	enum oracle_kind kind;
	unsigned site;
	uint64_t address;
	uint64_t size;
	uint64_t weight; /* units of 1 / HS_WEIGHT_ONE */
	uint64_t ends;   /* number of the allocation that it ends; 0: none */
	bool has_ended;  /* an allocation whose end is applied */
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
	uint64_t next;                                 /* number waited for */
	uint64_t given_up;                             /* numbers */
	struct oracle_totals now[ORACLE_SITES];
	struct oracle_totals peak[ORACLE_SITES]; /* now, when peak_bytes was reached */
	unsigned __int128 in_use, peak_bytes;
};

static struct oracle oracle;

/* Nothing has arrived yet; the log stays. */
static inline void oracle_rewind(void)
{
	for (uint64_t n = 1; n <= oracle.logged; n++)
		oracle.events[n].has_ended = oracle.events[n].arrived = oracle.events[n].applied =
			false;
	memset(oracle.now, 0, sizeof oracle.now);
	memset(oracle.peak, 0, sizeof oracle.peak);
	oracle.in_use = oracle.peak_bytes = 0;
	oracle.given_up = 0;
	oracle.next = 1;
}

/* An empty log. */
static inline void oracle_begin(void)
{
	oracle.logged = 0;
	oracle_rewind();
}

/* The allocation that is alive at address when everything logged has happened; 0: none. */
static inline uint64_t oracle_alive_at(uint64_t address)
{
	for (uint64_t n = oracle.logged; n > 0; n--) {
		const struct oracle_event *event = &oracle.events[n];

		if (event->kind != ORACLE_NOTHING && event->address == address)
			return event->kind == ORACLE_ALLOCATE ? n : 0;
	}
	return 0;
}

/* The next event has happened.  Returns its number. */
static inline uint64_t oracle_log(enum oracle_kind kind, uint64_t address, uint64_t size,
				  uint64_t interval, unsigned site)
{
	uint64_t ends = kind == ORACLE_NOTHING ? 0 : oracle_alive_at(address);

	if (oracle.logged == ORACLE_EVENTS || site >= ORACLE_SITES)
		exit(99);
	oracle.events[++oracle.logged] = (struct oracle_event){
		.kind = kind,
		.site = site,
		.address = address,
		.size = size,
		.weight = kind == ORACLE_ALLOCATE ? hs_sampler_weight(size, interval) : 0,
		.ends = ends,
	};
	return oracle.logged;
}

/* A sample comes into use (sign 1) or ceases to be (-1). */
static inline void oracle_use(const struct oracle_event *sample, int sign)
{
	struct oracle_totals *totals = &oracle.now[sample->site];
	__int128 bytes = (__int128)sample->weight * (__int128)sample->size * sign;

	totals->inuse_objects += (unsigned __int128)((__int128)sample->weight * sign);
	totals->inuse_bytes += (unsigned __int128)bytes;
	oracle.in_use += (unsigned __int128)bytes;
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
	if (event->kind != ORACLE_ALLOCATE)
		return;
	oracle.now[event->site].objects += event->weight;
	oracle.now[event->site].bytes += (unsigned __int128)event->weight * event->size;
	if (event->has_ended)
		return;
	oracle_use(event, 1);
	if (oracle.in_use > oracle.peak_bytes) {
		oracle.peak_bytes = oracle.in_use;
		memcpy(oracle.peak, oracle.now, sizeof oracle.peak);
	}
}

static inline void oracle_commit(void)
{
	while (oracle.next <= oracle.logged && oracle.events[oracle.next].arrived)
		oracle_apply(&oracle.events[oracle.next++]);
}

/* An event that comes twice has come once. */
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

/* The numbers before the first that has arrived are waited for no longer. */
static inline void oracle_give_up(void)
{
	uint64_t first = oracle.next;

	while (first <= oracle.logged && !oracle.events[first].arrived)
		first++;
	if (first > oracle.logged)
		return;
	oracle.given_up += first - oracle.next;
	oracle.next = first;
	oracle_commit();
}

/* What has arrived waits for numbers that have not. */
static inline bool oracle_waits(void)
{
	for (uint64_t n = oracle.next; n <= oracle.logged; n++) {
		if (oracle.events[n].arrived)
			return true;
	}
	return false;
}

#endif
