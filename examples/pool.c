/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool of blocks of one size that can be profiled.
 *
 *     cc -g -o pool pool.c          (add -ldl before glibc 2.34)
 *     LD_PRELOAD=/usr/local/lib/libheapsample.so ./pool
 *     go tool pprof -top -tagfocus=heap=connections FILE
 *     go tool pprof -top -tagignore=heap=connections FILE
 *
 * FILE is the profile, whose name ./pool prints.  The first view shows the heap "connections":
 * all memory in use was taken by pool_take() for forget_connection().  With
 * -sample_index=alloc_space, open_connection() has taken about as much.  The second view shows
 * malloc's heap: one large block taken by pool_init(), the only one that malloc is asked for.
 *
 * Without the library ./pool does the same and prints nothing.
 */
#include <heapsample/heapsample.h>
#include <stdio.h>
#include <stdlib.h>

struct pool {
	int heap; /* of heapsample.h; negative if not profiled, which does no harm */
	size_t block_bytes;
	unsigned char *blocks;
	void *free; /* list: each free block begins with the address of the next */
};

static int pool_init(struct pool *pool, const char *name, size_t block_bytes, size_t count)
{
	pool->heap = heapsample_heap_register(name, NULL);
	pool->block_bytes = block_bytes;
	pool->blocks = malloc(block_bytes * count);
	pool->free = NULL;
	if (pool->blocks == NULL)
		return -1;
	for (size_t i = 0; i < count; i++) {
		void **block = (void **)(void *)(pool->blocks + i * block_bytes);

		*block = pool->free;
		pool->free = block;
	}
	return 0;
}

static void *pool_take(struct pool *pool)
{
	void **block = pool->free;

	if (block == NULL)
		return NULL;
	pool->free = *block;
	/* After the block is taken ... */
	heapsample_report_allocation(pool->heap, (uintptr_t)block,
				     pool->block_bytes);
	return block;
}

static void pool_give(struct pool *pool, void *block)
{
	void **freed = block;

	/* ... and before another thread could take it again. */
	heapsample_report_free(pool->heap, (uintptr_t)block);
	*freed = pool->free;
	pool->free = freed;
}

static void pool_destroy(struct pool *pool)
{
	heapsample_heap_unregister(pool->heap);
	free(pool->blocks);
}

/* --- what uses it ------------------------------------------------------------------- */

enum { CONNECTIONS = 20000, CONNECTION_BYTES = 4096 };

static void *open_connection(struct pool *pool)
{
	return pool_take(pool);
}

static void *forget_connection(struct pool *pool)
{
	return pool_take(pool);
}

int main(void)
{
	struct pool pool;
	char path[4096];

	if (pool_init(&pool, "connections", CONNECTION_BYTES, CONNECTIONS) != 0)
		return 1;
	for (int i = 0; i < CONNECTIONS / 2; i++) {
		void *connection = open_connection(&pool);

		forget_connection(&pool);
		pool_give(&pool, connection);
	}
	if (heapsample_dump(path, sizeof path) == 0)
		printf("%s\n", path);
	pool_destroy(&pool);
	return 0;
}
