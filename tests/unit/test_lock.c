/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock: one holder at a time, bounded waits, and a busy holder that lets others in. */
#include "base/lock.h"

#include <pthread.h>
#include <sched.h>

#include "base/sys.h"
#include "check.h"

#define MILLISECOND_NS 1000000u

/* Longer than any machine needs to let a thread run. */
#define LONG_NS (100000u * (uint64_t)MILLISECOND_NS)

/* How often the waiting thread waits for the busy one. */
#define WAITS 50

/* Threads that keep the processors busy: otherwise a woken thread would run at once. */
#define SPINNERS 4

static struct hs_lock lock;
static long counter; /* under lock */

static void test_free_and_held(void)
{
	CHECK(hs_lock_acquire_within(&lock, 0));
	CHECK(!hs_lock_acquire_within(&lock, MILLISECOND_NS));
	hs_lock_release(&lock);
	hs_lock_acquire(&lock);
	CHECK(!hs_lock_is_wanted(&lock));
	CHECK(!hs_lock_acquire_within(&lock, 0));
	CHECK(hs_lock_is_wanted(&lock));
	hs_lock_reset(&lock);
	CHECK(hs_lock_acquire_within(&lock, 0));
	hs_lock_release(&lock);
}

/* The waiter has given up: the lock is as free as after a release. */
static void test_handed_over_to_nobody(void)
{
	hs_lock_acquire(&lock);
	hs_lock_hand_over(&lock);
	CHECK_INT(lock.state, HS_LOCK_FREE);
	hs_lock_acquire(&lock);
	CHECK(!hs_lock_acquire_within(&lock, MILLISECOND_NS));
	hs_lock_hand_over(&lock);
	CHECK_INT(lock.state, HS_LOCK_FREE);
}

/* A thread is woken but never takes the lock. */
static void test_offer_ends(void)
{
	lock.state = HS_LOCK_OFFERED;
	hs_lock_acquire(&lock);
	CHECK(!hs_lock_acquire_within(&lock, 0));
	hs_lock_reset(&lock);
	lock.state = HS_LOCK_OFFERED;
	CHECK(hs_lock_acquire_within(&lock, 0));
	hs_lock_release(&lock);
	CHECK_INT(lock.state, HS_LOCK_FREE);
}

static void *count(void *hands_over)
{
	for (int i = 0; i < 20000; i++) {
		hs_lock_acquire(&lock);
		counter++;
		if (hands_over != NULL)
			hs_lock_hand_over(&lock);
		else
			hs_lock_release(&lock);
	}
	return NULL;
}

static void test_one_holder(void)
{
	pthread_t threads[4];

	counter = 0;
	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, count, i % 2 == 0 ? &lock : NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK_INT(counter, 4 * 20000);
	CHECK(hs_lock_acquire_within(&lock, 0));
	hs_lock_release(&lock);
}

static atomic_bool stop;
static atomic_long passed_by; /* how often the lock was handed over while a thread waited */

/* Holds the lock for a while, again and again. */
static void *keep_busy(void *unused)
{
	(void)unused;
	while (!stop) {
		hs_lock_acquire(&lock);
		for (uint64_t end_ns = hs_sys_monotonic_ns() + MILLISECOND_NS / 10;
		     hs_sys_monotonic_ns() < end_ns;) {
		}
		passed_by += hs_lock_is_wanted(&lock);
		hs_lock_hand_over(&lock);
	}
	return NULL;
}

static void *spin(void *unused)
{
	(void)unused;
	while (!stop) {
	}
	return NULL;
}

/* By a count, not by time: a holder that lets nobody in would pass each waiter many times. */
static void test_busy_holder_lets_others_in(void)
{
	pthread_t threads[1 + SPINNERS];

	for (int i = 0; i <= SPINNERS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, i == 0 ? keep_busy : spin, NULL), 0);
	for (int i = 0; i < WAITS; i++) {
		while (lock.state == HS_LOCK_FREE)
			sched_yield();
		CHECK(hs_lock_acquire_within(&lock, LONG_NS));
		hs_lock_release(&lock);
	}
	stop = true;
	for (int i = 0; i <= SPINNERS; i++)
		pthread_join(threads[i], NULL);
	printf("passed by %ld times in %d waits\n", passed_by, WAITS);
	CHECK(passed_by <= 5 * WAITS);
}

int main(void)
{
	RUN(test_free_and_held);
	RUN(test_handed_over_to_nobody);
	RUN(test_offer_ends);
	RUN(test_one_holder);
	RUN(test_busy_holder_lets_others_in);
	return CHECK_RESULT();
}
