/* SPDX-License-Identifier: BSD-2-Clause */
/* victim_new_stacks N: allocates N times, at most 2^DEPTH, each time with another stack. */
#include <stdlib.h>

enum { DEPTH = 20, BLOCK_BYTES = 64 };

/* Before one call and after the other, so that the compiler cannot make one of the two. */
static volatile unsigned turns;

/* Each bit of path chooses one of two calls. */
static void descend(unsigned depth, unsigned long path)
{
	char *volatile block;

	if (depth == 0) {
		block = malloc(BLOCK_BYTES);
		free(block);
	} else if (path % 2 == 0) {
		descend(depth - 1, path / 2);
		turns++;
	} else {
		turns++;
		descend(depth - 1, path / 2);
	}
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;

	for (unsigned long path = 0; path < count; path++)
		descend(DEPTH, path);
	return 0;
}
