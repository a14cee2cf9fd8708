/* SPDX-License-Identifier: BSD-2-Clause */
/* How many pcs the cache keeps: as many as come, within its part of the memory. */
#include "sample/known_pcs.h"

#include "base/arena.h"
#include "check.h"

#define MIB ((size_t)1 << 20)

static struct hs_known_pcs pcs;

static uint64_t pc_of(uint64_t number)
{
	/* As apart as calls are in large programs. */
	return 0x400000 + number * 37;
}

/* As a round of stacks does it: what is not known is added.  Returns how many were not. */
static uint64_t meet(uint64_t count)
{
	uint64_t added = 0;

	for (uint64_t i = 0; i < count; i++) {
		struct hs_pc found, pc = {.pc = pc_of(i), .is_call = true};

		if (hs_known_pcs_find(&pcs, pc.pc, true, &found))
			continue;
		hs_known_pcs_add(&pcs, &pc);
		added++;
	}
	return added;
}

/* memory: HEAPSAMPLE_MEMORY. */
static void begin(size_t memory)
{
	hs_arena_set_budget(memory / 4 * 3);
	CHECK_INT(hs_known_pcs_init(&pcs), 0);
}

static void end(void)
{
	hs_known_pcs_destroy(&pcs);
	CHECK_INT(hs_arena_used(), 0);
}

static void met_again(size_t memory, uint64_t count)
{
	uint64_t again;

	begin(memory);
	CHECK_INT(meet(count), count);
	again = meet(count);
	printf("%llu of %llu again, %zu KiB\n", (unsigned long long)again,
	       (unsigned long long)count, hs_arena_used() >> 10);
	CHECK(again < count / 20);
	end();
}

static void many_pcs_are_known_when_they_come_again(void)
{
	met_again(16 * MIB, 20000);
	met_again(64 * MIB, 60000);
	met_again(256 * MIB, 200000);
}

static void a_table_is_at_most_a_sixteenth_of_the_memory(void)
{
	for (size_t memory = 16 * MIB; memory <= 256 * MIB; memory *= 4) {
		size_t before;

		begin(memory);
		before = hs_arena_used();
		meet(1000000);
		CHECK(hs_arena_used() - before > memory / 16);
		CHECK(hs_arena_used() - before < memory / 16 + memory / 16 / 2);
		/* However many come. */
		before = hs_arena_used();
		meet(1000000);
		CHECK_INT(hs_arena_used(), before);
		end();
	}
}

static size_t most_for(size_t memory)
{
	size_t before, most;

	begin(memory);
	before = hs_arena_used();
	meet(1000000);
	most = hs_arena_used() - before;
	end();
	return most;
}

/* A table of a sixteenth is not always one of those that follow each other. */
static void a_table_that_would_be_too_large_is_not_made(void)
{
	CHECK(most_for(32 * MIB) < 32 * MIB / 16);
	CHECK(most_for(128 * MIB) < 128 * MIB / 16);
}

/* However much memory there is. */
static void the_largest_table_has_16_mib(void)
{
	CHECK(most_for(4096 * MIB) < 24 * MIB);
}

/* Sets are full by chance, again and again: that is no reason for a larger table. */
static void dropped_pcs_do_not_count(void)
{
	begin(16 * MIB);
	for (unsigned round = 0; round < 1000; round++) {
		unsigned count = 0;

		hs_known_pcs_drop(&pcs);
		for (uint64_t pc = 0; count <= HS_KNOWN_PCS_WAYS; pc++) {
			if (hs_known_pcs_set(&pcs, pc, true) != hs_known_pcs_set(&pcs, 0, true))
				continue;
			hs_known_pcs_add(&pcs, &(struct hs_pc){.pc = pc, .is_call = true});
			count++;
		}
	}
	CHECK(pcs.blocks[1] == NULL);
	end();
}

static void stamps_begin_again(void)
{
	begin(16 * MIB);
	pcs.next_stamp = UINT32_MAX - 1;
	CHECK_INT(meet(10), 10);
	/* What was there before is not known any more. */
	CHECK_INT(meet(10), 1);
	CHECK_INT(meet(10), 0);
	CHECK_INT(pcs.next_stamp, 11);
	end();
}

int main(void)
{
	CHECK_INT(hs_arena_init(256 * MIB), 0);
	RUN(many_pcs_are_known_when_they_come_again);
	RUN(a_table_is_at_most_a_sixteenth_of_the_memory);
	RUN(a_table_that_would_be_too_large_is_not_made);
	RUN(the_largest_table_has_16_mib);
	RUN(dropped_pcs_do_not_count);
	RUN(stamps_begin_again);
	return CHECK_RESULT();
}
