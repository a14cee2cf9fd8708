/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For programs that are hard to profile: blocks whose contents are summed up when they are freed,
 * and a line with the sum at the end, the same in each run.
 */
#ifndef VICTIM_HOSTILE_BLOCKS_H
#define VICTIM_HOSTILE_BLOCKS_H

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Changed by any thread and in signal handlers. */
static unsigned long sum;
static unsigned wrong;

static inline void check(int holds)
{
	if (!holds)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

static inline void add(unsigned long number)
{
	__atomic_fetch_add(&sum, number, __ATOMIC_RELAXED);
}

/* A block that carries its number. */
static inline void *new_block(unsigned number)
{
	unsigned *block = malloc(sizeof *block + number % 700);

	check(block != NULL);
	*block = number;
	return block;
}

static inline void end_block(void *block)
{
	add(*(unsigned *)block);
	free(block);
}

static inline void start(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
			 void *argument)
{
	if (pthread_create(thread, attributes, run, argument) != 0)
		abort();
}

/* Runs so many threads (16 at most) at once, and waits for them. */
static inline void run_threads(unsigned count, void *(*run)(void *), void *argument)
{
	pthread_t threads[16];

	for (unsigned i = 0; i < count; i++)
		start(&threads[i], NULL, run, argument);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

struct mode {
	const char *name;
	void (*run)(void);
};

/* What main() does: argv[1] is the name of a mode. */
static inline int run_mode(const struct mode *modes, size_t count, int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < count; i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run();
			printf("%s: sum %lu, wrong %u\n", modes[i].name, sum, wrong);
			return 0;
		}
	return 2;
}

#define RUN_MODE(modes, argc, argv) run_mode(modes, sizeof modes / sizeof modes[0], argc, argv)

#endif
