/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates where the stack is larger than a copy may be (200 KiB), and then each time with another
 * outermost function.  Waits before each until the worker knows what it can know by then: dumps.
 * Prints nothing.
 */
#include <heapsample/heapsample.h>
#include <stdlib.h>

enum { LEVELS = 100, LEVEL_BYTES = 2048, BLOCK_BYTES = 1000 };

#define FUNCTION static __attribute__((noinline)) void

/* Written after calls, which therefore are no jumps. */
static volatile unsigned turns;

FUNCTION descend(unsigned levels)
{
	volatile char room[LEVEL_BYTES];
	char *volatile block;

	room[0] = 0;
	if (levels > 1) {
		descend(levels - 1);
	} else {
		block = malloc(BLOCK_BYTES);
		free(block);
	}
	turns += room[0] + 1u;
}

#define OUTERMOST(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)

#define DEFINE(n)                                                                                  \
	FUNCTION outermost_##n(void)                                                               \
	{                                                                                          \
		descend(LEVELS);                                                                   \
		turns += n;                                                                        \
	}
OUTERMOST(DEFINE)

#define NAME(n) outermost_##n,
static void (*const outermost[])(void) = {OUTERMOST(NAME)};

int main(void)
{
	/* The first stack is copied, as nothing is known yet. */
	outermost[0]();
	for (unsigned i = 0; i < sizeof outermost / sizeof outermost[0]; i++) {
		if (heapsample_dump(NULL, 0) != 0)
			return 1;
		outermost[i]();
	}
	return 0;
}
