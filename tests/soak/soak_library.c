/* SPDX-License-Identifier: BSD-2-Clause */
/* A library of which there are many copies, opened and closed. */
#include <stddef.h>
#include <stdlib.h>

#define USE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

static __attribute__((noinline)) void *site_library(size_t size)
{
	void *address = malloc(size);

	USE(address);
	return address;
}

void *soak_library_allocates(size_t size);
void *soak_library_allocates(size_t size)
{
	void *address = site_library(size);

	USE(address);
	return address;
}

/* Allocated when the library is opened, and freed when it is closed. */
static void *kept;

__attribute__((constructor)) static void library_begins(void)
{
	kept = malloc(100);
}

__attribute__((destructor)) static void library_ends(void)
{
	free(kept);
}
