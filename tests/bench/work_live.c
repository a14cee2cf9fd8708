/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For counts of instructions: pairs of malloc and free that are not sampled, while LIVE samples are
 * live and after DEATHS others were freed.
 *
 * usage: work_live DEATHS LIVE SIZES ROUNDS
 *
 * The samples are in a heap of the program's own with interval 1, under addresses of malloc's
 * blocks; the live set's index is shared by all heaps.  The live blocks have SIZES different sizes:
 * with 1 they lie at equal distances, which may favour or hurt a hash.  malloc itself must not be
 * sampled (HEAPSAMPLE_INTERVAL=256g).  Then measured_pairs() makes ROUNDS times BLOCKS pairs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "heapsample/heapsample.h"

enum { BLOCKS = 4096, BATCH = 1024, BLOCK_BYTES = 48 };

static uint64_t random_state = 88172645463325252u;

static void *blocks[BLOCKS];

void measured_pairs(unsigned long rounds);

__attribute__((noinline)) void measured_pairs(unsigned long rounds)
{
	for (unsigned long round = 0; round < rounds; round++) {
		for (size_t i = 0; i < BLOCKS; i++)
			blocks[i] = malloc(16 + i * 37 % 1009);
		for (size_t i = 0; i < BLOCKS; i++)
			free(blocks[i]);
	}
}

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Generations of BATCH blocks that live at the same time, as in a server that handles requests. */
static void live_and_die(int heap, unsigned long deaths)
{
	void *batch[BATCH];

	for (unsigned long done = 0; done < deaths; done += BATCH) {
		for (size_t i = 0; i < BATCH; i++) {
			batch[i] = malloc(BLOCK_BYTES + (done / BATCH * 16 & 1023));
			heapsample_report_allocation(heap, (uintptr_t)batch[i], BLOCK_BYTES);
		}
		for (size_t i = 0; i < BATCH; i++) {
			heapsample_report_free(heap, (uintptr_t)batch[i]);
			free(batch[i]);
		}
	}
}

int main(int argc, char **argv)
{
	struct heapsample_stats stats = {0};
	unsigned long live, sizes;
	int heap;

	if (argc != 5)
		return 2;
	heap = heapsample_heap_register("live", NULL);
	live_and_die(heap, strtoul(argv[1], NULL, 10));
	live = strtoul(argv[2], NULL, 10);
	sizes = strtoul(argv[3], NULL, 10);
	for (unsigned long i = 0; i < live; i++) {
		uintptr_t block = (uintptr_t)malloc(BLOCK_BYTES + random_number() % sizes);
		heapsample_report_allocation(heap, block, BLOCK_BYTES);
	}
	measured_pairs(1); /* warms up the allocator */
	measured_pairs(strtoul(argv[4], NULL, 10));
	heapsample_get_stats(&stats, sizeof stats);
	printf("%llu samples, %llu lost, %llu freed\n", (unsigned long long)stats.samples,
	       (unsigned long long)stats.samples_lost, (unsigned long long)stats.frees);
	return 0;
}
