/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An allocator that handlers may interrupt anywhere, call, and leave by a jump: without locks,
 * without thread-local state, and consistent at each instruction.  A jump loses at most one block.
 * Programs that are linked with it may do with signals what none may do with glibc's malloc; so
 * what goes wrong then is the library's fault.
 */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define REGION_BYTES ((uint64_t)4 << 30)
#define UNIT 16u
#define ORDERS 32 /* order n: 2^n units */

/* Before each block.  base: the beginning of what it is in, in units, farther off if aligned. */
struct header {
	uint32_t base;
	uint32_t order;
	uint64_t usable;
};

/* A stack of free blocks: how often it was changed, and the first block, in units (0: none). */
static _Atomic uint64_t stacks[ORDERS];
static _Atomic uintptr_t region;
static _Atomic uint32_t used_units;

static char *at(uint32_t unit)
{
	return (char *)atomic_load(&region) + (uint64_t)unit * UNIT;
}

static void begin(void)
{
	uintptr_t none = 0;
	void *memory;

	if (atomic_load(&region) != 0)
		return;
	memory = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		abort();
	if (!atomic_compare_exchange_strong(&region, &none, (uintptr_t)memory))
		munmap(memory, REGION_BYTES);
	else
		atomic_fetch_add(&used_units, 1); /* 0 means none */
}

static uint32_t take(unsigned order)
{
	uint64_t old = atomic_load(&stacks[order]);
	uint32_t next;

	while ((uint32_t)old != 0) {
		/* It may have been taken and written to: then the number of changes differs. */
		next = *(volatile uint32_t *)(void *)at((uint32_t)old);
		if (atomic_compare_exchange_weak(&stacks[order], &old,
						 ((old >> 32) + 1) << 32 | next))
			return (uint32_t)old;
	}
	return atomic_fetch_add(&used_units, 1u << order);
}

static void put(unsigned order, uint32_t unit)
{
	uint64_t old = atomic_load(&stacks[order]);

	do
		*(volatile uint32_t *)(void *)at(unit) = (uint32_t)old;
	while (!atomic_compare_exchange_weak(&stacks[order], &old, ((old >> 32) + 1) << 32 | unit));
}

static struct header *header_of(void *block)
{
	return (struct header *)block - 1;
}

void *memalign(size_t alignment, size_t size)
{
	size_t bytes = size + alignment + sizeof(struct header);
	unsigned order = 2;
	struct header *header;
	uint32_t base;
	uintptr_t block;

	if (size > REGION_BYTES / 64 || alignment > REGION_BYTES / 64) {
		errno = ENOMEM;
		return NULL;
	}
	begin();
	while ((size_t)UNIT << order < bytes)
		order++;
	base = take(order);
	block = ((uintptr_t)at(base) + sizeof(struct header) + alignment - 1) & ~(alignment - 1);
	header = header_of((void *)block);
	header->base = base;
	header->order = order;
	header->usable = (uintptr_t)at(base) + ((size_t)UNIT << order) - block;
	return (void *)block;
}

void *malloc(size_t size)
{
	return memalign(UNIT, size);
}

void free(void *block)
{
	if (block != NULL)
		put(header_of(block)->order, header_of(block)->base);
}

void *calloc(size_t count, size_t size)
{
	size_t bytes;
	void *block = NULL;

	if (__builtin_mul_overflow(count, size, &bytes))
		errno = ENOMEM;
	else
		block = malloc(bytes);
	return block != NULL ? memset(block, 0, bytes) : NULL;
}

size_t malloc_usable_size(void *block)
{
	return block != NULL ? header_of(block)->usable : 0;
}

void *realloc(void *block, size_t size)
{
	void *moved;

	if (block != NULL && size != 0 && size <= malloc_usable_size(block))
		return block;
	moved = block == NULL || size != 0 ? malloc(size) : NULL;
	if (moved != NULL && block != NULL)
		memcpy(moved, block, malloc_usable_size(block));
	if (moved != NULL || size == 0)
		free(block);
	return moved;
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	void *block = memalign(alignment, size);

	if (block != NULL)
		*out = block;
	return block != NULL ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

void *valloc(size_t size)
{
	return memalign(4096, size);
}

void *pvalloc(size_t size)
{
	return memalign(4096, (size + 4095) & ~(size_t)4095);
}
