/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates some blocks, then allocates and frees as fast as it can, then frees them.
 *
 * usage: victim_busy TIMES     so many times
 *        victim_busy           until SIGTERM
 */
#include <signal.h>
#include <stdlib.h>

#include "victim_truth.h"

enum { KEPT = 1000 };

static volatile sig_atomic_t stop;

static void on_term(int number)
{
	(void)number;
	stop = 1;
}

static SITE void site_kept(void **blocks)
{
	for (int i = 0; i < KEPT; i++) {
		blocks[i] = malloc(100);
		USE(blocks[i]);
	}
}

static SITE void site_busy(void)
{
	void *block = malloc(48);

	USE(block);
	free(block);
}

int main(int argc, char **argv)
{
	static void *blocks[KEPT];
	long times = argc > 1 ? atol(argv[1]) : -1, done = 0;

	signal(SIGTERM, on_term);
	site_kept(blocks);
	while (!stop && done != times) {
		site_busy();
		done++;
	}
	for (int i = 0; i < KEPT; i++)
		free(blocks[i]);
	if (times >= 0)
		printf("%ld times\n", done);
	return 5;
}
