/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills the live set with a burst, frees it all while nothing is sampled, and continues with few
 * and short-lived blocks.  Or frees nothing, and continues with blocks that stay until the interval
 * has risen twice more; status 1: it does not.
 *
 * usage: victim_live_set [SECONDS | full]
 */
#include <heapsample/heapsample.h>
#include <stdlib.h>
#include <string.h>
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

static uint64_t interval(void)
{
	struct heapsample_stats stats = {0};

	heapsample_get_stats(&stats, sizeof stats);
	return stats.interval_bytes;
}

/* Leaks.  The time is only for giving up. */
static int allocate_until_it_rises(void)
{
	uint64_t before = interval();
	time_t end = time(NULL) + 60;

	while (interval() < 4 * before) {
		if (time(NULL) > end)
			return 1;
		for (int i = 0; i < 10; i++)
			blocks[i] = malloc(1000);
		usleep(1000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	time_t end;

	site_burst();
	sleep(1);
	if (argc > 1 && strcmp(argv[1], "full") == 0)
		return allocate_until_it_rises();
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	do {
		site_after();
		usleep(1000);
	} while (time(NULL) <= end);
	return 0;
}
