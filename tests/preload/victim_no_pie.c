/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linked at a fixed address, and takes the address of malloc: that is then one inside the
 * program, though malloc is defined elsewhere.
 */
#include "victim_truth.h"

static void *(*volatile allocate)(size_t) = malloc;

static SITE void site_no_pie(void)
{
	for (int i = 0; i < 100; i++) {
		void *block = allocate(1000);

		USE(block);
	}
}

int main(void)
{
	site_no_pie();
	return 0;
}
