/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For counts of instructions: pairs of malloc and free that are not sampled, after many
 * samples have lived and died.
 *
 * usage: work_live DEATHS LIVE SIZES ROUNDS
 *
 * Samples come and go in a heap of the program's own, whose interval is 1, under addresses
 * that malloc gave out, to blocks of SIZES different sizes (1: they lie at equal distances, which
 * a hash may like or not); the live set's index is the same for all heaps.  malloc's own samples
 * are to be out of the way (HEAPSAMPLE_INTERVAL=256g).  Then come the pairs, ROUNDS times
 * BLOCKS, in measured_pairs().
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

/* Many generations, each alive at one time, as in a program that works off requests. */
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
	measured_pairs(1); /* the allocator's own state is as it will be */
	measured_pairs(strtoul(argv[4], NULL, 10));
	heapsample_get_stats(&stats, sizeof stats);
	printf("%llu samples, %llu lost, %llu freed\n", (unsigned long long)stats.samples,
	       (unsigned long long)stats.samples_lost, (unsigned long long)stats.frees);
	return 0;
}
