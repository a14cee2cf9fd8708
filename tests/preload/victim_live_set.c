/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills the live set with a burst, frees it all while nothing is sampled, and continues with few
 * and short-lived blocks.  Or frees nothing, and continues with blocks that stay until the interval
 * has risen twice more; status 1: it does not.
 *
 * Or resets the books, and expects a slot for each of some more blocks; status 1: they are lost.
 *
 * usage: victim_live_set [SECONDS | full | reset]
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

static struct heapsample_stats get_stats(void)
{
	struct heapsample_stats stats = {0};

	heapsample_get_stats(&stats, sizeof stats);
	return stats;
}

/* Leaks.  The time is only for giving up. */
static int allocate_until_it_rises(void)
{
	uint64_t before = get_stats().interval_bytes;
	time_t end = time(NULL) + 60;

	while (get_stats().interval_bytes < 4 * before) {
		if (time(NULL) > end)
			return 1;
		for (int i = 0; i < 10; i++)
			blocks[i] = malloc(1000);
		usleep(1000);
	}
	return 0;
}

static int allocate_after_reset(void)
{
	struct heapsample_stats before, after;

	heapsample_reset();
	before = get_stats();
	for (int i = 0; i < 1000; i++)
		blocks[i] = malloc(32);
	after = get_stats();
	return before.samples_lost == 0 || after.samples_lost != before.samples_lost;
}

int main(int argc, char **argv)
{
	time_t end;

	site_burst();
	sleep(1);
	if (argc > 1 && strcmp(argv[1], "full") == 0)
		return allocate_until_it_rises();
	if (argc > 1 && strcmp(argv[1], "reset") == 0)
		return allocate_after_reset();
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	do {
		site_after();
		usleep(1000);
	} while (time(NULL) <= end);
	return 0;
}
