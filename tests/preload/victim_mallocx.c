/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates known amounts with jemalloc's own functions, each from its own call site. */
#include <jemalloc/jemalloc.h>

#include "victim_truth.h"

#define BLOCKS 1000

static SITE void *site_mallocx(size_t size)
{
	void *block = mallocx(size, 0);

	USE(block);
	return block;
}

static SITE void *site_rallocx(void *block, size_t size)
{
	block = rallocx(block, size, MALLOCX_ZERO);
	USE(block);
	return block;
}

static SITE size_t site_xallocx(void *block, size_t size)
{
	size_t result = xallocx(block, size, 0, 0);

	__asm__ volatile("" : "+r"(result) : : "memory");
	return result;
}

int main(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *kept = site_rallocx(site_mallocx(1000), 5000);
		void *freed = site_mallocx(300);

		check(kept != NULL && freed != NULL, "mallocx and rallocx");
		/* 5100 is in the size class of 5000; 1 TiB cannot be had in place. */
		check(site_xallocx(kept, 5100) >= 5100, "xallocx in place");
		check(site_xallocx(kept, (size_t)1 << 40) < (size_t)1 << 40, "xallocx that fails");
		if (i % 2 == 0)
			dallocx(freed, 0);
		else
			sdallocx(freed, 300, 0);
	}
	return 0;
}
