/* SPDX-License-Identifier: BSD-2-Clause */
/* For the victims of the hostile cases: they allocate beside their tricks, and print the result. */
#ifndef VICTIM_HOSTILE_H
#define VICTIM_HOSTILE_H

#include <heapsample/heapsample.h>
#include <string.h>
#include <unistd.h>

#include "victim_truth.h"

struct mode {
	const char *name;
	void (*run)(void);
};

/* Allocates count blocks and frees all but every tenth.  Returns a sum of what is in them. */
static SITE __attribute__((unused)) unsigned long churn(int count)
{
	unsigned long sum = 0;
	uint64_t random = 1;

	for (int i = 0; i < count; i++) {
		size_t size = next_size(&random, 3000) + 1;
		unsigned char *block = malloc(size);

		check(block != NULL, "memory");
		memset(block, i & 255, size);
		block = realloc(block, size + 100);
		check(block != NULL, "memory");
		sum += block[0] + block[size - 1] + size;
		USE(block);
		if (i % 10 != 0)
			free(block);
	}
	return sum;
}

static inline void *churn_for_ever(void *unused)
{
	for (;;)
		churn(100);
	return unused;
}

static inline void start_churning(int count)
{
	pthread_t thread;

	for (int i = 0; i < count; i++)
		check(pthread_create(&thread, NULL, churn_for_ever, NULL) == 0, "thread");
	usleep(20000);
}

/* Requests a profile; does nothing without the library. */
static inline void ask_for_profile(void)
{
	heapsample_dump(NULL, 0);
}

static inline void say(const char *what)
{
	printf("%s: %lu\n", what, churn(500));
	fflush(stdout);
}

/* What main() returns: 5 after the mode has run and returned, 9 if there is no such mode. */
static inline int run_mode(const struct mode *modes, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (name != NULL && strcmp(name, modes[i].name) == 0) {
			modes[i].run();
			return 5;
		}
	}
	return 9;
}

#endif
