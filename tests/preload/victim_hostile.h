/* SPDX-License-Identifier: BSD-2-Clause */
/* What the victims of the hostile cases do besides: they allocate, and say what came of it. */
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

/* The sum of what was written into count blocks, all freed but each tenth. */
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

/* A profile, if the library is there. */
static inline void ask_for_profile(void)
{
	heapsample_dump(NULL, 0);
}

static inline void say(const char *what)
{
	printf("%s: %lu\n", what, churn(500));
	fflush(stdout);
}

/* Status 5 if the mode is there and returns. */
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
