/* SPDX-License-Identifier: BSD-2-Clause */
/* Heaps: numbers, names, intervals; the smallest interval while everything changes at once. */
#include "sample/heap.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>

#include "base/options.h"
#include "check.h"
#include "sample/sampler.h"

enum { FIRST = HS_HEAP_FIRST_REPORTED, ROUNDS = 20000 };

#define K ((uint64_t)1 << 10)
#define G ((uint64_t)1 << 30)

static void begin(void)
{
	memset(&hs_heaps[FIRST], 0, (HS_HEAP_LIMIT - FIRST) * sizeof *hs_heaps);
	hs_options.interval_bytes = 512 * K;
	hs_heap_set(HS_HEAP_MALLOC, 512 * K, true);
	hs_options.max_interval_bytes = 0;
	atomic_store(&hs_sampler_interval, 512 * K);
	atomic_store(&hs_epoch, 1);
	hs_heap_follow();
}

static int add(const char *name, uint64_t interval)
{
	int heap = hs_heap_make(name, interval, false);

	if (heap > 0)
		hs_heap_register((uint32_t)heap);
	return heap;
}

static void numbers_and_names(void)
{
	begin();
	CHECK_INT(add("malloc", 1), -EEXIST);
	CHECK_INT(add("a", 1), FIRST);
	CHECK_INT(add("b", 2), FIRST + 1);
	CHECK_INT(add("a", 3), -EEXIST);
	CHECK_INT(hs_heaps[FIRST].asked_bytes, 1);
	CHECK_STR(hs_heaps[FIRST + 1].name, "b");
	/* The name is taken as long as something of the heap may be in use. */
	CHECK(hs_heap_unregister(FIRST));
	CHECK_INT(add("a", 3), -EEXIST);
	CHECK(hs_heap_unregister(FIRST));
	hs_heap_gone(FIRST);
	CHECK(!hs_heap_unregister(FIRST));
	/* A name keeps its number, whatever happens. */
	CHECK_INT(add("c", 4), FIRST + 2);
	CHECK_INT(add("a", 3), FIRST);
	CHECK_INT(hs_heaps[FIRST].asked_bytes, 3);
	CHECK(!hs_heap_unregister(FIRST + 3));
	/* Made, but not registered yet. */
	CHECK_INT(hs_heap_make("d", 5, true), FIRST + 3);
	CHECK(hs_heaps[FIRST + 3].waits);
	CHECK_INT(hs_heaps[FIRST + 3].state, HS_HEAP_UNUSED);
	CHECK_INT(hs_heap_least_interval, 2);
}

/* Of all heaps that there have been, up to the last possible one. */
static void counts_are_summed(void)
{
	uint64_t frees = hs_heap_total(frees), stale = hs_heap_total(stale);
	char name[8];

	begin();
	hs_heap_add(HS_HEAP_MALLOC, frees, 1);
	for (uint32_t heap = FIRST; heap < HS_HEAP_LIMIT; heap++) {
		snprintf(name, sizeof name, "%u", heap);
		CHECK_INT(add(name, 1), heap);
	}
	hs_heap_add(FIRST, frees, 10);
	hs_heap_add(HS_HEAP_LIMIT - 1, frees, 100);
	hs_heap_add(FIRST, stale, 1000);
	CHECK(hs_heap_unregister(FIRST));
	hs_heap_gone(FIRST);
	CHECK_INT(hs_heap_total(frees) - frees, 111);
	CHECK_INT(hs_heap_total(stale) - stale, 1000);
}

/* Of many samples that each stand for a part of a byte too. */
static void losses_are_summed_exactly(void)
{
	const uint64_t weight = hs_sampler_weight(4, 4);
	unsigned __int128 bytes = 0;

	begin();
	for (unsigned n = 0; n < 1000; n++) {
		CHECK_INT(hs_heaps[FIRST].lost.bytes, hs_weight_round(bytes));
		CHECK_INT(hs_heap_lost_weight(FIRST), n * weight);
		hs_heap_lose(FIRST, 4, weight);
		bytes += 4 * weight;
	}
	hs_heap_forget_lost(FIRST);
	hs_heap_lose(FIRST, 4, weight);
	CHECK_INT(hs_heaps[FIRST].lost.bytes, hs_weight_round(4 * weight));
}

