/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts events in the order of their sequence numbers, from 1 on.  Keeps a window of events that
 * have come before their turn; and the numbers that were given up, to tell an event that comes late
 * from one that comes twice.
 *
 * Called on: the producer.  Allocates: from the arena.
 */
#ifndef HS_PROFILE_COMMIT_ORDER_H
#define HS_PROFILE_COMMIT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* The size of the window at first, and at most, in numbers.  Further ahead there is no room. */
#define HS_COMMIT_WINDOW_MIN 512
#define HS_COMMIT_WINDOW_MAX (1u << 20)

enum hs_heap_event_kind {
	HS_HEAP_EVENT_NONE, /* an empty place of the window */
	HS_HEAP_EVENT_ALLOCATION,
	HS_HEAP_EVENT_FREE,    /* has heap, address, time_ns, slot and generation only */
	HS_HEAP_EVENT_NOTHING, /* takes a number, and has no effect */
};

/* A sample or its free, on its way to heap_tracker.h or into a stream. */
struct hs_heap_event {
	uint64_t size;   /* requested bytes */
	uint64_t weight; /* units of 1 / HS_WEIGHT_ONE */
	uint64_t address;
	uint64_t time_ns; /* in a stream: CLOCK_MONOTONIC_COARSE */
	uint16_t kind;    /* enum hs_heap_event_kind */
	uint16_t heap;
	uint32_t epoch; /* the one that the sample was chosen in */
	uint32_t slot;  /* of the live set */
	uint32_t generation;
	uint32_t callsite; /* node of callsite_trie.h */
	uint32_t tid;      /* 0: no label */
	uint32_t thread;   /* of thread_names.h; 0: no label */
	uint32_t labels;   /* of sample/labels.h; 0: none */
};

/* Numbers that were given up, from `from` on, below `to`.  None: both 0. */
struct hs_number_range {
	uint64_t from;
	uint64_t to;
};

/*
 * So many ranges are known.  Older ones are forgotten, and what has a number below them then counts
 * as late.
 */
#define HS_COMMIT_GIVEN_UP 1024u

struct hs_commit_order {
	struct hs_heap_event *window; /* number n is at n modulo capacity; NULL if capacity is 0 */
	uint64_t next;           /* the number waited for */
	uint32_t capacity;       /* a power of two */
	uint32_t waiting;        /* events in the window */
	struct hs_number_range *given_up; /* a ring of HS_COMMIT_GIVEN_UP */
	uint32_t given_up_next;           /* the place of the next range */
	uint64_t forgotten;               /* ranges that were forgotten are below */
};

enum hs_arrival {
	HS_ARRIVAL_KEPT,      /* it is in the window now */
	HS_ARRIVAL_LATE,      /* its number was given up: the caller applies it */
	HS_ARRIVAL_DUPLICATE, /* an event with this number is there, or has been */
	HS_ARRIVAL_NO_ROOM,   /* it is too far ahead, or memory is short */
};

/* Returns 0 or -ENOMEM. */
int hs_commit_order_init(struct hs_commit_order *order);
void hs_commit_order_fini(struct hs_commit_order *order);

/* An event has arrived. */
enum hs_arrival hs_commit_order_put(struct hs_commit_order *order, uint64_t number,
				    const struct hs_heap_event *event);

/* Takes the event of the number waited for.  False: it has not arrived. */
bool hs_commit_order_take(struct hs_commit_order *order, struct hs_heap_event *event);

/* The event of the number waited for has been applied by the caller: the next one's turn. */
void hs_commit_order_pass(struct hs_commit_order *order);

/* The lowest number in the window; 0 if it is empty. */
uint64_t hs_commit_order_first(const struct hs_commit_order *order);

/* Gives up all numbers below number, none of which has arrived.  Returns how many those are. */
uint64_t hs_commit_order_skip_to(struct hs_commit_order *order, uint64_t number);

/* Lets go of the room by which the window has grown, unless something waits.  From time to time. */
void hs_commit_order_trim(struct hs_commit_order *order);

#endif
