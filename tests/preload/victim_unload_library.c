/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that allocates SIZE bytes when it is called and SIZE + 1 when it is closed.  Built
 * several times, with different SIZE and N, the first letter of its functions' names.
 */
#include <stdlib.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define USE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

extern long destructor_allocations[];

static __attribute__((noinline)) void PASTE(N, _allocates)(size_t size)
{
	void *block = malloc(size);

	USE(block);
	free(block);
}

void library_call(void);
void library_call(void)
{
	PASTE(N, _allocates)(SIZE);
	__asm__ volatile("");
}

static __attribute__((noinline)) void PASTE(N, _ends)(void)
{
	void *block = malloc(SIZE + 1);

	USE(block);
	free(block);
}

__attribute__((destructor)) static void library_ends(void)
{
	PASTE(N, _ends)();
	__atomic_fetch_add(&destructor_allocations[SIZE], 1, __ATOMIC_RELAXED);
}