static void limits(void)
{
	char name[HS_HEAP_NAME_BYTES];

	begin();
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	CHECK_INT(add(name, 1), FIRST);
	CHECK_STR(hs_heaps[FIRST].name, name);
	CHECK_INT(add(name, 1), -EEXIST);
	for (int i = 1; i < HS_HEAP_LIMIT - FIRST; i++) {
		snprintf(name, sizeof name, "heap %d", i);
		CHECK_INT(add(name, 1), FIRST + i);
	}
	CHECK_INT(add("one more", 1), -ENOSPC);
	CHECK_INT(add(name, 1), -EEXIST);
	CHECK(hs_heap_unregister(HS_HEAP_LIMIT - 1));
	hs_heap_gone(HS_HEAP_LIMIT - 1);
	CHECK_INT(add("one more", 1), -ENOSPC);
	CHECK_INT(add(name, 1), HS_HEAP_LIMIT - 1);
}

/* The interval of a heap that asks for `asked` when the level of all is `level` instead of 512k. */
static uint64_t interval_of(uint64_t asked, uint64_t level)
{
	hs_heap_set(FIRST, asked, true);
	atomic_store(&hs_sampler_interval, level);
	CHECK_INT(hs_heap_last_interval(FIRST), hs_heap_interval(FIRST));
	return hs_heap_interval(FIRST);
}

static void intervals_follow_the_level(void)
{
	begin();
	add("a", 0);
	CHECK_INT(interval_of(512 * K, 512 * K), 512 * K);
	CHECK_INT(interval_of(512 * K, 700 * K), 700 * K);
	CHECK_INT(interval_of(1, 512 * K), 1);
	CHECK_INT(interval_of(1, 1024 * K), 2);
	CHECK_INT(interval_of(64 * K, 512 * K), 64 * K);
	CHECK_INT(interval_of(64 * K, 2048 * K), 256 * K);
	CHECK_INT(interval_of(3, 768 * K), 4);
	CHECK_INT(interval_of(0, 512 * K), 0);
	CHECK_INT(interval_of(0, 2048 * K), 0);
	/* There is a limit: a weight must fit. */
	CHECK_INT(interval_of(128 * G, 2048 * K), 256 * G);
	CHECK_INT(interval_of(256 * G, 256 * G), 256 * G);
	CHECK_INT(interval_of(1 * G, 256 * G), 256 * G);
	hs_options.max_interval_bytes = 4096 * K;
	CHECK_INT(interval_of(64 * K, 4096 * K), 512 * K);
	CHECK_INT(interval_of(1024 * K, 4096 * K), 4096 * K);
	CHECK_INT(interval_of(8192 * K, 4096 * K), 8192 * K);
	CHECK_INT(interval_of(4096 * K, 1024 * K), 4096 * K);
	/* Malloc's with an interval of its own is like the others. */
	hs_heap_set(HS_HEAP_MALLOC, 4 * K, true);
	atomic_store(&hs_sampler_interval, 1024 * K);
	CHECK_INT(hs_heap_interval(HS_HEAP_MALLOC), 8 * K);
	/* The end. */
	CHECK_INT(interval_of(64 * K, 1024 * K), 128 * K);
	hs_sampler_end();
	CHECK_INT(hs_heap_interval(FIRST), 0);
	CHECK_INT(hs_heap_interval(HS_HEAP_MALLOC), 0);
	CHECK_INT(hs_heap_last_interval(FIRST), 128 * K);
	CHECK_INT(hs_heap_last_interval(HS_HEAP_MALLOC), 8 * K);
}

/* Of a heap that is not sampled, the interval of those that have none of their own. */
static void what_the_user_is_told(void)
{
	begin();
	add("a", 64 * K);
	CHECK_INT(hs_heap_period(FIRST, 512 * K), 64 * K);
	CHECK_INT(hs_heap_period(FIRST, 1024 * K), 128 * K);
	hs_heap_set(FIRST, 0, true);
	CHECK_INT(hs_heap_period(FIRST, 512 * K), 512 * K);
	CHECK_INT(hs_heap_period(FIRST, 1024 * K), 1024 * K);
	CHECK_INT(hs_heap_period(HS_HEAP_MALLOC, 1024 * K), 1024 * K);
}

