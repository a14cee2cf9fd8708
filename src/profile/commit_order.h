/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts events in the order of their numbers.  Keeps a window of those that came before their turn,
 * and the numbers that were given up, to tell an event that comes late from one that comes twice.
 * Starts at number 1.  Threads: the producer.  Memory: the arena.
 */
#ifndef HS_PROFILE_COMMIT_ORDER_H
#define HS_PROFILE_COMMIT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* The first size of the window, in numbers. */
#define HS_COMMIT_WINDOW_MIN 512

/* The widest window, in numbers; further ahead there is no room. */
#define HS_COMMIT_WINDOW_MAX (1u << 20)

enum hs_event_kind {
	HS_EVENT_NONE,       /* a place of the window that is empty */
	HS_EVENT_ALLOCATION,
	HS_EVENT_FREE,       /* address, time, slot and generation only */
	HS_EVENT_NOTHING,    /* a number without an effect */
};

/* A sample or its free, on its way to heap_tracker.h. */
struct hs_heap_event {
	uint64_t size;      /* requested bytes */
	uint64_t weight;    /* units of 1 / HS_WEIGHT_ONE */
	uint64_t address;
	uint64_t time_ns;   /* in a stream: of CLOCK_MONOTONIC_COARSE */
	uint16_t kind;      /* enum hs_event_kind */
	uint16_t heap;
	uint32_t epoch;     /* of an allocation: hs_epoch */
	uint32_t slot;      /* of the live set */
	uint32_t generation;
	uint32_t callsite;  /* node of callsite_trie.h */
	uint32_t tid;       /* 0: no label */
	uint32_t thread;    /* of thread_names.h, 0: no label */
	uint32_t labels;    /* of sample/labels.h, 0: none */
};

/* Numbers that were given up: from `from` on, below `to`.  None: both 0. */
struct hs_number_range {
	uint64_t from;
	uint64_t to;
};

/* The most ranges kept; an event as old as a forgotten one is taken for late. */
#define HS_COMMIT_GIVEN_UP 1024u

struct hs_commit_order {
	struct hs_heap_event *window; /* number n is at n modulo capacity; NULL if capacity is 0 */
	uint64_t next;           /* number waited for */
	uint32_t capacity;       /* a power of two */
	uint32_t waiting;        /* events in the window */
	struct hs_number_range *given_up; /* a ring */
	uint32_t given_up_next;  /* its place for the next one */
	uint64_t forgotten;      /* of ranges below this there may be some that were forgotten */
};

enum hs_arrival {
	HS_ARRIVAL_KEPT,      /* in the window now */
	HS_ARRIVAL_LATE,      /* it was given up: the caller applies it */
	HS_ARRIVAL_DUPLICATE, /* the number is there already, or has been */
	HS_ARRIVAL_NO_ROOM,   /* too far ahead, or out of memory */
};

/* Returns 0 or -ENOMEM. */
int hs_commit_order_init(struct hs_commit_order *order);
void hs_commit_order_fini(struct hs_commit_order *order);

enum hs_arrival hs_commit_order_put(struct hs_commit_order *order, uint64_t number,
				    const struct hs_heap_event *event);

/* Take the event whose turn it is.  False if it has not arrived. */
bool hs_commit_order_take(struct hs_commit_order *order, struct hs_heap_event *event);

/*
 * The event whose turn it is was not in the window, and is committed: go on with the next number.
 */
void hs_commit_order_pass(struct hs_commit_order *order);

/* The lowest number in the window; 0 if it is empty. */
uint64_t hs_commit_order_first(const struct hs_commit_order *order);

/*
 * Gives up the numbers below `number`, none of which has arrived.  Returns how many they are.
 */
uint64_t hs_commit_order_skip_to(struct hs_commit_order *order, uint64_t number);

#endif
