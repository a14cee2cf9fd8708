/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates from 10^LEVELS stacks, all equally likely.  Each new block replaces a random one of
 * those in use.  Then prints "done", and waits for the end of its standard input.
 *
 * usage: bench_endurance LEVELS ALLOCATIONS
 */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { BRANCHES = 10, BLOCKS = 1 << 18, SIZES = 5, LEAST_BYTES = 192, STEP_BYTES = 32 };

/* Each decimal digit of number selects a branch. */
struct path {
	uint32_t number;
	uint32_t rest;
	unsigned levels;
};

typedef void *branch(struct path path);
static branch *const branches[BRANCHES];

static void *blocks[BLOCKS];
static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % limit;
}

/* A path has one size, so its stack has one row in the profile. */
static void *allocate(uint32_t number)
{
	void *block = malloc(LEAST_BYTES + number % SIZES * STEP_BYTES);

	/* Prevents a tail call, here and below. */
	__asm__ volatile("" : "+r"(block));
	return block;
}

#define BRANCH(name)                                                                               \
	static void *branch_##name(struct path path)                                               \
	{                                                                                          \
		void *block;                                                                       \
		uint32_t next = path.rest % BRANCHES;                                              \
		if (path.levels-- == 0)                                                            \
			return allocate(path.number);                                              \
		path.rest /= BRANCHES;                                                             \
		block = branches[next](path);                                                      \
		/* The name keeps the compiler from merging equal functions. */                    \
		__asm__ volatile("# " #name : "+r"(block));                                        \
		return block;                                                                      \
	}

BRANCH(0)
BRANCH(1)
BRANCH(2)
BRANCH(3)
BRANCH(4)
BRANCH(5)
BRANCH(6)
BRANCH(7)
BRANCH(8)
BRANCH(9)

static branch *const branches[BRANCHES] = {branch_0, branch_1, branch_2, branch_3, branch_4,
					   branch_5, branch_6, branch_7, branch_8, branch_9};

int main(int argc, char **argv)
{
	uint32_t paths = 1;
	unsigned levels;
	char input;

	if (argc != 3)
		return 2;
	levels = (unsigned)atoi(argv[1]);
	for (unsigned i = 0; i < levels; i++)
		paths *= BRANCHES;
	for (unsigned long i = strtoul(argv[2], NULL, 10); i > 0; i--) {
		uint32_t number = random_below(paths), place = random_below(BLOCKS);

		free(blocks[place]);
		blocks[place] = branch_0((struct path){number, number, levels});
	}
	return write(1, "done\n", 5) != 5 || read(0, &input, 1) != 0;
}
