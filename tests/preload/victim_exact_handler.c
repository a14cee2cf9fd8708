/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates faster than a profiler can follow, with a handler that allocates on a stack of its own,
 * where no sample waits.  Prints how often it has allocated outside the handler.
 *
 * usage: victim_exact_handler SIGNALS
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "victim_truth.h"

enum { BLOCK_BYTES = 16, PERIOD_US = 200 };

static char stack[65536];
static volatile sig_atomic_t handled;

static SITE void site_main(void)
{
	void *block = malloc(BLOCK_BYTES);

	USE(block);
	free(block);
}

/* Innermost: it may have interrupted site_main(). */
static SITE void site_handler(void)
{
	void *block = malloc(BLOCK_BYTES);

	USE(block);
	free(block);
}

static void on_alarm(int number)
{
	(void)number;
	site_handler();
	handled = handled + 1;
}

int main(int argc, char **argv)
{
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_RESTART};
	struct itimerval period = {{0, PERIOD_US}, {0, PERIOD_US}};
	long times = 0;

	check(argc == 2, "arguments");
	check(sigaltstack(&alternate, NULL) == 0, "sigaltstack");
	check(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
	check(setitimer(ITIMER_REAL, &period, NULL) == 0, "setitimer");
	for (; handled < atoi(argv[1]); times++)
		site_main();
	period = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &period, NULL);
	printf("%ld\n", times);
	return 0;
}
