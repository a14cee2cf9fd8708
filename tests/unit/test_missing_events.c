/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of which a number was taken, or room in the ring, and that never arrive. */
#include "held_session.h"

#include "sample/sequence.h"

/* Longer than a missing number is waited for. */
#define LONGER_THAN_A_GAP_US 150000

static atomic_bool is_reserved, may_end;

static void *reserve(void *unused)
{
	uint64_t open;

	CHECK(hs_ring_reserve(&hs_session.ring, sizeof(struct hs_record), HS_RING_KEPT,
			      (uint32_t)hs_sys_gettid(), 0, &open) != NULL);
	atomic_store(&is_reserved, true);
	while (!atomic_load(&may_end))
		usleep(1000);
	return unused;
}

/* What is behind it is read only when it was given up. */
static void sample_of_a_thread_that_has_ended(void)
{
	pthread_t thread;

	start(NULL);
	sample(1, true);
	thread = run(reserve, NULL);
	WAIT_UNTIL(is_reserved);
	atomic_store(&may_end, true);
	CHECK_INT(pthread_join(thread, NULL), 0);
	hs_record_free(&blocks[0]);
	sample(1, true);
	WAIT_UNTIL(hs_stats_get(unwound) == 2);
	CHECK_INT(hs_stats_get(abandoned), 1);
}

/* The parent's thread does not exist in the child, but its sample is not lost. */
static void sample_that_is_begun_at_a_fork(void)
{
	pid_t child;
	int status = 0;

	start(NULL);
	sample(1, true);
	WAIT_UNTIL(hs_stats_get(unwound) == 1);
	run(reserve, NULL);
	WAIT_UNTIL(is_reserved);
	child = fork();
	if (child == 0) {
		hs_record_free(&blocks[0]);
		sample(1, true);
		WAIT_UNTIL(hs_stats_get(unwound) == 2);
		CHECK_INT(hs_stats_get(abandoned), 0);
		_exit(CHECK_RESULT());
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

static bool is_in_books(uint64_t bytes)
{
	bool is;

	hs_lock_acquire(&hs_session.producer_batch);
	is = hs_producer_in_use_bytes(hs_session.producer, HS_HEAP_MALLOC) == bytes;
	hs_lock_release(&hs_session.producer_batch);
	return is;
}

/* They are waited for together. */
static void numbers_missing_since_one_moment(void)
{
	enum { GAPS = 5 };
	struct hs_regs here;

	hs_arch_capture(&here);
	start(NULL);
	sample(1, true);
	WAIT_UNTIL(is_in_books(8));
	/* Where it sleeps: before, it may wait for a lock, or wake the worker with one held. */
	WAIT_UNTIL(atomic_load(&hs_session.producer_event.state) == HS_EVENT_SLEPT_ON);
	hold(PRODUCER, SYS_futex);
	hs_event_signal(&hs_session.producer_event);
	WAIT_UNTIL(is_held);
	for (int i = 1; i <= GAPS; i++) {
		hs_sequence_take();
		CHECK(hs_record_allocation(&blocks[i], 8, &here));
	}
	WAIT_UNTIL(hs_stats_get(unwound) == GAPS + 1);
	hs_lock_acquire(&hs_session.producer_batch);
	hs_threads_process();
	usleep(LONGER_THAN_A_GAP_US);
	for (int i = 0; i < GAPS; i++)
		hs_threads_process();
	CHECK_INT(hs_stats_get(sequence_gaps), GAPS);
	CHECK_INT(hs_producer_in_use_bytes(hs_session.producer, HS_HEAP_MALLOC), 8 * (GAPS + 1));
	hs_lock_release(&hs_session.producer_batch);
	release();
}

static const struct held_case cases[] = {
	{"sample_of_a_thread_that_has_ended", sample_of_a_thread_that_has_ended},
	{"sample_that_is_begun_at_a_fork", sample_that_is_begun_at_a_fork},
	{"numbers_missing_since_one_moment", numbers_missing_since_one_moment},
};

int main(int argc, char **argv)
{
#ifdef __SANITIZE_THREAD__
	SKIP("ThreadSanitizer allows no threads in a child that a thread among others has forked");
#endif
	return run_cases(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
}
