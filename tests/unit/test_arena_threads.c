/* SPDX-License-Identifier: BSD-2-Clause */
/* The arena used by several threads at once, and across a fork. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "arena_testing.h"

enum { THREADS = 4, SLOTS = 64, ROUNDS = 20000, MAILBOX = 256 };

/* Blocks that are handed to the thread that stands for the program. */
static _Atomic(unsigned char *) mailbox[MAILBOX];
static atomic_int threads_running, damaged;

static uint32_t draw(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static size_t draw_size(uint32_t *state)
{
	return draw(state) % 50 == 0 ? 140 * KIB + draw(state) % (100 * KIB) : draw(state) % 2000;
}

/* Each block starts with its size, the rest of the first 200 bytes is a pattern. */
static void fill(unsigned char *block, size_t bytes)
{
	memset(block, (int)(bytes & 0xff), bytes < 200 ? bytes : 200);
	if (bytes >= sizeof bytes)
		memcpy(block, &bytes, sizeof bytes);
}

static void verify(const unsigned char *block, size_t bytes)
{
	size_t from = bytes >= sizeof bytes ? sizeof bytes : 0;

	if (!is_filled(block + from, (unsigned char)bytes, (bytes < 200 ? bytes : 200) - from))
		damaged++;
	if (from != 0 && memcmp(block, &bytes, sizeof bytes) != 0)
		damaged++;
}

static void step(unsigned char **block, size_t *bytes, uint32_t *state)
{
	size_t wanted = draw_size(state);
	unsigned char *moved;

	if (*block == NULL) {
		*block = draw(state) % 4 != 0 ? hs_arena_alloc(wanted)
					      : hs_arena_aligned_alloc(256, wanted);
		*bytes = wanted;
	} else if (draw(state) % 3 == 0) {
		moved = hs_arena_realloc(*block, wanted);
		if (moved == NULL)
			return;
		if (wanted >= 200 && *bytes >= 200)
			verify(moved, *bytes);
		*block = moved;
		*bytes = wanted;
	} else {
		verify(*block, *bytes);
		/* Some are handed to the program's thread. */
		if (*bytes < sizeof *bytes || draw(state) % 2 == 0 ||
		    (*block = atomic_exchange(&mailbox[draw(state) % MAILBOX], *block)) != NULL)
			hs_arena_free(*block);
		*block = NULL;
		return;
	}
	if (*block != NULL)
		fill(*block, *bytes);
}

static void *profiler_thread(void *seed)
{
	unsigned char *blocks[SLOTS] = { NULL };
	size_t sizes[SLOTS] = { 0 };
	uint32_t state = (uint32_t)(uintptr_t)seed;

	for (int round = 0; round < ROUNDS; round++) {
		unsigned slot = draw(&state) % SLOTS;

		step(&blocks[slot], &sizes[slot], &state);
	}
	for (int slot = 0; slot < SLOTS; slot++)
		hs_arena_free(blocks[slot]);
	threads_running--;
	return NULL;
}

static void *host_thread(void *unused)
{
	bool is_last_round;

	(void)unused;
	do {
		is_last_round = threads_running == 0;
		for (int i = 0; i < MAILBOX; i++) {
			unsigned char *block = atomic_exchange(&mailbox[i], NULL);
			size_t bytes;

			if (block == NULL)
				continue;
			memcpy(&bytes, block, sizeof bytes);
			verify(block, bytes);
			hs_arena_free_from_host(block);
		}
	} while (!is_last_round);
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[THREADS], host;
	size_t before = hs_arena_used();

	threads_running = THREADS;
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, profiler_thread, (void *)(i + 1)), 0);
	CHECK_INT(pthread_create(&host, NULL, host_thread, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(host, NULL);
	CHECK_INT(damaged, 0);
	hs_arena_free(hs_arena_alloc(1));
	CHECK_INT(hs_arena_used(), before);
}

enum { BOOTSTRAP_BLOCKS = 1500 };

static atomic_int bootstrap_threads;

static void *bootstrap_thread(void *out)
{
	unsigned char **blocks = out;

	/* All start together, so that their calls meet. */
	bootstrap_threads++;
	while (bootstrap_threads < THREADS)
		;
	for (int i = 0; i < BOOTSTRAP_BLOCKS; i++)
		blocks[i] = hs_arena_bootstrap_alloc(16);
	return NULL;
}

/* Each block gets a number of its own: one that was given out twice has only the later one. */
static void test_bootstrap_threads(void)
{
	static unsigned char *blocks[THREADS][BOOTSTRAP_BLOCKS];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, bootstrap_thread, blocks[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS * BOOTSTRAP_BLOCKS; i++) {
		unsigned char *block = blocks[i / BOOTSTRAP_BLOCKS][i % BOOTSTRAP_BLOCKS];

		CHECK(block != NULL && hs_arena_owns(block));
		if (block != NULL)
			memcpy(block, &i, sizeof i);
	}
	for (int i = 0; i < THREADS * BOOTSTRAP_BLOCKS; i++) {
		unsigned char *block = blocks[i / BOOTSTRAP_BLOCKS][i % BOOTSTRAP_BLOCKS];

		if (block != NULL)
			CHECK(memcmp(block, &i, sizeof i) == 0);
	}
}

static atomic_bool is_held, may_go;

/* The first call under the lock stops there until the parent has forked. */
static long stop_under_lock(long number)
{
	if (number == SYS_mprotect && !is_held) {
		is_held = true;
		while (!may_go)
			;
	}
	return 0;
}

static void *holding_thread(void *unused)
{
	(void)unused;
	return hs_arena_alloc(25 * MIB);
}

static void after_fork(void)
{
	void *block;

	hs_sys_fault = NULL;
	hs_arena_after_fork();
	block = hs_arena_alloc(100);
	CHECK(block != NULL);
	memset(block, 1, 100);
	hs_arena_free(block);
}

static void test_fork_while_the_lock_is_held(void)
{
	pthread_t thread;
	void *block;

	hs_sys_fault = stop_under_lock;
	CHECK_INT(pthread_create(&thread, NULL, holding_thread, NULL), 0);
	while (!is_held)
		;
	in_child(after_fork);
	may_go = true;
	pthread_join(thread, &block);
	hs_sys_fault = NULL;
	CHECK(block != NULL);
	hs_arena_free(block);
}

int main(void)
{
	CHECK_INT(hs_arena_init(BUDGET), 0);
	RUN(test_threads);
	RUN(test_bootstrap_threads);
	RUN(test_fork_while_the_lock_is_held);
	return CHECK_RESULT();
}
