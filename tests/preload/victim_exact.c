/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates known amounts through each function of the malloc family, in four threads
 * that free each other's blocks, and prints what it allocated.
 *
 * usage: victim_exact keep|free     whether blocks are left at the end
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "victim_truth.h"

#define ROUNDS 150

/* X(name): a function site_NAME that allocates. */
#define SITES(X)                                                                                   \
	X(malloc) X(malloc_zero) X(calloc) X(realloc_null) X(realloc_source) X(realloc_grow)       \
	X(realloc_shrink) X(realloc_in_place) X(reallocarray) X(posix_memalign) X(aligned_alloc)   \
	X(memalign) X(valloc) X(pvalloc) X(strdup) X(strndup) X(survivor)

#define SITE_ENUM(name) AT_##name,
enum { SITES(SITE_ENUM) SITE_COUNT };
#define SITE_NAME(name) { #name, 0, 0, 0, 0 },
static struct truth truths[] = { SITES(SITE_NAME) };

#define BORN(name, address, size) born(&truths[AT_##name], address, size)

/* NULL if nothing in the process defines them. */
static void (*free_sized_pointer)(void *, size_t);
static void (*free_aligned_sized_pointer)(void *, size_t, size_t);
static void (*cfree_pointer)(void *);

static unsigned long in_place_count;

#define SIMPLE_SITE(name, call)                                                                    \
	static SITE struct block site_##name(size_t size)                                          \
	{                                                                                          \
		void *address = call;                                                              \
		USE(address);                                                                      \
		return BORN(name, address, size);                                                  \
	}

SIMPLE_SITE(malloc, malloc(size))
SIMPLE_SITE(realloc_source, malloc(size))
SIMPLE_SITE(survivor, malloc(size))
SIMPLE_SITE(realloc_null, realloc(NULL, size))
SIMPLE_SITE(aligned_alloc, aligned_alloc(64, size))
SIMPLE_SITE(memalign, memalign(256, size))
SIMPLE_SITE(valloc, valloc(size))
SIMPLE_SITE(pvalloc, pvalloc(size))

static SITE struct block site_malloc_zero(size_t size)
{
	void *address = malloc(size - size);

	USE(address);
	return BORN(malloc_zero, address, 0);
}

static SITE struct block site_calloc(size_t size)
{
	char *address = calloc(size / 8 + 1, 8);

	USE(address);
	check(address[0] == 0 && address[size / 8 * 8] == 0, "calloc clears");
	return BORN(calloc, address, (size / 8 + 1) * 8);
}

static SITE struct block site_posix_memalign(size_t size)
{
	void *address = NULL;

	errno = 77;
	check(posix_memalign(&address, 128, size) == 0 && errno == 77, "posix_memalign");
	check((uintptr_t)address % 128 == 0, "posix_memalign aligns");
	return BORN(posix_memalign, address, size);
}

static SITE struct block site_strdup(size_t size)
{
	char text[512], *copy;

	size %= sizeof text;
	memset(text, 'x', size);
	text[size] = '\0';
	copy = strdup(text);
	USE(copy);
	return BORN(strdup, copy, size + 1);
}

static SITE struct block site_strndup(size_t size)
{
	static const char text[] = "thirty-two characters to be cut.";
	char *copy;

	size %= sizeof text;
	copy = strndup(text, size);
	USE(copy);
	return BORN(strndup, copy, size + 1);
}

/* A call that ends the old block and begins the new one. */
#define MOVING_SITE(name, call)                                                                    \
	static SITE struct block site_##name(struct block old, size_t size)                        \
	{                                                                                          \
		char first = *(volatile char *)old.address;                                        \
		void *address = call;                                                              \
		USE(address);                                                                      \
		check(*(volatile char *)address == first, "the content moves along");              \
		died(&old);                                                                        \
		return BORN(name, address, size);                                                  \
	}

MOVING_SITE(realloc_grow, realloc(old.address, size))
MOVING_SITE(realloc_shrink, realloc(old.address, size))
MOVING_SITE(reallocarray, reallocarray(old.address, size, 1))

static SITE struct block site_realloc_in_place(struct block old, size_t size)
{
	uintptr_t before = (uintptr_t)old.address;
	void *address = realloc(old.address, size);

	USE(address);
	if ((uintptr_t)address == before)
		__atomic_fetch_add(&in_place_count, 1, __ATOMIC_RELAXED);
	died(&old);
	return BORN(realloc_in_place, address, size);
}

static struct block realloc_source(size_t size)
{
	struct block block = site_realloc_source(size);

	memset(block.address, (int)size, size);
	return block;
}

