/* SPDX-License-Identifier: BSD-2-Clause */
/* Gets the same address 50,000 times in a row, as fast as it can. */
#include "victim_truth.h"

#define TIMES 50000

static SITE void *site_same_address(size_t size)
{
	void *address = malloc(size);

	USE(address);
	return address;
}

int main(void)
{
	struct truth truth = { "same_address", 0, 0, 0, 0 };

	for (int i = 0; i < TIMES; i++) {
		struct block block = born(&truth, site_same_address(100), 100);

		died(&block);
		free(block.address);
	}
	print_truth(&truth, 1);
	return 0;
}
