/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's memory: what an access does, store buffers, and how memory is restored. */
#ifndef HS_TESTS_MODEL_MACHINE_MEMORY_H
#define HS_TESTS_MODEL_MACHINE_MEMORY_H

#include "machine.h"
#include "sample/thread_state.h"

/* An access that is about to be made. */
struct next {
	struct model_where where;
	enum model_op op;
	uintptr_t address;
	size_t bytes;
	uint64_t value;
	uint64_t expected; /* of a compare-and-swap; of a futex wait: its timeout */
	int order;
};

uint64_t memory_load(uintptr_t address, size_t bytes);

/* Makes an access in memory; returns the value before it. */
uint64_t memory_do(const struct next *next);

#define BUFFER_MOST 32

/* A thread's stores that others do not see yet, the oldest first. */
struct buffer {
	unsigned count;
	struct {
		uintptr_t address;
		size_t bytes;
		uint64_t value;
		struct clock clock;
	} stores[BUFFER_MOST];
};

void buffer_put(struct buffer *buffer, const struct next *next, const struct clock *clock);
void buffer_flush(struct buffer *buffer);

/* The newest store to an address that is in the buffer.  False: there is none. */
bool buffer_find(const struct buffer *buffer, uintptr_t address, uint64_t *value);

/*
 * These save all variables of this program and its arena, and bring them back: memory_first() saves
 * at the program's start, memory_keep() after a setup; memory_restore() brings back what was saved
 * last, memory_forget() the first.
 */
void memory_first(void);
void memory_keep(void);
void memory_restore(void);
void memory_forget(void);

/* Loads hs_thread from *state, and saves it to the state that it was last loaded from. */
void memory_use_thread_state(struct hs_thread_state *state);

#define MEMORY_ARENA_BYTES ((size_t)256 << 10)

/* Where the library's arena is; surroundings.c says how much of it is in use. */
void *memory_arena(void);
size_t memory_arena_used(void);

#endif