static void the_smallest_interval(void)
{
	begin();
	CHECK_INT(hs_heap_least_interval, 0);
	add("excluded", 0);
	CHECK_INT(hs_heap_least_interval, 0);
	add("a", 64 * K);
	CHECK_INT(hs_heap_least_interval, 64 * K);
	add("b", 4 * K);
	CHECK_INT(hs_heap_least_interval, 4 * K);
	atomic_store(&hs_sampler_interval, 1024 * K);
	hs_heap_follow();
	CHECK_INT(hs_heap_least_interval, 8 * K);
	CHECK(hs_heap_unregister(FIRST + 2));
	CHECK_INT(hs_heap_least_interval, 128 * K);
	atomic_store(&hs_epoch, 0);
	hs_heap_follow();
	CHECK_INT(hs_heap_least_interval, 0);
	add("c", 1);
	CHECK_INT(hs_heap_least_interval, 0);
	atomic_store(&hs_epoch, 2);
	hs_heap_follow();
	CHECK_INT(hs_heap_least_interval, 2);
	hs_sampler_end();
	hs_heap_follow();
	CHECK_INT(hs_heap_least_interval, 0);
}

/*
 * In each round two threads change something at the same time, and one checks the result.  They
 * meet by spinning: if they slept, they would not go on at the same time.
 */
static _Atomic unsigned arrived;
static unsigned wrong;

static void meet(unsigned meeting)
{
	atomic_fetch_add(&arrived, 1);
	for (unsigned looks = 1; atomic_load(&arrived) < 2 * meeting; looks++) {
		/* The other one may need this processor. */
		if (looks % 1000 == 0)
			sched_yield();
	}
}

static uint64_t least_of_all(void)
{
	uint64_t least = 0;

	for (uint32_t heap = FIRST; heap < HS_HEAP_LIMIT; heap++) {
		uint64_t interval = hs_heap_interval(heap);

		if (hs_heaps[heap].state == HS_HEAP_REGISTERED && interval != 0 &&
		    (least == 0 || interval < least))
			least = interval;
	}
	return atomic_load(&hs_epoch) != 0 ? least : 0;
}

/* One thread changes the level or the epoch, the other heaps. */
static void change(bool level, unsigned round)
{
	if (level && round % 4 == 0) {
		atomic_store(&hs_epoch, round % 8 != 0);
		hs_heap_follow();
	} else if (level) {
		atomic_store(&hs_sampler_interval, 512 * K << round % 3);
		hs_heap_follow();
	} else if (round % 2 == 0) {
		wrong += add("b", K * (1 + round % 64)) != FIRST + 1;
	} else {
		hs_heap_unregister(FIRST + 1);
		hs_heap_gone(FIRST + 1);
	}
}

static void *keep_changing(void *argument)
{
	bool level = argument != NULL;

	for (unsigned round = 0; round < ROUNDS; round++) {
		meet(2 * round + 1);
		/* So that neither is always the first. */
		for (volatile unsigned i = 0; i < (level ? round % 13 : round % 7) * 40; i++)
			;
		change(level, round);
		meet(2 * round + 2);
		if (level)
			wrong += hs_heap_least_interval != least_of_all();
	}
	return NULL;
}

static void the_smallest_interval_while_all_changes(void)
{
	pthread_t thread;

	begin();
	add("a", 256 * K);
	CHECK_INT(pthread_create(&thread, NULL, keep_changing, NULL), 0);
	keep_changing(&thread);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(wrong, 0);
}

/* A handler changes the level, mostly while the thread under it computes the smallest interval. */
static volatile sig_atomic_t changes;

static void on_signal(int signal)
{
	(void)signal;
	changes++;
	atomic_store(&hs_sampler_interval, 512 * K << changes % 5);
	hs_heap_follow();
}

static void the_smallest_interval_when_it_is_interrupted(void)
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval timer = {.it_interval = {.tv_usec = 100}, .it_value = {.tv_usec = 100}};
	uint64_t least, want;
	int before;

	begin();
	add("a", 64 * K);
	add("b", 256 * K);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (changes < 300) {
		hs_heap_follow();
		before = changes;
		least = hs_heap_least_interval;
		want = hs_heap_interval(FIRST);
		if (changes == before)
			CHECK_INT(least, want);
	}
	timer = (struct itimerval){.it_interval = {.tv_sec = 0}};
	setitimer(ITIMER_REAL, &timer, NULL);
}

int main(void)
{
	RUN(numbers_and_names);
	RUN(counts_are_summed);
	RUN(losses_are_summed_exactly);
	RUN(limits);
	RUN(intervals_follow_the_level);
	RUN(what_the_user_is_told);
	RUN(the_smallest_interval);
	RUN(the_smallest_interval_while_all_changes);
	RUN(the_smallest_interval_when_it_is_interrupted);
	return CHECK_RESULT();
}
