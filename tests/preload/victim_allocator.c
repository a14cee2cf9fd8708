/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates, and checks by an allocator's own counts that it serves the program.
 *
 * usage: victim_allocator jemalloc|tcmalloc|mimalloc
 */
#include <dlfcn.h>
#include <string.h>

#include "victim_truth.h"

#define BLOCKS 20000
#define BLOCK_BYTES 1000

static void *blocks[BLOCKS];

static SITE void site_allocator(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BLOCK_BYTES);
		USE(blocks[i]);
	}
}

/* Bytes that jemalloc has given out. */
static size_t jemalloc_bytes(void)
{
	int (*control)(const char *, void *, size_t *, void *, size_t);
	uint64_t epoch = 1;
	size_t bytes = 0, size = sizeof bytes;

	*(void **)&control = dlsym(RTLD_DEFAULT, "mallctl");
	check(control != NULL, "there is a mallctl");
	control("epoch", NULL, NULL, &epoch, sizeof epoch);
	check(control("stats.allocated", &bytes, &size, NULL, 0) == 0, "stats.allocated");
	return bytes;
}

static size_t tcmalloc_bytes(void)
{
	int (*property)(const char *, size_t *);
	size_t bytes = 0;

	*(void **)&property = dlsym(RTLD_DEFAULT, "MallocExtension_GetNumericProperty");
	check(property != NULL, "there is a MallocExtension");
	check(property("generic.current_allocated_bytes", &bytes), "current_allocated_bytes");
	return bytes;
}

/* Blocks of mimalloc's heap, as it recognises them itself. */
static size_t mimalloc_bytes(void)
{
	unsigned char (*owns)(const void *);
	size_t bytes = 0;

	*(void **)&owns = dlsym(RTLD_DEFAULT, "mi_is_in_heap_region");
	check(owns != NULL, "there is a mi_is_in_heap_region");
	for (size_t i = 0; i < BLOCKS; i++)
		if (blocks[i] != NULL && owns(blocks[i]))
			bytes += BLOCK_BYTES;
	return bytes;
}

int main(int argc, char **argv)
{
	size_t (*bytes)(void) = mimalloc_bytes;
	size_t before, after;

	if (argc > 1 && strcmp(argv[1], "jemalloc") == 0)
		bytes = jemalloc_bytes;
	else if (argc > 1 && strcmp(argv[1], "tcmalloc") == 0)
		bytes = tcmalloc_bytes;
	before = bytes();
	site_allocator();
	after = bytes();
	check(after - before >= (size_t)BLOCKS * BLOCK_BYTES, "the allocator serves the program");
	check(after - before < (size_t)BLOCKS * BLOCK_BYTES * 2, "and serves it once");
	for (size_t i = 0; i < BLOCKS; i += 2)
		free(blocks[i]);
	/* Less than all, because the thread's caches may keep some. */
	after = after - (size_t)BLOCKS / 2 * BLOCK_BYTES + 100000;
	check(bytes == mimalloc_bytes || bytes() < after, "and takes back what is freed");
	return 0;
}
