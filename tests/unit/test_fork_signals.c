/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A signal while a fork takes the batch locks, or gives them back.  A handler that ends the process
 * must be able to let go of them: otherwise the profile for which it waits does not come.
 */
#include "held_session.h"

#include <signal.h>

static atomic_int handled;

/* The profiler's threads do not run: nobody else can have the locks. */
static void let_go(int number)
{
	(void)number;
	hs_fork_let_go();
	CHECK_INT(hs_session.worker_batch.state, HS_LOCK_FREE);
	CHECK_INT(hs_session.producer_batch.state, HS_LOCK_FREE);
	CHECK_INT(hs_session.opening.state, HS_LOCK_FREE);
	atomic_fetch_add(&handled, 1);
}

static void start_with_handler(void)
{
	const struct sigaction action = {.sa_handler = let_go};

	start(NULL);
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
}

/* At the first wait or wake. */
static long signal_at_futex(long number)
{
	if (number == SYS_futex && !atomic_exchange(&is_held, true)) {
		raise(SIGUSR1);
		hs_lock_release(&hs_session.producer_batch);
	}
	return 0;
}

/* The first lock is taken, the second is waited for. */
static void while_they_are_taken(void)
{
	start_with_handler();
	hs_lock_acquire(&hs_session.producer_batch);
	atomic_store(&hs_sys_fault, signal_at_futex);
	hs_session_fork_begins();
	CHECK_INT(handled, 1);
	hs_session_fork_ends(1);
	CHECK_INT(hs_session.worker_batch.state, HS_LOCK_FREE);
}

/* One is given back, which somebody waits for. */
static void while_they_are_given_back(void)
{
	start_with_handler();
	hs_session_fork_begins();
	atomic_store(&hs_session.producer_batch.state, HS_LOCK_CONTENDED);
	atomic_store(&hs_sys_fault, signal_at_futex);
	hs_session_fork_ends(1);
	CHECK_INT(handled, 1);
}

/* And again, after a handler that has let go of them. */
static void fork_after_a_handler(void)
{
	start_with_handler();
	for (int i = 0; i < 2; i++) {
		hs_session_fork_begins();
		CHECK_INT(hs_session.worker_batch.state, HS_LOCK_HELD);
		raise(SIGUSR1);
		hs_session_fork_ends(1);
	}
	CHECK_INT(handled, 2);
}

static const struct held_case cases[] = {
	{"while_they_are_taken", while_they_are_taken},
	{"while_they_are_given_back", while_they_are_given_back},
	{"fork_after_a_handler", fork_after_a_handler},
};

int main(int argc, char **argv)
{
	return run_cases(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
}
