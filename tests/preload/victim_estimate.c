/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates about 60 MB in 20,000 blocks of mixed sizes, always the same ones, and keeps
 * each eighth.  Before each of them comes a call of the same size that fails, and every other one
 * that is freed is by realloc(block, 0).  One thread.
 *
 * usage: victim_estimate [print|single]     print: "SIZE KEPT" of each block, too
 *
 * single: allocates one block each of some sizes, which are in a profile's rows as they are.
 */
#include <string.h>

#include "victim_truth.h"

#define BLOCKS 20000
#define KEPT_EVERY 8

/* How many blocks live before the oldest is freed. */
#define YOUNG 64

static size_t sizes[BLOCKS];
static void *young[YOUNG], *kept[BLOCKS / KEPT_EVERY];

/* Not an allocation: no alignment is 3. */
static SITE void fail(size_t size)
{
	void *address = NULL;
	volatile size_t alignment = 3;

	check(posix_memalign(&address, alignment, size) != 0 && address == NULL, "posix_memalign");
}

static SITE void give_back(void *block, size_t number)
{
	if (number % 2 == 0)
		free(block);
	else if (block != NULL)
		check(realloc(block, 0) == NULL, "realloc");
}

static SITE void *site_estimate(size_t size)
{
	void *address = malloc(size);

	USE(address);
	check(address != NULL, "malloc");
	return address;
}

static size_t mixed_size(uint64_t *random)
{
	size_t kind = next_size(random, 100);

	if (kind < 40)
		return next_size(random, 17);
	if (kind < 70)
		return 17 + next_size(random, 496);
	if (kind < 95)
		return 513 + next_size(random, 7680);
	return 20000 + next_size(random, 40000);
}

static void allocate_single(void)
{
	for (size_t size = 512; size < 2048; size += size < 1024 ? 128 : 256)
		free(site_estimate(size));
}

int main(int argc, char **argv)
{
	uint64_t random = 1;

	if (argc > 1 && strcmp(argv[1], "single") == 0) {
		allocate_single();
		return 0;
	}
	for (size_t i = 0; i < BLOCKS; i++)
		sizes[i] = mixed_size(&random);
	for (size_t i = 0; i < BLOCKS; i++) {
		void *address;

		fail(sizes[i]);
		address = site_estimate(sizes[i]);
		if (i % KEPT_EVERY == 0) {
			kept[i / KEPT_EVERY] = address;
		} else {
			give_back(young[i % YOUNG], i / YOUNG);
			young[i % YOUNG] = address;
		}
	}
	for (size_t i = 0; i < YOUNG; i++)
		free(young[i]);
	for (size_t i = 0; argc > 1 && strcmp(argv[1], "print") == 0 && i < BLOCKS; i++)
		printf("%zu %d\n", sizes[i], i % KEPT_EVERY == 0);
	return 0;
}
