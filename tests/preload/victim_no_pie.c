/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that is linked at a fixed address and takes the address of malloc, which is then inside
 * the program although malloc is defined elsewhere.
 */
#include "victim_truth.h"

static SITE void site_no_pie(void *(*allocate)(size_t))
{
	for (int i = 0; i < 100; i++) {
		void *block = allocate(1000);

		USE(block);
	}
}

int main(void)
{
	/* In code the address is an immediate operand, which the loader does not fill in. */
	site_no_pie(malloc);
	return 0;
}
