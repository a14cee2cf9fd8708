/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that allocates when it is opened, used and closed, and that exchanges blocks with the
 * program.  The loader takes a copy of its file for another library.
 */
#include <stdlib.h>
#include <string.h>

/* The loader allocates it by malloc() when a thread first uses it. */
static __thread char of_thread[3000];
static char *of_library;

__attribute__((constructor)) static void library_begins(void)
{
	of_library = strdup("kept by the library while it is open");
}

__attribute__((destructor)) static void library_ends(void)
{
	void *block = malloc(200);

	free(of_library);
	free(block);
}

long library_use(long seed);
long library_use(long seed)
{
	unsigned char *block = malloc(64);
	long sum = 0;

	memset(block, (int)(seed & 0x7f), 64);
	block = realloc(block, 5000);
	of_thread[(size_t)seed % sizeof of_thread]++;
	for (int i = 0; i < 64; i++)
		sum += block[i];
	free(block);
	return sum + (long)strlen(of_library);
}

void *library_gives(size_t size);
void *library_gives(size_t size)
{
	return memset(malloc(size), 0x5a, size);
}

void *library_resizes(void *block, size_t size);
void *library_resizes(void *block, size_t size)
{
	return realloc(block, size);
}

void library_takes(void *block);
void library_takes(void *block)
{
	free(block);
}
