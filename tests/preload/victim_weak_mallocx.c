/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses jemalloc's own functions if they exist, as weak symbols, like programs that do not depend on
 * jemalloc.  There is no jemalloc.  Prints whether there were such functions.
 *
 * site_mallocx() makes 6 blocks, site_rallocx() moves one of them; all are freed.
 */
#include <dlfcn.h>
#include <string.h>

#include "victim_truth.h"

#define MALLOCX_LG_ALIGN(lg) (lg)
#define MALLOCX_ZERO 0x40

void *mallocx(size_t size, int flags) __attribute__((weak));
void *rallocx(void *block, size_t size, int flags) __attribute__((weak));
size_t xallocx(void *block, size_t size, size_t extra, int flags) __attribute__((weak));
void dallocx(void *block, int flags) __attribute__((weak));
void sdallocx(void *block, size_t size, int flags) __attribute__((weak));

static SITE void *site_mallocx(size_t size, int flags)
{
	void *block = mallocx(size, flags);

	USE(block);
	check(block != NULL, "mallocx");
	return block;
}

static SITE void *site_rallocx(void *block, size_t size)
{
	block = rallocx(block, size, 0);
	USE(block);
	check(block != NULL, "rallocx");
	return block;
}

static void check_alignment(void)
{
	char *block = site_mallocx(100, MALLOCX_LG_ALIGN(12));

	check((uintptr_t)block % 4096 == 0, "the alignment");
	memset(block, 1, 100);
	dallocx(block, 0);
}

static void check_zeroed(void)
{
	/* The second block is likely to be the first one again, which is not zero. */
	for (int i = 0; i < 2; i++) {
		unsigned char *block = site_mallocx(500, MALLOCX_ZERO);

		for (int k = 0; k < 500; k++)
			check(block[k] == 0, "MALLOCX_ZERO");
		memset(block, 0xff, 500);
		sdallocx(block, 500, 0);
	}
}

static void check_moved(void)
{
	unsigned char *block = site_mallocx(1000, 0);

	memset(block, 7, 1000);
	block = site_rallocx(block, 50000);
	for (int i = 0; i < 1000; i++)
		check(block[i] == 7, "what rallocx keeps");
	/* xallocx() grows a block in place, which malloc cannot do: it returns the size it has. */
	check(xallocx(block, 50000, 0, 0) >= 50000, "xallocx");
	check(xallocx(block, 1 << 20, 0, 0) < 1 << 20, "xallocx that fails");
	dallocx(block, 0);
}

int main(void)
{
	void *plain;

	check(dlerror() == NULL, "dlerror");
	if (mallocx == NULL || rallocx == NULL || xallocx == NULL || dallocx == NULL ||
	    sdallocx == NULL) {
		puts("none");
		return 0;
	}
	plain = site_mallocx(100, 0);
	sdallocx(plain, 100, 0);
	check_alignment();
	check_zeroed();
	check_moved();
	/* free() takes such a block too. */
	free(site_mallocx(64, 0));
	puts("found");
	return 0;
}
