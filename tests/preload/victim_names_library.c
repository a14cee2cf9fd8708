/* SPDX-License-Identifier: BSD-2-Clause */
/* The library of victim_names.cc: a function that allocates. */
#include <stdlib.h>

void *library_function(size_t size);

__attribute__((noinline)) void *library_function(size_t size)
{
	void *block = malloc(size);
	__asm__ volatile("" ::: "memory");
	return block;
}
