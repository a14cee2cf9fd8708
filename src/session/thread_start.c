/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts the two profiler threads, and waits for them.  See threads.h.
 *
 * Runs on the program's threads.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "arch/regs.h"
#include "base/sys.h"
#include "sample/recorder.h"
#include "sample/reentry.h"
#include "sample/thread_state.h"
#include "session/libc_threads.h"
#include "session/session_state.h"
#include "session/threads.h"

/* Room for the demangler with names that were made to exhaust it. */
#define THREAD_STACK_BYTES ((size_t)4 << 20)

/* A thread that begins within this time after a wake that was refused was not asleep. */
#define ASLEEP_LIMIT_NS 500000000u

/* How long a program whose samples wait for ring space waits for the worker to begin. */
#define READER_LIMIT_NS 5000000000u

/* A waiting thread looks this often whether there still is something to wait for. */
#define WAIT_SLICE_NS 50000000
#define WAITED_MOST_NS 100000000u

/*
 * The stack on which threads are started: that takes some KiB, and the caller's may be a
 * coroutine's, or nearly used up.  Used by the thread that has set the phase STARTING, with signals
 * blocked.
 */
static _Alignas(16) char start_stack[64 << 10];

/*
 * With so much left of its own stack the caller does without; not in a handler, whose stack may be
 * a small one within the thread's.
 */
#define START_BYTES (32 << 10)

/* The tid of the thread that starts the profiler threads, or did. */
static _Atomic int32_t starter;

/* Not if that is inherited: a seccomp filter may end a process that sets a policy. */
static void choose_policy(pthread_attr_t *attributes)
{
	struct sched_param none = {.sched_priority = 0};

	if (hs_sys_policy() == SCHED_OTHER)
		return;
	pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(attributes, SCHED_OTHER);
	pthread_attr_setschedparam(attributes, &none);
}

static int start_thread(pthread_t *thread, void *(*start)(void *))
{
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);

	if (error != 0)
		return error;
	pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
	choose_policy(&attributes);
	error = hs_session.next.pthread_create(thread, &attributes, start, NULL);
	if (error != 0) {
		/* Changing it may be refused (SCHED_IDLE without privilege): inherit it. */
		pthread_attr_setinheritsched(&attributes, PTHREAD_INHERIT_SCHED);
		error = hs_session.next.pthread_create(thread, &attributes, start, NULL);
	}
	pthread_attr_destroy(&attributes);
	return error;
}

/* result: points to an int, the error of pthread_create(), or 0. */
static void start_in_order(void *result)
{
	struct hs_session *session = &hs_session;
	int error = hs_threads_would_live(hs_libc_loads_at_start()) ? 0 : EPERM;

	session->joined[0] = session->joined[1] = false;
	if (error == 0)
		error = start_thread(&session->handles[HS_WORKER], hs_threads_run_worker);
	if (error == 0) {
		error = start_thread(&session->handles[HS_PRODUCER], hs_threads_run_producer);
		if (error != 0)
			hs_threads_end_worker();
	}
	*(int *)result = error;
}

static bool has_room(uintptr_t sp)
{
	return hs_thread_on_known_stack(&hs_thread, sp) && sp - hs_thread.stack_low >= START_BYTES;
}

/*
 * The calling thread may be inside an allocation of the program, or in a signal handler that has
 * interrupted one.  So that pthread_create() allocates from the arena, unsampled, it counts as a
 * profiler thread meanwhile.  Its signals are blocked.  0 or an errno value.
 */
static int start_both(void)
{
	bool in_place = has_room(hs_arch_stack_pointer()) &&
			!hs_reentry_may_be_on_alternate_stack();
	struct hs_thread_state saved = hs_thread;
	bool is_hidden_after;
	int error = 0;

	hs_thread.kind = HS_THREAD_PROFILER;
	hs_thread.bytes_until_sample = 0;
	is_hidden_after = hs_libc_before_start();
	if (in_place)
		start_in_order(&error);
	else
		hs_arch_call_on(start_stack + sizeof start_stack, start_in_order, &error);
	if (is_hidden_after)
		hs_libc_after_start();
	hs_thread.kind = saved.kind;
	hs_thread.bytes_until_sample = saved.bytes_until_sample;
	return error;
}

