/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For test programs that count what they allocate: the true sums of each call site, and queues by
 * which threads pass blocks to each other.  Neither allocates.
 */
#ifndef VICTIM_TRUTH_H
#define VICTIM_TRUTH_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A function that calls the allocator; not inlined, so it is the call site. */
#define SITE __attribute__((noinline))

/* Keeps the call before it from being a tail call, and its result from being optimized away. */
#define USE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

struct truth {
	const char *name;
	long alloc_objects;
	long alloc_space;
	long live_objects;
	long live_bytes;
};

struct block {
	void *address;
	size_t size;
	struct truth *site;
};

#define THREADS 4
#define QUEUE_BLOCKS 65536

struct queue {
	pthread_mutex_t mutex;
	unsigned count;
	struct block blocks[QUEUE_BLOCKS];
};

static struct queue queues[THREADS];

static inline void check(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "wrong: %s\n", what);
		exit(3);
	}
}

static inline struct block born(struct truth *site, void *address, size_t size)
{
	struct block block = { address, size, site };

	check(address != NULL, site->name);
	__atomic_fetch_add(&site->alloc_objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&site->alloc_space, (long)size, __ATOMIC_RELAXED);
	__atomic_fetch_add(&site->live_objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&site->live_bytes, (long)size, __ATOMIC_RELAXED);
	return block;
}

static inline void died(const struct block *block)
{
	__atomic_fetch_sub(&block->site->live_objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&block->site->live_bytes, (long)block->size, __ATOMIC_RELAXED);
}

static inline void push(unsigned thread, struct block block)
{
	struct queue *queue = &queues[thread % THREADS];

	pthread_mutex_lock(&queue->mutex);
	check(queue->count < QUEUE_BLOCKS, "the queue is too short");
	queue->blocks[queue->count++] = block;
	pthread_mutex_unlock(&queue->mutex);
}

/* Returns 0 if the thread's queue is empty. */
static inline int pop(unsigned thread, struct block *block)
{
	struct queue *queue = &queues[thread % THREADS];
	int found;

	pthread_mutex_lock(&queue->mutex);
	found = queue->count > 0;
	if (found)
		*block = queue->blocks[--queue->count];
	pthread_mutex_unlock(&queue->mutex);
	return found;
}

static inline void print_truth(const struct truth *sites, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%c\"site_%s\": [%ld, %ld, %ld, %ld]\n", i == 0 ? '{' : ',', sites[i].name,
		       sites[i].alloc_objects, sites[i].alloc_space, sites[i].live_objects,
		       sites[i].live_bytes);
	printf("}\n");
}

/* The next of a row of pseudo-random sizes, which is the same in each run. */
static inline size_t next_size(uint64_t *random, size_t below)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (size_t)(*random >> 33) % below;
}

#endif
