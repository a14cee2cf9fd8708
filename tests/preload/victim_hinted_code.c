/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that is copied by hand, as a .o or a .so: N is a letter, its functions are
 * N_outer and N_leaf.  It reaches the allocator through a pointer.  It is built without frame
 * pointers, so that only its unwind tables say who called it, or with nothing but frame pointers.
 */
#include <stddef.h>

#define CONCATENATE(a, b) a##b
#define NAME(letter, rest) CONCATENATE(letter, rest)

typedef void *allocate_function(size_t size);

void *NAME(N, _outer)(allocate_function *allocate, size_t size);
__attribute__((visibility("hidden"))) void *NAME(N, _leaf)(allocate_function *allocate,
							   size_t size);

/* Frames of different sizes, so that the tables of one code do not fit another. */
__attribute__((noinline)) void *NAME(N, _leaf)(allocate_function *allocate, size_t size)
{
	volatile char room[ROOM];
	void *block;

	room[0] = 1;
	block = allocate(size);
	room[1] = 1;
	return block;
}

__attribute__((noinline)) void *NAME(N, _outer)(allocate_function *allocate, size_t size)
{
	volatile char room[3 * ROOM];
	void *block;

	room[0] = 1;
	block = NAME(N, _leaf)(allocate, size);
	room[1] = 1;
	return block;
}

#ifdef OTHER
/* In a section of its own, which is not copied: at the same address as N_leaf, in its own. */
__attribute__((section(".text.other"))) void *NAME(N, _other)(allocate_function *allocate,
							      size_t size);
void *NAME(N, _other)(allocate_function *allocate, size_t size)
{
	volatile char room[9 * ROOM];

	room[size] = 1;
	return allocate(size + (size_t)room[size]);
}
#endif
