/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A service that allocates until SIGTERM.  Prints a line after its first allocations, and at its
 * end how many SIGUSR2 it has handled.
 *
 * usage: victim_service [takeover]     takeover: handles SIGUSR2 itself after a second
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "victim_truth.h"

#define STEP_US 5000
#define TAKEOVER_STEPS 200

static volatile sig_atomic_t stop, user_signals;

static void on_term(int number)
{
	(void)number;
	stop = 1;
}

static void on_user(int number)
{
	(void)number;
	user_signals++;
}

static SITE void site_service(void)
{
	void *block = malloc(1000);

	USE(block);
	block = malloc(3000);
	USE(block);
	free(block);
}

int main(int argc, char **argv)
{
	int takeover = argc > 1 && strcmp(argv[1], "takeover") == 0;

	signal(SIGTERM, on_term);
	for (long step = 0; !stop; step++) {
		site_service();
		if (step == 0) {
			puts("allocated");
			fflush(stdout);
		}
		if (takeover && step == TAKEOVER_STEPS)
			signal(SIGUSR2, on_user);
		usleep(STEP_US);
	}
	printf("user signals: %d\n", (int)user_signals);
	return 0;
}
