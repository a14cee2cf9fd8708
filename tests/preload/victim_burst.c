/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates faster than a profiler can follow, and sends itself SIGUSR2 at once; waits
 * for the profile.  free: only when the profiler has followed, and all has been freed.
 *
 * usage: victim_burst BLOCKS PROFILE [free]
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "victim_truth.h"

enum { BLOCK_BYTES = 24, WAIT_STEPS = 6000, MAX_BLOCKS = 100000 };

static void *blocks[MAX_BLOCKS];

static SITE void *site_burst(void)
{
	void *block = malloc(BLOCK_BYTES);

	USE(block);
	return block;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[1]) : 0;

	check(count > 0 && count <= MAX_BLOCKS, "arguments");
	for (int i = 0; i < count; i++)
		blocks[i] = site_burst();
	if (argc > 3) {
		usleep(500000);
		for (int i = 0; i < count; i++)
			free(blocks[i]);
	}
	kill(getpid(), SIGUSR2);
	for (int step = 0; step < WAIT_STEPS && access(argv[2], F_OK) != 0; step++)
		usleep(10000);
	return 0;
}
