/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that exchange blocks in a few shared cells as fast as they can, so that most are
 * moved or freed on another thread than they were allocated on.  Frees all of them, and
 * prints what it allocated.
 *
 * usage: victim_hammer SECONDS
 */
#include <limits.h>
#include <stdatomic.h>
#include <unistd.h>

#include "victim_truth.h"

enum { HAMMERS = 8, CELLS = 64, STACK_BYTES = 256 << 10 };

static _Atomic(void *) cells[CELLS];
static pthread_barrier_t start;
static atomic_bool stop;

struct hammer {
	uint64_t random;
	unsigned long objects;
	unsigned long bytes;
	/* Not of glibc's, which keeps a stack with its block of thread-local storage. */
	_Alignas(4096) char stack[STACK_BYTES];
};

static struct hammer hammers[HAMMERS];

static void *counted(struct hammer *self, void *address, size_t size)
{
	USE(address);
	if (address != NULL) {
		self->objects++;
		self->bytes += size;
	}
	return address;
}

static SITE void *site_malloc(struct hammer *self, size_t size)
{
	return counted(self, malloc(size), size);
}

static SITE void *site_calloc(struct hammer *self, size_t size)
{
	return counted(self, calloc(1, size), size);
}

static SITE void *site_aligned_alloc(struct hammer *self, size_t size)
{
	return counted(self, aligned_alloc(64, size), size);
}

static SITE void *site_realloc(struct hammer *self, void *old, size_t size)
{
	return counted(self, realloc(old, size), size);
}

/* Mostly small ones, so that addresses are few; some empty, some with mappings of their own. */
static size_t random_size(struct hammer *self)
{
	size_t kind = next_size(&self->random, 64);

	if (kind < 4)
		return 0;
	return next_size(&self->random, kind == 4 ? 1 << 20 : 300);
}

static void *make(struct hammer *self)
{
	size_t size = random_size(self);

	switch (next_size(&self->random, 8)) {
	case 0:
		return site_calloc(self, size);
	case 1:
		return site_aligned_alloc(self, size);
	case 2:
		return site_realloc(self, NULL, size);
	default:
		return site_malloc(self, size);
	}
}

static void *exchange(struct hammer *self, void *block)
{
	return atomic_exchange(&cells[next_size(&self->random, CELLS)], block);
}

static void end(struct hammer *self, void *block)
{
	/* Volatile, or the compiler would complain. */
	volatile size_t too_much = PTRDIFF_MAX, nothing = 0;

	switch (next_size(&self->random, 64)) {
	case 0:
		check(realloc(block, nothing) == NULL, "realloc to 0 frees");
		return;
	case 1:
		check(realloc(block, too_much) == NULL, "too much");
		break;
	default:
		break;
	}
	free(block);
}

static void *run(void *argument)
{
	struct hammer *self = argument;

	/* What the other threads' creation allocates is a sample before those of the hammers. */
	pthread_barrier_wait(&start);
	while (!atomic_load(&stop)) {
		void *block = exchange(self, make(self));

		if (block != NULL && next_size(&self->random, 4) == 0)
			block = exchange(self, site_realloc(self, block, random_size(self) + 1));
		if (block != NULL)
			end(self, block);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	unsigned long objects = 0, bytes = 0;
	char text[128];
	int length;
	pthread_t threads[HAMMERS];
	pthread_attr_t attributes;

	pthread_barrier_init(&start, NULL, HAMMERS);
	pthread_attr_init(&attributes);
	for (unsigned i = 0; i < HAMMERS; i++) {
		hammers[i].random = i + 1;
		check(pthread_attr_setstack(&attributes, hammers[i].stack, STACK_BYTES) == 0,
		      "stack");
		check(pthread_create(&threads[i], &attributes, run, &hammers[i]) == 0, "thread");
	}
	sleep(seconds);
	atomic_store(&stop, 1);
	for (unsigned i = 0; i < HAMMERS; i++) {
		pthread_join(threads[i], NULL);
		objects += hammers[i].objects;
		bytes += hammers[i].bytes;
	}
	for (unsigned i = 0; i < CELLS; i++)
		free(cells[i]);
	/*
	 * Without printf() and dprintf(), whose buffer is allocated: while the ring is full it
	 * would be among what is lost.
	 */
	length = snprintf(text, sizeof text, "{\"objects\": %lu, \"bytes\": %lu}\n", objects,
			  bytes);
	check(write(1, text, (size_t)length) == length, "write");
	return 0;
}
