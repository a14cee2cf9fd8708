/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates faster than a profiler can follow, and sends itself SIGUSR2 at once; waits
 * for the profile.
 *
 * usage: victim_burst BLOCKS PROFILE
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "victim_truth.h"

enum { BLOCK_BYTES = 24, WAIT_STEPS = 6000 };

static SITE void site_burst(void)
{
	void *block = malloc(BLOCK_BYTES);

	USE(block);
}

int main(int argc, char **argv)
{
	check(argc > 2, "arguments");
	for (int i = atoi(argv[1]); i > 0; i--)
		site_burst();
	kill(getpid(), SIGUSR2);
	for (int step = 0; step < WAIT_STEPS && access(argv[2], F_OK) != 0; step++)
		usleep(10000);
	return 0;
}
