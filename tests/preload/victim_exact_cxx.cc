/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates known amounts with each form of operator new, in four threads that free each other's
 * blocks with each form of operator delete.  Prints the true numbers of each call site.
 *
 * usage: victim_exact_cxx keep|free [fails]     keeps some blocks at the end, or frees all; fails:
 *                                              what fails must do so as documented
 */
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "victim_truth.h"

#define ROUNDS 200

#define SITES(X) X(plain) X(array) X(nothrow) X(array_nothrow) X(aligned) X(array_aligned)         \
	X(aligned_nothrow) X(array_aligned_nothrow) X(vector) X(after_failure)

#define SITE_ENUM(name) AT_##name,
enum { SITES(SITE_ENUM) SITE_COUNT };
#define SITE_NAME(name) { #name, 0, 0, 0, 0 },
static struct truth truths[] = { SITES(SITE_NAME) };

static const std::align_val_t alignment{64};

#define NEW_SITE(name, call)                                                                       \
	extern "C" SITE struct block site_##name(size_t size)                                      \
	{                                                                                          \
		void *address = call;                                                              \
		USE(address);                                                                      \
		return born(&truths[AT_##name], address, size);                                    \
	}

NEW_SITE(plain, ::operator new(size))
NEW_SITE(array, ::operator new[](size))
NEW_SITE(nothrow, ::operator new(size, std::nothrow))
NEW_SITE(array_nothrow, ::operator new[](size, std::nothrow))
NEW_SITE(aligned, ::operator new(size, alignment))
NEW_SITE(array_aligned, ::operator new[](size, alignment))
NEW_SITE(aligned_nothrow, ::operator new(size, alignment, std::nothrow))
NEW_SITE(array_aligned_nothrow, ::operator new[](size, alignment, std::nothrow))

/* By a template of the C++ library.  The block is freed on return. */
extern "C" SITE void site_vector(size_t size)
{
	std::vector<char> bytes(size);
	struct block block = born(&truths[AT_vector], bytes.data(), size);

	died(&block);
}

/* By C's function, after an operator new that has thrown: before it called this one, or after. */
extern "C" SITE void site_after_failure()
{
	const size_t size = 4096;
	void *address = aligned_alloc(size, size);
	struct block block = born(&truths[AT_after_failure], address, size);

	died(&block);
	free(address);
}

#define DELETE(way, plain, sized, nothrow)                                                         \
	do {                                                                                       \
		if ((way) % 3 == 0)                                                                \
			plain;                                                                     \
		else if ((way) % 3 == 1)                                                           \
			sized;                                                                     \
		else                                                                               \
			nothrow;                                                                   \
	} while (0)

static void free_block(const struct block *block, unsigned way)
{
	long site = block->site - truths;
	bool is_array = site == AT_array || site == AT_array_nothrow || site == AT_array_aligned ||
			site == AT_array_aligned_nothrow;
	void *p = block->address;
	size_t size = block->size;

	died(block);
	if (site < AT_aligned && is_array)
		DELETE(way, ::operator delete[](p), ::operator delete[](p, size),
		       ::operator delete[](p, std::nothrow));
	else if (site < AT_aligned)
		DELETE(way, ::operator delete(p), ::operator delete(p, size),
		       ::operator delete(p, std::nothrow));
	else if (is_array)
		DELETE(way, ::operator delete[](p, alignment),
		       ::operator delete[](p, size, alignment),
		       ::operator delete[](p, alignment, std::nothrow));
	else
		DELETE(way, ::operator delete(p, alignment), ::operator delete(p, size, alignment),
		       ::operator delete(p, alignment, std::nothrow));
}

static struct block (*const makers[])(size_t size) = {
	site_plain, site_array, site_nothrow, site_array_nothrow, site_aligned, site_array_aligned,
	site_aligned_nothrow, site_array_aligned_nothrow,
};
#define MAKERS (sizeof makers / sizeof makers[0])

static void *work(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument;
	uint64_t random = self + 1;
	struct block block;

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < MAKERS; i++) {
			block = makers[i](next_size(&random, 3000) + 1);
			if ((round + i) % 4 == 1)
				free_block(&block, round);
			else
				push(self + round, block);
		}
		site_vector(round + 1);
		while (round % 4 == 2 && next_size(&random, 8) != 0 && pop(self, &block))
			free_block(&block, round + self);
	}
	return NULL;
}

/* The exception passes through the profiler's frames. */
static void failures()
{
	volatile size_t most = SIZE_MAX / 2;
	bool thrown = false;
	struct block block;

	try {
		void *address = ::operator new(most);
		USE(address);
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	check(thrown, "operator new throws");
	thrown = false;
	try {
		void *address = ::operator new[](most, alignment);
		USE(address);
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	check(thrown, "aligned operator new[] throws");
	thrown = false;
	try {
		void *address = ::operator new(100, std::align_val_t{3});
		USE(address);
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	check(thrown, "an alignment of 3 is refused");
	site_after_failure();
	thrown = false;
	try {
		void *address = ::operator new(4090, std::align_val_t{SIZE_MAX / 4 + 1});
		USE(address);
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	check(thrown, "an alignment of 2^62 cannot be had");
	site_after_failure();
	/* After one that has not failed C's function has its own size as well. */
	block = site_aligned(4000);
	free_block(&block, 0);
	site_after_failure();
	check(::operator new(most, std::nothrow) == NULL, "nothrow");
	::operator delete(NULL);
}

/* Of an allocator that counts: see victim_exact_allocator.cc. */
extern "C" long new_in_use __attribute__((weak));

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	struct block block;

	check(&new_in_use == NULL || new_in_use == 0, "no block of operator new is in use");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_mutex_init(&queues[i].mutex, NULL);
	if (argc > 2)
		failures();
	for (unsigned i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) == 0, "thread");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	site_vector(ROUNDS); /* the main thread is sampled too */
	for (unsigned i = 0; argc > 1 && strcmp(argv[1], "free") == 0 && i < THREADS; i++)
		while (pop(i, &block))
			free_block(&block, i);
	print_truth(truths, SITE_COUNT);
	return 0;
}