/* Returns whether they run; sets *failed if they cannot be started. */
static bool start_once(bool may_start, bool *failed)
{
	struct hs_session *session = &hs_session;
	uint32_t none = HS_THREADS_NONE;

	if (!atomic_compare_exchange_strong(&session->threads, &none, HS_THREADS_STARTING))
		return none == HS_THREADS_RUNNING;
	/* The last thread may have ended since: either this sees it, or that one the phase. */
	if (hs_threads_is_deserted()) {
		atomic_store(&session->threads, HS_THREADS_NONE);
		return false;
	}
	atomic_store_explicit(&starter, hs_sys_gettid(), memory_order_relaxed);
	*failed = !may_start || start_both() != 0;
	/* Whoever starts them next is not this thread until it says so. */
	atomic_store_explicit(&starter, 0, memory_order_relaxed);
	atomic_store_explicit(&session->threads, *failed ? HS_THREADS_FAILED : HS_THREADS_RUNNING,
			      memory_order_release);
	return !*failed;
}

bool hs_threads_ensure(void)
{
	struct hs_session *session = &hs_session;
	uint32_t phase = atomic_load_explicit(&session->threads, memory_order_acquire);
	int saved_errno = errno;
	struct hs_undisturbed before;
	bool running, failed = false;

	if (phase != HS_THREADS_NONE && phase != HS_THREADS_STOPPING)
		return phase == HS_THREADS_RUNNING;
	/* Not in a handler that has interrupted pthread_create(): it may hold libc's lock. */
	if (!hs_session_is_active() || !hs_fork_is_own_process() || hs_threads_is_deserted() ||
	    hs_thread.is_creating)
		return false;
	hs_threads_begin_undisturbed(&before);
	hs_threads_finish_stop();
	running = start_once(before.masked, &failed);
	hs_threads_end_undisturbed(&before);
	if (failed)
		hs_session_disable("the profiler's threads cannot be started");
	errno = saved_errno;
	return running;
}

bool hs_threads_cannot_wake(uint64_t start_ns, bool not_begun)
{
	return not_begun && hs_sys_is_wake_refused() &&
	       hs_sys_monotonic_ns() - start_ns > ASLEEP_LIMIT_NS;
}

/* Whether another thread is starting or ending them; not the one that this handler interrupted. */
static bool is_changing(uint32_t phase)
{
	if (phase == HS_THREADS_STARTING)
		return starter != hs_sys_gettid();
	return phase == HS_THREADS_STOPPING && !hs_threads_is_deserted();
}

bool hs_threads_await(void)
{
	struct hs_session *session = &hs_session;
	/* To end them may take another thread so long. */
	uint64_t end_ns = hs_sys_monotonic_ns() + HS_PROFILE_LIMIT_NS;

	for (;;) {
		uint32_t phase = atomic_load_explicit(&session->threads, memory_order_acquire);

		if (hs_threads_ensure())
			return true;
		/* Or has just begun to, or finished. */
		if ((phase != HS_THREADS_RUNNING && !is_changing(phase) &&
		     atomic_load(&session->threads) == phase) ||
		    hs_sys_monotonic_ns() >= end_ns)
			return false;
		hs_sys_futex_wait(&session->threads, phase, HS_THREADS_LOOK_NS);
	}
}

bool hs_threads_may_start(uintptr_t sp)
{
	return !hs_thread.no_wait && !hs_reentry_may_be_handler(&hs_thread, sp);
}

uint64_t hs_threads_wait_slice(_Atomic uint32_t *word, uint32_t now)
{
	uint64_t start_ns = hs_sys_monotonic_ns(), passed_ns;

	hs_libc_answer_worker();
	hs_sys_futex_wait(word, now, WAIT_SLICE_NS);
	if (hs_threads_may_start((uintptr_t)__builtin_frame_address(0)))
		hs_threads_ensure();
	passed_ns = hs_sys_monotonic_ns() - start_ns;
	return passed_ns < WAITED_MOST_NS ? passed_ns : WAITED_MOST_NS;
}

void hs_threads_wait_for_reader(void)
{
	struct hs_session *session = &hs_session;
	uint64_t end_ns = hs_sys_monotonic_ns() + READER_LIMIT_NS;

	while (atomic_load_explicit(&session->threads, memory_order_relaxed) ==
		       HS_THREADS_RUNNING &&
	       !hs_record_has_reader() && hs_sys_monotonic_ns() < end_ns)
		hs_sys_futex_wait(&session->threads, HS_THREADS_RUNNING, HS_THREADS_LOOK_NS);
}

void hs_threads_start_for_sample(uintptr_t sp)
{
	/* True before they run if they have run before, perhaps in the parent. */
	bool is_loaded = hs_session.engine_loaded;

	/* Samples that may wait for room need a worker that makes it. */
	if (hs_threads_ensure() && is_loaded && hs_recorder.block_ns != 0 && hs_record_may_wait(sp))
		hs_threads_wait_for_reader();
}
