/* SPDX-License-Identifier: BSD-2-Clause */
/* When dlclose() waits for the worker, which never comes here, and when it does not wait. */
#include <errno.h>
#include <signal.h>

#include "base/libraries.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "sample/recorder.h"
#include "sample/reentry.h"
#include "sample/thread_state.h"
#include "session/session_state.h"

#define DATA_BYTES 65536u

static void start(void)
{
	static unsigned char *memory;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (memory == NULL)
		memory = hs_sys_map(hs_ring_memory_bytes(DATA_BYTES), 3);
	memset(memory, 0, hs_ring_memory_bytes(DATA_BYTES));
	hs_ring_init(&hs_session.ring, memory, DATA_BYTES);
	hs_session.process_id = hs_sys_getpid();
	hs_session.phase = HS_SESSION_ACTIVE;
	hs_recorder.process_id = hs_sys_getpid();
	hs_recorder.reader_runs = true;
	memset(&hs_stats, 0, sizeof hs_stats);
	memset(&hs_thread, 0, sizeof hs_thread);
	hs_thread.stack_low = here - 65536;
	hs_thread.stack_high = here + 65536;
	atomic_store(&hs_library_closes, 0);
}

static void put_record(void)
{
	uint64_t open = 0;

	CHECK(hs_ring_reserve(&hs_session.ring, 64, HS_RING_KEPT, 0, 0, &open) != NULL);
}

/* Unloads a library.  Whether it went on with records left whose stacks may be in it. */
static bool close_goes_on(void)
{
	uint32_t before = hs_closes_unwaited();

	errno = 77;
	CHECK(hs_session_close_begins());
	hs_session_close_ends(true);
	CHECK_INT(errno, 77);
	return hs_closes_unwaited() != before;
}

static uint64_t waits(void)
{
	return hs_stats_get(close_waits_expired);
}

static void test_nothing_to_wait_for(void)
{
	start();
	CHECK(!close_goes_on());
	CHECK_INT(waits(), 0);
}

/* A worker that does not come is waited for once, and then not for a while. */
static void test_wait_in_vain(void)
{
	start();
	put_record();
	CHECK(close_goes_on());
	CHECK_INT(waits(), 1);
	for (int i = 0; i < 100; i++)
		CHECK(close_goes_on());
	CHECK_INT(waits(), 1);
	hs_thread.block_after_ns = hs_sys_monotonic_ns();
	CHECK(close_goes_on());
	CHECK_INT(waits(), 2);
}

/* A worker that has been created and is yet to run is waited for too, but never for longer. */
static void test_worker_to_come(void)
{
	uint64_t start_ns;

	start();
	put_record();
	hs_recorder.reader_runs = false;
	hs_session.threads = HS_THREADS_RUNNING;
	hs_recorder.block_ns = 10000000000u;
	start_ns = hs_sys_monotonic_ns();
	CHECK(close_goes_on());
	CHECK_INT(waits(), 1);
	CHECK(hs_sys_monotonic_ns() - start_ns < hs_recorder.block_ns);
	hs_recorder.block_ns = 0;
	hs_session.threads = HS_THREADS_NONE;
}

/* There is no wait where the thread would wait for itself. */
static void test_in_handler(void)
{
	start();
	put_record();
	hs_thread.guard_sp = (uintptr_t)__builtin_frame_address(0);
	CHECK(close_goes_on());
	CHECK_INT(waits(), 0);
}

static void test_where_no_wait_is_allowed(void)
{
	const stack_t none = {.ss_flags = SS_DISABLE};

	start();
	put_record();
	hs_thread.no_wait = true;
	CHECK(close_goes_on());
	hs_thread.no_wait = false;
	hs_recorder.reader_runs = false;
	CHECK(close_goes_on());
	hs_recorder.reader_runs = true;

	/*
	 * On a stack of which nothing is known there is no wait either: it may be a coroutine's or
	 * a handler's.  Sanitizers have an alternate stack for handlers.
	 */
	CHECK_INT(sigaltstack(&none, NULL), 0);
	hs_thread.stack_high = hs_thread.stack_low;
	hs_reentry_stacks_disarm = true;
	CHECK(close_goes_on());
	CHECK_INT(waits(), 0);
	hs_reentry_stacks_disarm = false;
	CHECK(close_goes_on());
	CHECK_INT(waits(), 1);
}

int main(void)
{
	RUN(test_nothing_to_wait_for);
	RUN(test_wait_in_vain);
	RUN(test_worker_to_come);
	RUN(test_in_handler);
	RUN(test_where_no_wait_is_allowed);
	return CHECK_RESULT();
}
