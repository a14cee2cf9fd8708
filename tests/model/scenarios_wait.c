/* SPDX-License-Identifier: BSD-2-Clause */
/* Events and locks: no wake-up is lost, and a lock has one holder. */
#include <stdatomic.h>

#include "base/event.h"
#include "base/lock.h"

static struct hs_event event;
static struct hs_lock lock;
static _Atomic uint32_t things; /* done, each before a signal of the event */
static _Atomic uint32_t holders;
static unsigned held;

static void setup(void)
{
	atomic_store(&things, 0);
}

static void finish(void)
{
	MODEL_CHECK(model_late_timeouts() == 0);
}

/* A sleeper sees what was done before each signal, however many come. */

static void signal_event(void)
{
	atomic_fetch_add_explicit(&things, 1, memory_order_relaxed);
	hs_event_signal(&event);
}

static void wait_for_both(void)
{
	while (atomic_load_explicit(&things, memory_order_relaxed) < 2)
		hs_event_wait(&event, -1);
}

/* A thread may be killed while it signals: the next signal still wakes the sleeper. */

static void signal_and_die(void)
{
	hs_event_signal(&event);
}

static void wait_for_one(void)
{
	while (atomic_load_explicit(&things, memory_order_relaxed) < 1)
		hs_event_wait(&event, -1);
}

/* A lock is acquired and released, offered to a waiter, or not waited for any longer. */

static void hold(void)
{
	MODEL_CHECK(atomic_fetch_add_explicit(&holders, 1, memory_order_relaxed) == 0);
	held++;
	MODEL_CHECK(atomic_fetch_sub_explicit(&holders, 1, memory_order_relaxed) == 1);
}

static void acquire_and_release(void)
{
	hs_lock_acquire(&lock);
	hold();
	hs_lock_release(&lock);
}

static void acquire_and_hand_over(void)
{
	for (int i = 0; i < 2; i++) {
		hs_lock_acquire(&lock);
		hold();
		hs_lock_hand_over(&lock);
	}
}

/* As fork() does. */
static void acquire_within(void)
{
	if (hs_lock_acquire_within(&lock, 1000)) {
		hold();
		hs_lock_release(&lock);
	}
}

static void finish_locked(void)
{
	MODEL_CHECK(held == 3);
	finish();
}

static void finish_handed_over(void)
{
	/* A thread that offers the lock waits for a limited time: its wait may have timed out. */
	MODEL_CHECK(held == 3);
	MODEL_CHECK(lock.state == HS_LOCK_FREE || lock.state == HS_LOCK_OFFERED);
}

const struct model_scenario model_wait_scenarios[] = {
	{.name = "event-two-signals",
	 .setup = setup,
	 .finish = finish,
	 .threads = {{.run = signal_event}, {.run = signal_event}, {.run = wait_for_both}},
	 .quick_bound = MODEL_COMPLETE,
	 .full_bound = MODEL_COMPLETE},
	{.name = "event-signal-dies",
	 .setup = setup,
	 .finish = finish,
	 .threads = {{.run = signal_and_die, .flags = MODEL_MAY_DIE},
		     {.run = signal_event},
		     {.run = wait_for_one}},
	 .quick_bound = MODEL_COMPLETE,
	 .full_bound = MODEL_COMPLETE},
	{.name = "lock-three-threads",
	 .setup = setup,
	 .finish = finish_locked,
	 .threads = {{.run = acquire_and_release},
		     {.run = acquire_and_release},
		     {.run = acquire_and_release}},
	 .quick_bound = 1,
	 .full_bound = MODEL_COMPLETE},
	{.name = "lock-hand-over",
	 .setup = setup,
	 .finish = finish_handed_over,
	 .threads = {{.run = acquire_and_hand_over}, {.run = acquire_within}},
	 .quick_bound = MODEL_COMPLETE,
	 .full_bound = MODEL_COMPLETE},
	{.name = NULL},
};
