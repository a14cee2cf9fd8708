/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that keep blocks until malloc() fails, and then abort; they also free some at once.
 *
 * usage: victim_leak THREADS BLOCK-BYTES BYTES PROFILE go-on|pause|slowly
 *
 * When BYTES are kept they wait for the file PROFILE, and then go on or pause for ever.  slowly:
 * they wait 10 ms for each BYTES that are kept, for no file, and free nothing.
 */
#include <malloc.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "victim_truth.h"

enum { TOUCHED_BYTES = 1 << 20, TRIES = 200000 };

static size_t block_bytes, wait_bytes;
static const char *profile;
static int pauses, is_slow;
static atomic_size_t kept_bytes;

static SITE void *site_leak(void)
{
	void *block = malloc(block_bytes);

	USE(block);
	return block;
}

static SITE void site_churn(void)
{
	for (int i = 0; i < 2; i++) {
		void *block = malloc(block_bytes <= TOUCHED_BYTES ? block_bytes : TOUCHED_BYTES);

		USE(block);
		free(block);
	}
}

static SITE void *site_cache(void)
{
	void *block = malloc(wait_bytes / 16);

	USE(block);
	return block;
}

static void wait_for_profile(void)
{
	for (int tries = 0; access(profile, F_OK) != 0; tries++) {
		check(tries < TRIES, "no profile");
		usleep(1000);
	}
	while (pauses)
		pause();
}

static void *leak(void *unused)
{
	(void)unused;
	for (;;) {
		void *block;
		/* Counted before the allocation, so that no thread gets ahead of one that waits. */
		size_t kept = atomic_fetch_add(&kept_bytes, block_bytes);

		if (is_slow) {
			if (kept % wait_bytes < block_bytes)
				usleep(10000);
		} else {
			if (kept >= wait_bytes)
				wait_for_profile();
			site_churn();
		}
		block = site_leak();
		if (block == NULL)
			abort();
		/* A cgroup counts memory only when it is used. */
		if (block_bytes <= TOUCHED_BYTES)
			memset(block, 1, block_bytes);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads;

	check(argc == 6, "arguments");
	threads = atoi(argv[1]);
	block_bytes = strtoul(argv[2], NULL, 10);
	wait_bytes = strtoul(argv[3], NULL, 10);
	profile = argv[4];
	pauses = strcmp(argv[5], "pause") == 0;
	is_slow = strcmp(argv[5], "slowly") == 0;
	/* Each further arena would reserve 64 MiB of address space. */
	check(mallopt(M_ARENA_MAX, 1) == 1, "mallopt");
	check(site_cache() != NULL, "cache");
	while (--threads > 0) {
		pthread_t thread;

		check(pthread_create(&thread, NULL, leak, NULL) == 0, "thread");
	}
	leak(NULL);
	return 0;
}
