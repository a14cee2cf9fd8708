/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks, and the true numbers of them. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "soak.h"

#define SITE __attribute__((noinline))
/* Keeps the call before it from becoming a tail call, and its result from being optimized away. */
#define USE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

enum { ADDRESS_BITS = 47, SIZE_BITS = 6, TEXT_BYTES = 1 << 16 };

const uint32_t soak_sizes[SOAK_SIZES] = {0,   1,   8,   16,   24,   40,   72,   100,
					 136, 250, 504, 1000, 2050, 4096, 9000, 140000};

struct count {
	_Atomic uint64_t allocated;
	_Atomic uint64_t in_use;
};

static struct count counts[SOAK_SITE_COUNT][SOAK_SIZES];
static _Atomic soak_block cells[SOAK_CELLS];
static _Atomic uint32_t cells_in_use = 1;

#define SOAK_NAME(name) "site_" #name,
static const char *const site_names[] = {SOAK_SITES(SOAK_NAME)};

uint32_t soak_random_below(uint64_t *random, uint32_t limit)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(((*random >> 32) * limit) >> 32);
}

/* --- call sites ------------------------------------------------------------------------- */

#define SIMPLE_SITE(name, call)                                                                    \
	static SITE void *site_##name(size_t size)                                                 \
	{                                                                                          \
		void *address = call;                                                              \
		USE(address);                                                                      \
		return address;                                                                    \
	}

SIMPLE_SITE(malloc, malloc(size))
SIMPLE_SITE(calloc, calloc(1, size))
SIMPLE_SITE(realloc_null, realloc(NULL, size))
SIMPLE_SITE(reallocarray, reallocarray(NULL, size, 1))
SIMPLE_SITE(aligned_alloc, aligned_alloc(64, size))
SIMPLE_SITE(memalign, memalign(256, size))
SIMPLE_SITE(handler, malloc(size))
SIMPLE_SITE(short_thread, malloc(size))
SIMPLE_SITE(child, malloc(size))

static SITE void *site_posix_memalign(size_t size)
{
	void *address = NULL;

	soak_check(posix_memalign(&address, 128, size) == 0, "posix_memalign");
	USE(address);
	return address;
}

static SITE void *site_realloc(void *old, size_t size)
{
	void *address = realloc(old, size);

	USE(address);
	return address;
}

static void *allocate(enum soak_site site, size_t size)
{
	static void *(*const functions[SOAK_SITE_COUNT])(size_t) = {
		[SOAK_malloc] = site_malloc,
		[SOAK_calloc] = site_calloc,
		[SOAK_realloc_null] = site_realloc_null,
		[SOAK_reallocarray] = site_reallocarray,
		[SOAK_posix_memalign] = site_posix_memalign,
		[SOAK_aligned_alloc] = site_aligned_alloc,
		[SOAK_memalign] = site_memalign,
		[SOAK_handler] = site_handler,
		[SOAK_short_thread] = site_short_thread,
		[SOAK_child] = site_child,
	};

	return functions[site] != NULL ? functions[site](size) : soak_new(site, size);
}

/* The same, below depth more frames. */
static SITE void *allocate_deep(enum soak_site site, size_t size, unsigned depth)
{
	void *address = depth == 0 ? allocate(site, size) : allocate_deep(site, size, depth - 1);

	USE(address);
	return address;
}

/* --- blocks ----------------------------------------------------------------------------- */

static void *address_of(soak_block block)
{
	return (void *)(uintptr_t)(block & ((UINT64_C(1) << ADDRESS_BITS) - 1));
}

static uint32_t size_of(soak_block block)
{
	return (uint32_t)(block >> ADDRESS_BITS) & ((1u << SIZE_BITS) - 1);
}

static enum soak_site site_of(soak_block block)
{
	return (enum soak_site)(block >> (ADDRESS_BITS + SIZE_BITS));
}

static bool is_from_new(enum soak_site site)
{
	return site >= SOAK_new && site <= SOAK_new_aligned;
}

/* A handler that comes while a thread is in the allocator must not allocate. */
static void enter(struct soak_thread *thread)
{
	if (thread != NULL)
		thread->may_be_interrupted = 0;
}

static void leave(struct soak_thread *thread)
{
	if (thread != NULL)
		thread->may_be_interrupted = 1;
}

static soak_block counted(void *address, enum soak_site site, uint32_t size_index)
{
	struct count *count = &counts[site][size_index];

	soak_check(address != NULL, "out of memory");
	soak_check((uintptr_t)address >> ADDRESS_BITS == 0, "an address of 47 bits");
	/* Is checked when the block is freed: nobody else may have been given this memory. */
	if (soak_sizes[size_index] > 0)
		*(volatile unsigned char *)address = (unsigned char)(size_index + 1);
	atomic_fetch_add_explicit(&count->allocated, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&count->in_use, 1, memory_order_relaxed);
	return (uintptr_t)address | (uint64_t)size_index << ADDRESS_BITS |
	       (uint64_t)site << (ADDRESS_BITS + SIZE_BITS);
}

