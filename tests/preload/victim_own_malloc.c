/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that defines the malloc family itself, so its calls stay in the program.  Only
 * reallocarray() is libc's, which calls the program's realloc().
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define HEAP_BYTES (8 << 20)
#define HEADER 16

static _Alignas(16) char heap[HEAP_BYTES];
static size_t used;

void *malloc(size_t size)
{
	size_t bytes = (size + 2 * HEADER - 1) / HEADER * HEADER;
	size_t start = __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);

	if (size > HEAP_BYTES || start + bytes > HEAP_BYTES)
		return NULL;
	memcpy(heap + start, &size, sizeof size);
	return heap + start + HEADER;
}

void free(void *address)
{
	(void)address;
}

void *calloc(size_t count, size_t size)
{
	return size != 0 && count > HEAP_BYTES / size ? NULL : malloc(count * size);
}

void *realloc(void *old, size_t size)
{
	void *address = malloc(size);
	size_t old_size;

	if (old != NULL && address != NULL) {
		memcpy(&old_size, (char *)old - HEADER, sizeof old_size);
		memcpy(address, old, old_size < size ? old_size : size);
	}
	return address;
}

void *reallocarray(void *old, size_t count, size_t size);

static int is_own(const char *address)
{
	return address >= heap && address < heap + HEAP_BYTES;
}

int main(void)
{
	volatile size_t bytes = 0;

	if (!is_own(reallocarray(malloc(10), 10, 10)) || !is_own(reallocarray(NULL, 10, 10)))
		return 1;

	for (int i = 0; i < 100; i++) {
		void *block = malloc(1000);
		__asm__ volatile("" : "+r"(block));
		bytes += block != NULL ? 1000 : 0;
	}
	printf("%zu\n", bytes);
	return 6;
}