static struct block grown(size_t size)
{
	return site_realloc_grow(realloc_source(size), size * 3 + 100);
}

static struct block shrunk(size_t size)
{
	return site_realloc_shrink(realloc_source(size + 64), size / 2 + 1);
}

static struct block in_place(size_t size)
{
	/* Within what malloc rounds up to. */
	return site_realloc_in_place(realloc_source(size / 16 * 16 + 1), size / 16 * 16 + 3);
}

static struct block array(size_t size)
{
	return site_reallocarray(realloc_source(size), size + 500);
}

static void free_block(const struct block *block, unsigned way)
{
	void *address = block->address;

	died(block);
	errno = 77;
	if (way % 5 == 0 && free_sized_pointer != NULL)
		free_sized_pointer(address, block->size);
	else if (way % 5 == 1 && free_aligned_sized_pointer != NULL)
		free_aligned_sized_pointer(address, 16, block->size);
	else if (way % 5 == 2 && cfree_pointer != NULL)
		cfree_pointer(address);
	else if (way % 5 == 3)
		check(realloc(address, (size_t)(way - way)) == NULL, "realloc to 0 frees");
	else
		free(address);
	check(errno == 77, "free leaves errno alone");
}

static struct block (*const makers[])(size_t size) = {
	site_malloc, site_malloc_zero, site_calloc, site_realloc_null, grown, shrunk, in_place,
	array, site_posix_memalign, site_aligned_alloc, site_memalign, site_valloc, site_pvalloc,
	site_strdup, site_strndup,
};
#define MAKERS (sizeof makers / sizeof makers[0])

static void *work(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument;
	uint64_t random = self + 1;
	struct block block;

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < MAKERS; i++) {
			block = makers[i](next_size(&random, round % 16 == 0 ? 300000 : 2000) + 1);
			check(malloc_usable_size(block.address) >= block.size, "usable size");
			if ((round + i) % 4 == 1)
				free_block(&block, round);
			else
				push((round + i) % 4 == 0 ? self : self + round, block);
		}
		/* Leaves some of each kind. */
		while (round % 4 == 2 && next_size(&random, 8) != 0 && pop(self, &block))
			free_block(&block, round + self);
	}
	return NULL;
}

/* Whose calls all fail: it has no sample. */
static SITE void site_failing(void *present)
{
	/* Volatile, or the compiler would complain. */
	volatile size_t most = SIZE_MAX, half = SIZE_MAX / 2;
	void *untouched = &present;

	errno = 0;
	check(malloc(most) == NULL && errno == ENOMEM, "malloc(SIZE_MAX)");
	errno = 0;
	check(calloc(half, 4) == NULL && errno == ENOMEM, "calloc overflow");
	errno = 0;
	check(reallocarray(present, half, 4) == NULL && errno == ENOMEM, "reallocarray overflow");
	errno = 0;
	check(realloc(present, most - 4096) == NULL && errno == ENOMEM, "realloc fails");
	errno = 77;
	check(posix_memalign(&untouched, 3, 8) == EINVAL && untouched == &present && errno == 77,
	      "posix_memalign EINVAL");
	check(posix_memalign(&untouched, 64, most - 4096) == ENOMEM && untouched == &present,
	      "posix_memalign ENOMEM");
	errno = 0;
	check(memalign(64, most - 4096) == NULL && errno == ENOMEM, "memalign fails");
}

static void failures(void)
{
	struct block block = site_survivor(4321);
	void *address;

	site_failing(block.address);
	errno = 77;
	address = malloc(10);
	USE(address);
	check(errno == 77, "malloc leaves errno alone");
	free(address);
	free(NULL);
	check(errno == 77, "free leaves errno alone");
	check(malloc_usable_size(NULL) == 0, "usable size of nothing");
	push(0, block);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	struct block block;

	/* Not needed with the library, which is why they are looked up. */
	*(void **)&free_sized_pointer = dlsym(RTLD_DEFAULT, "free_sized");
	*(void **)&free_aligned_sized_pointer = dlsym(RTLD_DEFAULT, "free_aligned_sized");
	*(void **)&cfree_pointer = dlsym(RTLD_DEFAULT, "cfree");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_mutex_init(&queues[i].mutex, NULL);
	failures();
	for (unsigned i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) == 0, "thread");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	check(in_place_count > 0, "some realloc stays in place");
	for (unsigned i = 0; argc > 1 && strcmp(argv[1], "free") == 0 && i < THREADS; i++)
		while (pop(i, &block))
			free_block(&block, 4);
	print_truth(truths, SITE_COUNT);
	return 0;
}