static void *not_in_use(soak_block block)
{
	void *address = address_of(block);

	atomic_fetch_sub_explicit(&counts[site_of(block)][size_of(block)].in_use, 1,
				  memory_order_relaxed);
	soak_check(soak_sizes[size_of(block)] == 0 ||
			   *(volatile unsigned char *)address == size_of(block) + 1,
		   "a block keeps what is in it");
	return address;
}

soak_block soak_make(struct soak_thread *thread, enum soak_site site, uint32_t size_index,
		     unsigned depth)
{
	void *address;

	/* operator new of 0 bytes asks the allocator for one. */
	if (size_index == 0 && is_from_new(site))
		size_index = 1;
	enter(thread);
	address = allocate_deep(site, soak_sizes[size_index], depth);
	leave(thread);
	return counted(address, site, size_index);
}

soak_block soak_move(struct soak_thread *thread, soak_block old, uint32_t size_index)
{
	enum soak_site site = site_of(old);
	void *address;

	/* realloc() must not be given blocks of operator new; and to 0 bytes it is a free. */
	if (is_from_new(site) || size_index == 0)
		return old;
	address = not_in_use(old);
	enter(thread);
	address = site_realloc(address, soak_sizes[size_index]);
	leave(thread);
	return counted(address, SOAK_realloc, size_index);
}

void soak_end(struct soak_thread *thread, soak_block block)
{
	void *address;

	if (block == 0)
		return;
	address = not_in_use(block);
	enter(thread);
	if (is_from_new(site_of(block)))
		soak_delete(site_of(block), address);
	else
		free(address);
	leave(thread);
}

soak_block soak_made_by_library(soak_library_call *call, uint32_t size_index)
{
	return counted(call(soak_sizes[size_index]), SOAK_library, size_index);
}

soak_block soak_exchange(uint64_t *random, soak_block block)
{
	uint32_t limit = atomic_load_explicit(&cells_in_use, memory_order_relaxed);

	return atomic_exchange(&cells[soak_random_below(random, limit)], block);
}

void soak_use_cells(uint32_t count)
{
	for (uint32_t i = count; i < SOAK_CELLS; i++)
		soak_end(NULL, atomic_exchange(&cells[i], 0));
	atomic_store(&cells_in_use, count > 0 ? count : 1);
}

/* Mostly small ones; a block of the last size has a mapping of its own. */
static uint32_t random_size(uint64_t *random)
{
	return soak_random_below(random,
				 soak_random_below(random, 64) == 0 ? SOAK_SIZES : SOAK_SIZES - 2);
}

void soak_work(struct soak_thread *thread, unsigned depth)
{
	uint64_t *random = &thread->random;
	soak_block block = soak_exchange(
		random, soak_make(thread, soak_random_below(random, SOAK_COMMON_SITES),
				  random_size(random), depth));

	if (block != 0 && soak_random_below(random, 4) == 0)
		block = soak_exchange(random, soak_move(thread, block, random_size(random)));
	soak_end(thread, block);
}

/* --- the truth -------------------------------------------------------------------------- */

/* Does not use stdio's streams, which allocate their buffers. */
void soak_print_truth(const char *kind, const char *profile, int error)
{
	static char text[TEXT_BYTES];
	size_t used = (size_t)snprintf(text, sizeof text,
				       "{\"kind\": \"%s\", \"pid\": %d, \"profile\": \"%s\", "
				       "\"error\": %d, \"sites\": {",
				       kind, (int)getpid(), profile, error);

	for (unsigned site = 0; site < SOAK_SITE_COUNT; site++) {
		used += (size_t)snprintf(text + used, sizeof text - used, "%s\"%s\": {",
					 site > 0 ? ", " : "", site_names[site]);
		for (unsigned size = 0; size < SOAK_SIZES; size++)
			used += (size_t)snprintf(text + used, sizeof text - used,
						 "%s\"%u\": [%lu, %lu]", size > 0 ? ", " : "",
						 soak_sizes[size],
						 (unsigned long)counts[site][size].allocated,
						 (unsigned long)counts[site][size].in_use);
		used += (size_t)snprintf(text + used, sizeof text - used, "}");
	}
	used += (size_t)snprintf(text + used, sizeof text - used, "}}\n");
	soak_check(used < sizeof text, "the truth is too long");
	soak_check(write(1, text, used) == (ssize_t)used, "write");
}
