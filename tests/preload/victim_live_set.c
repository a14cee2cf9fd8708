/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills the live set with a burst, frees it all while nothing is sampled, and continues with few
 * and short-lived blocks.
 *
 * usage: victim_live_set [SECONDS]
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 1000000 };

static void *blocks[BLOCKS];

static __attribute__((noinline)) void site_burst(void)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(32);
}

static __attribute__((noinline)) void site_after(void)
{
	for (int i = 0; i < 100; i++)
		free(malloc(32));
}

int main(int argc, char **argv)
{
	time_t end;

	site_burst();
	sleep(1);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	do {
		site_after();
		usleep(1000);
	} while (time(NULL) <= end);
	return 0;
}
