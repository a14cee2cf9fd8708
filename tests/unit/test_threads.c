/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last profiles of a process whose profiler threads are not running then; and a producer that
 * is late.
 */
#include "held_session.h"

#include <errno.h>
#include <heapsample/heapsample.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "sample/heap.h"
#include "sample/live_set.h"
#include "sample/record.h"
#include "sample/report.h"
#include "session/ask.h"
#include "session/process_memory.h"
#include "session/profiles.h"
#include "single_step.h"
#include "unwind/unwound.h"

/* Longer than a number is waited for. */
#define LONGER_THAN_A_GAP_US 110000

/* A profile may take so long. */
#define LONG_US 5300000

static void *release_in_exit(void *unused)
{
	WAIT_UNTIL(atomic_load(&hs_session.finishing) != 0);
	usleep(LONG_US);
	release();
	return unused;
}

static void *release_when_stopping(void *unused)
{
	WAIT_UNTIL(is_stopping());
	release();
	return unused;
}

static void exit_while_they_end(void)
{
	pthread_t threads[3];

	threads[0] = write_for_long(SYS_write);
	threads[1] = run(call_stopped, NULL);
	WAIT_UNTIL(is_stopping());
	threads[2] = run(release_in_exit, NULL);
	/* On the thread that has started the profiler's. */
	hs_session_finish();
	CHECK_INT(hs_stats_get(dumps), 2);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void *end_in_exit(void *unused)
{
	WAIT_UNTIL(atomic_load(&hs_session.requests) != 0);
	CHECK(hs_threads_stop(HS_WRITE_LIMIT_NS));
	CHECK_INT(hs_stats_get(dumps), 1);
	return unused;
}

/* The producer is late: it is told to end when the final profile is due. */
static void end_when_exit_has_asked(void)
{
	pthread_t threads[2];

	start(NULL);
	hold(PRODUCER, SYS_futex);
	sample(1, true);
	WAIT_UNTIL(is_held);
	threads[0] = run(end_in_exit, NULL);
	threads[1] = run(release_when_stopping, NULL);
	hs_session_finish();
	CHECK_INT(hs_stats_get(dumps), 1);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

static void *execute(void *unused)
{
	hs_session_exec_begins(NULL);
	return unused;
}

static void exec_while_they_end(void)
{
	pthread_t threads[3];

	threads[0] = write_for_long(SYS_write);
	threads[1] = run(call_stopped, NULL);
	WAIT_UNTIL(is_stopping());
	threads[2] = run(execute, NULL);
	usleep(20000);
	release();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	CHECK_INT(hs_stats_get(dumps), 2);
}

/* Samples in a handler, or on an unknown stack, start no threads. */
static void exec_before_they_start(void)
{
	start(NULL);
	sample(1, false);
	CHECK_INT(hs_session.threads, HS_THREADS_NONE);
	hs_session_exec_begins(NULL);
	CHECK_INT(hs_stats_get(dumps), 1);
	/* Again, with nothing new to write. */
	hs_session_exec_begins(NULL);
	CHECK_INT(hs_stats_get(dumps), 1);
}

static void execute_in_handler(int signal)
{
	(void)signal;
	hs_session_exec_begins(NULL);
}

/* A handler there may have interrupted pthread_create(), which holds locks. */
static void exec_on_a_stack_of_its_own(void)
{
	const stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
	const struct sigaction action = {.sa_handler = execute_in_handler, .sa_flags = SA_ONSTACK};

	start(NULL);
	sample(1, false);
	CHECK_INT(sigaltstack(&stack, NULL), 0);
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_INT(raise(SIGUSR1), 0);
	CHECK_INT(hs_session.threads, HS_THREADS_NONE);
	/* If the threads are running the profile is written there too. */
	sample(1, true);
	WAIT_UNTIL(atomic_load(&hs_session.threads) == HS_THREADS_RUNNING);
	CHECK_INT(raise(SIGUSR1), 0);
	CHECK_INT(hs_stats_get(dumps), 1);
}

static int create_late(pthread_t *thread, const pthread_attr_t *attributes,
		       void *(*function)(void *), void *argument)
{
	atomic_store(&is_held, true);
	while (!atomic_load(&is_released))
		usleep(1000);
	return pthread_create(thread, attributes, function, argument);
}

/* The thread that starts them takes its next sample when it is due. */
static void starting_thread_keeps_its_countdown(void)
{
	start(NULL);
	hs_thread.bytes_until_sample = 12345;
	CHECK(hs_threads_ensure());
	CHECK_INT(hs_thread.bytes_until_sample, 12345);
	CHECK(!hs_on_profiler_thread());
}

static int create_one(pthread_t *thread, const pthread_attr_t *attributes, void *(*begin)(void *),
		      void *argument)
{
	static int created;

	return created++ == 0 ? pthread_create(thread, attributes, begin, argument) : EAGAIN;
}

static int create_none(pthread_t *thread, const pthread_attr_t *attributes, void *(*begin)(void *),
		       void *argument)
{
	(void)thread, (void)attributes, (void)begin, (void)argument;
	return EAGAIN;
}

/* Nobody waits for what nobody will write. */
static void no_thread_can_be_created_in_exit(void)
{
	start_with(&(const struct hs_session_next){create_none, true, {NULL}}, NULL);
	hs_session_finish();
	CHECK_INT(hs_session.finished, 1);
	CHECK(!hs_session_is_active());
}

/* The first ends again: nothing is left of the profiler. */
static void second_thread_cannot_be_created(void)
{
	start_with(&(const struct hs_session_next){create_one, true, {NULL}}, NULL);
	sample(1, true);
	CHECK(!hs_session_is_active());
	CHECK_INT(hs_session.threads, HS_THREADS_FAILED);
	CHECK_INT(hs_session.tids[WORKER], 0);
	CHECK(hs_session.joined[WORKER]);
}

static void *sample_one(void *unused)
{
	hs_threads_ensure();
	return unused;
}

static void exec_while_they_start(void)
{
	pthread_t threads[2];

	start_with(&(const struct hs_session_next){create_late, true, {NULL}}, NULL);
	sample(1, false);
	threads[0] = run(sample_one, NULL);
	WAIT_UNTIL(is_held);
	threads[1] = run(execute, NULL);
	usleep(20000);
	release();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	CHECK_INT(hs_stats_get(dumps), 1);
}

static __thread bool starts_slowly;

/* Holds a thread that has begun to start them, until the main thread waits for that. */
static long hold_starter(long number)
{
	if (number == SYS_gettid && starts_slowly && !atomic_load(&is_held) &&
	    atomic_load(&hs_session.threads) == HS_THREADS_STARTING) {
		atomic_store(&is_held, true);
		WAIT_UNTIL(is_released);
	}
	if (number == SYS_futex && atomic_load(&is_held) && hs_sys_gettid() == hs_sys_getpid())
		release();
	return 0;
}

static void *start_slowly(void *unused)
{
	starts_slowly = true;
	CHECK(hs_threads_ensure());
	return unused;
}

/* The main thread, which has started them before, is not the one that does it now. */
static void await_another_start(void)
{
	pthread_t thread;

	start(NULL);
	CHECK(hs_threads_ensure());
	CHECK(hs_threads_stop(HS_WRITE_LIMIT_NS));
	atomic_store(&hs_sys_fault, hold_starter);
	thread = run(start_slowly, NULL);
	WAIT_UNTIL(is_held);
	CHECK(hs_threads_await());
	CHECK(is_released);
	release();
	pthread_join(thread, NULL);
}

static atomic_bool stops_in_vain;

static void end_a_stop_in_vain(void)
{
	atomic_store(&hs_session.threads, HS_THREADS_RUNNING);
	atomic_store(&hs_session.is_joining, false);
}

void __wrap_hs_threads_end_undisturbed(const struct hs_undisturbed *before);
void __real_hs_threads_end_undisturbed(const struct hs_undisturbed *before);

/* After a thread has found them stopping, and has not started them. */
void __wrap_hs_threads_end_undisturbed(const struct hs_undisturbed *before)
{
	__real_hs_threads_end_undisturbed(before);
	if (atomic_load(&stops_in_vain) && is_stopping())
		end_a_stop_in_vain();
}

#if MAY_STEP
static bool is_awaited;

static void begin_a_stop(void)
{
	atomic_store(&hs_session.is_joining, true);
	atomic_store(&hs_session.threads, HS_THREADS_STOPPING);
}

static void await(void)
{
	is_awaited = hs_threads_await();
}

/* Another thread stops them in vain, at whatever instruction: they run before and after that. */
static void await_beside_a_stop_in_vain(void)
{
	long step = 1;

	start(NULL);
	CHECK(hs_threads_ensure());
	atomic_store(&stops_in_vain, true);
	while (call_interrupted(await, step, begin_a_stop)) {
		CHECK(is_awaited);
		end_a_stop_in_vain();
		step++;
	}
	CHECK(step > 10);
}
#endif

static void execute_here(void)
{
	/* The producer could not answer. */
	CHECK_INT(hs_session_dump(NULL, 0), -EBUSY);
	hs_session_exec_begins(NULL);
}

/* As a handler during fork() may: the producer can do nothing until fork() releases its locks. */
static void exec_in_the_middle_of_fork(void)
{
	pid_t child;

	/* Registered before the session's own handlers, so it is called after these. */
	CHECK_INT(pthread_atfork(execute_here, NULL, NULL), 0);
	start(NULL);
	sample(1, true);
	child = fork();
	if (child == 0)
		_exit(0);
	CHECK_INT(waitpid(child, NULL, 0), child);
	CHECK_INT(hs_stats_get(dumps), 1);
}

/* There is no child, and the profiler goes on. */
static void fork_fails(void)
{
	start(NULL);
	sample(1, true);
	hs_session_fork_begins();
	hs_session_fork_ends(-1);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	CHECK_INT(hs_stats_get(dumps), 1);
}

/* libc's flag: whether it takes the process for single-threaded. */
static char flag;

/* ThreadSanitizer has a thread of its own. */
#ifdef __SANITIZE_THREAD__
#define HAS_ONE_THREAD 0
#else
#define HAS_ONE_THREAD 1
#endif

/* Between the two its fork() takes no locks, and after them it does again. */
static void libc_knows_no_threads_while_it_forks(void)
{
	start_with(&(const struct hs_session_next){pthread_create, true, {&flag, NULL}}, NULL);
	sample(1, true);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	hs_session_fork_begins();
	CHECK_INT(flag, HAS_ONE_THREAD);
	hs_session_fork_ends(-1);
	CHECK_INT(flag, 0);
	/* Once. */
	flag = 1;
	hs_fork_let_go();
	CHECK_INT(flag, 1);
}

static unsigned told_off;

static void note_off(void *unused)
{
	(void)unused;
	told_off++;
}

/* A library may be unloaded next: nothing calls into it any more. */
static void heap_ends_after_sampling_has_ended(void)
{
	const struct heapsample_heap_calls calls = {.disabled = note_off};
	int heap;

	start(NULL);
	heap = hs_session_heap_register("pool", &calls);
	CHECK(heap > 0);
	hs_session_disable("a test");
	CHECK_INT(told_off, 0);
	CHECK_INT(hs_session_heap_unregister((uint32_t)heap), 0);
	CHECK_INT(told_off, 1);
	CHECK_INT(hs_session_heap_unregister((uint32_t)heap), -ENOSYS);
}

#define LARGE_BYTES (UINT64_C(1) << 30)

/* Samples of it are in the ring, in the books and on their way out. */
static void end_heap(const char *setting)
{
	struct hs_regs here;
	int heap;

	start(setting);
	hs_arch_capture(&here);
	heap = hs_session_heap_register("pool", NULL);
	CHECK(heap > 0);
	for (uint64_t id = 1; id <= 5; id++) {
		CHECK(!hs_report_passes((uint32_t)heap, LARGE_BYTES));
		CHECK(hs_report_allocation((uint32_t)heap, id, LARGE_BYTES, &here));
		if (id == 2)
			CHECK_INT(hs_session_dump(NULL, 0), 0);
	}
	hs_record_free_id((uint32_t)heap, 1);
	CHECK_INT(hs_session_heap_unregister((uint32_t)heap), 0);
	CHECK_INT(hs_heap_get((uint32_t)heap, samples), 5);
	CHECK_INT(hs_heap_get((uint32_t)heap, frees), 5);
	hs_lock_acquire(&hs_session.producer_batch);
	CHECK_INT(hs_producer_in_use_bytes(hs_session.producer, (uint32_t)heap), 0);
	hs_lock_release(&hs_session.producer_batch);
}

static void heap_ends_with_blocks_in_use(void)
{
	end_heap(NULL);
}

static void heap_that_is_rarely_sampled_ends(void)
{
	end_heap("HEAPSAMPLE_INTERVAL=1m");
}

/* More than the queue has room for. */
#define MANY_ROUNDS 20

static atomic_bool is_over_with_frees;

/* Frees what is sampled, over and over. */
static void *free_all_the_time(void *unused)
{
	WAIT_UNTIL(is_held);
	while (!atomic_load(&is_over_with_frees)) {
		for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
			hs_record_free(&blocks[i]);
	}
	return unused;
}

/* The ring does not fill because of a disk, at whatever call that keeps the producer. */
static void sample_while_held(long call)
{
	const int count = sizeof blocks / sizeof blocks[0];
	pthread_t thread = write_for_long(call);

	for (int round = 0; round < MANY_ROUNDS; round++) {
		sample(count, true);
		WAIT_UNTIL(hs_ring_unread(&hs_session.ring) == 0);
	}
	CHECK(!atomic_load(&is_released));
	release();
	pthread_join(thread, NULL);
	CHECK_INT(hs_stats_get(dumps), 1);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	CHECK_INT(hs_heap_total(samples), MANY_ROUNDS * count + 1);
	CHECK_INT(hs_stats_get(unwound) + hs_stats_get(walked), MANY_ROUNDS * count + 1);
}

static void disk_is_slow(void)
{
	sample_while_held(SYS_write);
}

static void disk_is_slow_to_tell_names(void)
{
	sample_while_held(SYS_newfstatat);
}

static void disk_is_slow_to_give_symbols(void)
{
	sample_while_held(SYS_pread64);
}

/* Frees do not keep the worker in the producer's place. */
static void disk_is_slow_while_memory_is_freed(void)
{
	pthread_t thread = run(free_all_the_time, NULL);

	sample_while_held(SYS_write);
	atomic_store(&is_over_with_frees, true);
	pthread_join(thread, NULL);
}

/* Puts a record into the queue as the worker does. */
static void put_in_queue(uint64_t number)
{
	const struct hs_unwound nothing = {
		.kind = HS_RECORD_TOMBSTONE,
		.sequence = number,
		.slot = HS_SLOT_NONE,
	};
	struct hs_ring *queue = &hs_session.queue;
	uint64_t open = 0;
	void *place = hs_ring_reserve(queue, sizeof nothing, HS_RING_KEPT, 0, 0, &open);

	CHECK(place != NULL);
	memcpy(place, &nothing, sizeof nothing);
	CHECK(hs_ring_commit(queue, hs_ring_ticket(open)));
}

/* Runs the producer, which is late each time. */
static void produce_all(void)
{
	do
		usleep(LONGER_THAN_A_GAP_US);
	while (hs_threads_process());
}

/* A number that takes long is given up only if it is not in the queue. */
static void number_is_far_behind_in_the_queue(void)
{
	const uint64_t count = 500;

	start(NULL);
	atomic_store(&hs_sequence.next, 2 * count);
	for (uint64_t number = 2; number <= count; number++)
		put_in_queue(number);
	put_in_queue(1);
	produce_all();
	CHECK_INT(hs_stats_get(sequence_gaps), 0);
	CHECK_INT(hs_producer_next_number(hs_session.producer), count + 1);
	/* A number that does not come. */
	put_in_queue(count + 2);
	produce_all();
	produce_all();
	CHECK_INT(hs_stats_get(sequence_gaps), 1);
	CHECK_INT(hs_producer_next_number(hs_session.producer), count + 3);
}

/* While a process is stopped the clock goes on: see the linker's flags. */
static _Atomic uint64_t stopped_ns;
static atomic_int looks;

static atomic_bool leaps;             /* by the longest that a request waits, at each look */
static _Atomic uint64_t frozen_at_ns; /* 0: the clock goes on */

uint64_t __real_hs_sys_monotonic_ns(void);
uint64_t __wrap_hs_sys_monotonic_ns(void);
uint64_t __wrap_hs_sys_monotonic_ns(void)
{
	if (hs_sys_gettid() == hs_sys_getpid())
		atomic_fetch_add(&looks, 1);
	if (atomic_load(&leaps) && hs_sys_gettid() == hs_sys_getpid())
		atomic_fetch_add(&stopped_ns, HS_PROFILE_LIMIT_NS);
	if (atomic_load(&frozen_at_ns) != 0)
		return atomic_load(&frozen_at_ns);
	return __real_hs_sys_monotonic_ns() + atomic_load(&stopped_ns);
}

/* Until the main thread, which waits for the producer, has looked at the clock again. */
static void *stop_for_long(void *unused)
{
	WAIT_UNTIL(is_held);
	atomic_store(&stopped_ns, 2 * HS_PROFILE_LIMIT_NS);
	atomic_store(&looks, 0);
	WAIT_UNTIL(looks >= 2);
	release();
	return unused;
}

static void stopped_while_a_profile_is_written(bool is_final)
{
	pthread_t thread;

	start(NULL);
	hold(PRODUCER, SYS_write);
	sample(1, true);
	thread = run(stop_for_long, NULL);
	if (is_final)
		hs_session_finish();
	else
		CHECK_INT(hs_session_dump(NULL, 0), 0);
	CHECK_INT(hs_stats_get(dumps), 1);
	while (looks < 2)
		hs_sys_monotonic_ns();
	pthread_join(thread, NULL);
}

static void stopped_in_exit(void)
{
	stopped_while_a_profile_is_written(true);
}

static void stopped_in_a_request(void)
{
	stopped_while_a_profile_is_written(false);
}

/* One that nobody waits for any more is still served: it is not replaced by the next. */
static void request_while_another_is_served(void)
{
	start(NULL);
	hold(PRODUCER, SYS_write);
	sample(1, true);
	atomic_store(&leaps, true);
	CHECK_INT(hs_session_dump(NULL, 0), -ETIMEDOUT);
	CHECK_INT(hs_session_dump(NULL, 0), -EBUSY);
	atomic_store(&leaps, false);
	release();
	WAIT_UNTIL(!hs_ask_is_waiting());
	CHECK_INT(hs_stats_get(dumps), 1);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
}

static int nested = 1;

static void ask_too(int number)
{
	uint64_t start_ns = hs_sys_monotonic_ns();

	(void)number;
	nested = hs_session_dump(NULL, 0);
	CHECK(hs_sys_monotonic_ns() - start_ns < HS_PROFILE_LIMIT_NS / 2);
}

static long signal_in_a_request(long number)
{
	if (number == SYS_futex && hs_thread.asking && nested == 1)
		raise(SIGUSR1);
	return 0;
}

/* Its thread holds the lock, and would wait for itself. */
static void request_in_a_request(void)
{
	const struct sigaction action = {.sa_handler = ask_too};

	start(NULL);
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	sample(1, true);
	atomic_store(&hs_sys_fault, signal_in_a_request);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	CHECK_INT(nested, -EBUSY);
}

/* By a handler that has interrupted malloc(): its sample is one that the profile waits for. */
static void request_in_the_slow_path(void)
{
	char guard;

	start(NULL);
	sample(1, true);
	hs_thread.guard_sp = (uintptr_t)&guard;
	CHECK_INT(hs_session_dump(NULL, 0), -EBUSY);
	hs_thread.guard_sp = 0;
	CHECK_INT(hs_session_dump(NULL, 0), 0);
}

/* They are on their way: the books that are emptied do not have them yet. */
static void samples_before_a_reset(void)
{
	start(NULL);
	sample(1, true);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	hold(WORKER, SYS_futex);
	/* It may sleep in one already. */
	hs_ring_wake_reader(&hs_session.ring);
	WAIT_UNTIL(is_held);
	sample(10, false);
	atomic_store(&stopped_ns, 1000 * (uint64_t)HS_SECOND_NS);
	CHECK_INT(hs_session_reset(), 0);
	release();
	/* What is in the books from now on has begun now. */
	CHECK(hs_sys_monotonic_ns() - hs_session.start_ns < 500 * (uint64_t)HS_SECOND_NS);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	CHECK_INT(hs_producer_in_use_bytes(hs_session.producer, HS_HEAP_MALLOC), 0);
	CHECK_INT(hs_heap_total(stale), 10);
}

/* A thread that saw sampling on records its sample when it is off. */
static void sample_after_a_stop(void)
{
	uint32_t epoch;

	start(NULL);
	epoch = atomic_load(&hs_epoch);
	sample(1, true);
	CHECK_INT(hs_session_switch_off(), 0);
	atomic_store(&hs_epoch, epoch);
	sample(2, false);
	atomic_store(&hs_epoch, 0);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	CHECK_INT(hs_heap_total(stale), 2);
}

/* Most of it is in use.  The clock stands still: looks come by what is allocated. */
static void limit_memory(void)
{
	struct hs_process_memory memory;
	struct rlimit limit;

	start("HEAPSAMPLE_OOM=90");
	atomic_store(&frozen_at_ns, hs_sys_monotonic_ns());
	sample(1, true);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	CHECK_INT(getrlimit(RLIMIT_AS, &limit), 0);
	CHECK(hs_process_memory_read(&memory, ""));
	limit.rlim_cur = memory.total / 20 * 21;
	CHECK_INT(setrlimit(RLIMIT_AS, &limit), 0);
}

static void allocate_much(void)
{
	hs_stats_add(allocated_bytes, 32 << 20);
	sample(1, true);
}

/* Within a second since the last look, as the clock has it. */
static void memory_is_filled_fast(void)
{
	limit_memory();
	allocate_much();
	WAIT_UNTIL(hs_stats_get(dumps) == 2);
	atomic_store(&frozen_at_ns, 0);
}

static long disk_is_full(long number)
{
	return number == SYS_write ? -ENOSPC : 0;
}

/* After ever longer times, and not sooner because much is allocated. */
static void failed_profile_is_tried_again(void)
{
	limit_memory();
	atomic_store(&hs_sys_fault, disk_is_full);
	allocate_much();
	for (unsigned tries = 1; tries <= 4; tries++) {
		const uint64_t pause_ns = (uint64_t)HS_SECOND_NS << (tries - 1);

		WAIT_UNTIL(hs_stats_get(dump_failures) == tries);
		/* The producer answers when it has done with the profile. */
		CHECK_INT(hs_session_switch_on(), -EALREADY);
		allocate_much();
		hs_lock_acquire(&hs_session.producer_batch);
		hs_schedule_run_due();
		CHECK_INT(hs_schedule_sleep_ns(), pause_ns);
		hs_lock_release(&hs_session.producer_batch);
		CHECK_INT(hs_stats_get(dump_failures), tries);
		atomic_fetch_add(&frozen_at_ns, pause_ns);
		hs_event_signal(&hs_session.producer_event);
	}
	atomic_store(&hs_sys_fault, NULL);
	atomic_store(&frozen_at_ns, 0);
}

/* The memory that it was to show is freed meanwhile: nothing is due any more. */
static void failed_profile_is_not_wanted_any_more(void)
{
	start("HEAPSAMPLE_INUSE_INTERVAL=8");
	atomic_store(&frozen_at_ns, hs_sys_monotonic_ns());
	atomic_store(&hs_sys_fault, disk_is_full);
	sample(1, true);
	WAIT_UNTIL(hs_stats_get(dump_failures) == 1);
	CHECK_INT(hs_session_switch_on(), -EALREADY);
	CHECK_INT(hs_schedule_sleep_ns(), HS_SECOND_NS);
	hs_record_free(&blocks[0]);
	/* With the lock, so that the producer does not see the time before it sees the free. */
	hs_lock_acquire(&hs_session.producer_batch);
	atomic_fetch_add(&frozen_at_ns, HS_SECOND_NS);
	hs_threads_process();
	hs_schedule_run_due();
	CHECK_INT(hs_schedule_sleep_ns(), -1);
	hs_lock_release(&hs_session.producer_batch);
	CHECK_INT(hs_stats_get(dump_failures), 1);
	atomic_store(&hs_sys_fault, NULL);
	atomic_store(&frozen_at_ns, 0);
}

/* Has the producer's work done after a time.  Returns how long it would sleep then. */
static int64_t sleep_ns_after(int64_t ns)
{
	atomic_fetch_add(&frozen_at_ns, (uint64_t)ns);
	hs_threads_process();
	hs_schedule_run_due();
	return hs_schedule_sleep_ns();
}

static off_t file_bytes(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 ? file.st_size : 0;
}

static uint64_t next_number(void)
{
	uint64_t number;

	hs_lock_acquire(&hs_session.producer_batch);
	number = hs_producer_next_number(hs_session.producer);
	hs_lock_release(&hs_session.producer_batch);
	return number;
}

/* Frees wake nobody.  They are looked for ever more rarely, until none can come any more. */
static void frees_for_a_stream_are_looked_for(void)
{
	static const int64_t pauses_s[] = {1, 2, 4, 8, 16};
	char setting[128] = "HEAPSAMPLE_STREAM=", *path = strchr(setting, 0);
	int64_t sleep_ns;
	off_t bytes;

	snprintf(path, 100, "%s/frees.stream", scratch);
	start(setting);
	atomic_store(&frozen_at_ns, hs_sys_monotonic_ns());
	sample(2, true);
	WAIT_UNTIL(next_number() == 3);
	/* The producer answers when it has done with the file. */
	CHECK_INT(hs_session_switch_on(), -EALREADY);
	hs_lock_acquire(&hs_session.producer_batch);
	sleep_ns_after(HS_SECOND_NS);
	bytes = file_bytes(path);
	CHECK(bytes > 0);
	hs_record_free(&blocks[0]);
	sleep_ns = sleep_ns_after(HS_SECOND_NS);
	CHECK(file_bytes(path) > bytes);
	for (size_t i = 0; i < sizeof pauses_s / sizeof pauses_s[0]; i++) {
		CHECK_INT(sleep_ns, pauses_s[i] * HS_SECOND_NS);
		sleep_ns = sleep_ns_after(pauses_s[i] * HS_SECOND_NS);
	}
	bytes = file_bytes(path);
	hs_record_free(&blocks[1]);
	CHECK_INT(sleep_ns_after(sleep_ns), -1);
	CHECK(file_bytes(path) > bytes);
	hs_lock_release(&hs_session.producer_batch);
	atomic_store(&frozen_at_ns, 0);
}

/* A full disk; and what is written after that, which is the message, waits for exit(). */
static long disk_is_full_and_message_waits(long number)
{
	if (number != SYS_write)
		return 0;
	if (!atomic_exchange(&is_held, true))
		return -ENOSPC;
	while (atomic_load(&hs_session.finishing) == 0)
		usleep(1000);
	release();
	return 0;
}

static void failed_stream_is_told_before_exit(void)
{
	char setting[128] = "HEAPSAMPLE_STREAM=";

	snprintf(strchr(setting, 0), 100, "%s/failed.stream", scratch);
	start(setting);
	atomic_store(&hs_sys_fault, disk_is_full_and_message_waits);
	sample(1, true);
	WAIT_UNTIL(hs_sampler_has_ended());
	hs_session_finish();
	CHECK(atomic_load(&is_released));
}

/* Many profiles of an idle program do not change when the signal's action is looked at. */
static void signals_do_not_make_it_restless(void)
{
	start("HEAPSAMPLE_SIGNAL=USR2");
	atomic_store(&frozen_at_ns, hs_sys_monotonic_ns());
	sample(1, true);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	hs_lock_acquire(&hs_session.producer_batch);
	for (int i = 0; i < 64; i++) {
		atomic_fetch_or(&hs_session.requests, HS_REQUEST_SIGNAL);
		CHECK_INT(sleep_ns_after(0), HS_SECOND_NS);
	}
	hs_lock_release(&hs_session.producer_batch);
	CHECK_INT(hs_stats_get(dumps), 65);
	atomic_store(&frozen_at_ns, 0);
}

static uint64_t next_dump_ns(void)
{
	uint64_t next_ns;

	hs_lock_acquire(&hs_session.producer_batch);
	next_ns = hs_session.next_dump_ns;
	hs_lock_release(&hs_session.producer_batch);
	return next_ns;
}

/* If some were left out the next one is at the time at which it would have been. */
static void timed_profiles_keep_their_rate(void)
{
	const uint64_t interval_ns = UINT64_C(1000) * HS_SECOND_NS;
	uint64_t first_ns;

	start("HEAPSAMPLE_TIME_INTERVAL=1000");
	first_ns = next_dump_ns();
	sample(1, true);
	atomic_store(&stopped_ns, 2 * interval_ns + interval_ns / 2);
	hs_event_signal(&hs_session.producer_event);
	WAIT_UNTIL(hs_stats_get(dumps) == 1);
	WAIT_UNTIL(next_dump_ns() == first_ns + 2 * interval_ns);
}

/* The live set grows, only a little late: that does not mean that the memory is used up. */
static void slots_are_missing_for_a_moment(void)
{
	char setting[128], text[4096] = "";
	FILE *log;

	snprintf(setting, sizeof setting, "HEAPSAMPLE_LOGFILE=%s/log", scratch);
	start(setting);
	hs_heap_add(HS_HEAP_MALLOC, lost_live_set, 1);
	sample(1, true);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	log = fopen(strchr(setting, '=') + 1, "re");
	if (log != NULL) {
		text[fread(text, 1, sizeof text - 1, log)] = '\0';
		fclose(log);
	}
	CHECK_STR(text, "");
}

/* Writes an empty file, which becomes the newest periodic profile. */
static void keep(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", scratch, name);
	fclose(fopen(path, "we"));
	hs_keep_add(path);
}

static bool is_kept(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", scratch, name);
	return access(path, F_OK) == 0;
}

/* By one of the same name, and later ones have other names. */
static void kept_profile_is_replaced(void)
{
	start(NULL); /* with HEAPSAMPLE_KEEP=1 */
	hs_lock_acquire(&hs_session.producer_batch);
	keep("a");
	keep("a");
	CHECK(is_kept("a"));
	keep("b");
	CHECK(!is_kept("a") && is_kept("b"));
	keep("c");
	CHECK(!is_kept("b") && is_kept("c"));
	hs_lock_release(&hs_session.producer_batch);
}

static atomic_bool sleeps, is_over;

/* Holds the trial thread until its creator sleeps. */
static long hold_trial(long number)
{
	struct timespec moment = {.tv_nsec = 1000000};

	if (number == SYS_futex && hs_sys_gettid() == hs_sys_getpid())
		atomic_store(&sleeps, true);
	while (number == SYS_futex && !atomic_load(&sleeps) && !atomic_load(&is_over))
		hs_syscall(SYS_nanosleep, (long)&moment, 0, 0, 0, 0, 0);
	return 0;
}

/* It may have the only processor. */
static void real_time_thread_sleeps_while_one_is_tried(void)
{
	const struct sched_param lowest = {.sched_priority = 1};

	start(NULL);
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) != 0) {
		printf("# no right to be a real-time thread\n");
		return;
	}
	atomic_store(&hs_sys_fault, hold_trial);
	CHECK(hs_threads_would_live(false));
	atomic_store(&is_over, true);
}

static const struct held_case cases[] = {
	{"stopped_in_exit", stopped_in_exit},
	{"stopped_in_a_request", stopped_in_a_request},
	{"request_while_another_is_served", request_while_another_is_served},
	{"request_in_a_request", request_in_a_request},
	{"request_in_the_slow_path", request_in_the_slow_path},
	{"samples_before_a_reset", samples_before_a_reset},
	{"sample_after_a_stop", sample_after_a_stop},
	{"memory_is_filled_fast", memory_is_filled_fast},
	{"failed_profile_is_tried_again", failed_profile_is_tried_again},
	{"failed_profile_is_not_wanted_any_more", failed_profile_is_not_wanted_any_more},
	{"frees_for_a_stream_are_looked_for", frees_for_a_stream_are_looked_for},
	{"failed_stream_is_told_before_exit", failed_stream_is_told_before_exit},
	{"signals_do_not_make_it_restless", signals_do_not_make_it_restless},
	{"kept_profile_is_replaced", kept_profile_is_replaced},
	{"timed_profiles_keep_their_rate", timed_profiles_keep_their_rate},
	{"slots_are_missing_for_a_moment", slots_are_missing_for_a_moment},
	{"real_time_thread_sleeps_while_one_is_tried", real_time_thread_sleeps_while_one_is_tried},
	{"exit_while_they_end", exit_while_they_end},
	{"end_when_exit_has_asked", end_when_exit_has_asked},
	{"exec_while_they_end", exec_while_they_end},
	{"exec_before_they_start", exec_before_they_start},
	{"exec_on_a_stack_of_its_own", exec_on_a_stack_of_its_own},
	{"exec_while_they_start", exec_while_they_start},
	{"await_another_start", await_another_start},
#if MAY_STEP
	{"await_beside_a_stop_in_vain", await_beside_a_stop_in_vain},
#endif
	{"starting_thread_keeps_its_countdown", starting_thread_keeps_its_countdown},
	{"no_thread_can_be_created_in_exit", no_thread_can_be_created_in_exit},
	{"second_thread_cannot_be_created", second_thread_cannot_be_created},
	{"exec_in_the_middle_of_fork", exec_in_the_middle_of_fork},
	{"fork_fails", fork_fails},
	{"libc_knows_no_threads_while_it_forks", libc_knows_no_threads_while_it_forks},
	{"heap_ends_after_sampling_has_ended", heap_ends_after_sampling_has_ended},
	{"heap_ends_with_blocks_in_use", heap_ends_with_blocks_in_use},
	{"heap_that_is_rarely_sampled_ends", heap_that_is_rarely_sampled_ends},
	{"disk_is_slow", disk_is_slow},
	{"disk_is_slow_to_tell_names", disk_is_slow_to_tell_names},
	{"disk_is_slow_to_give_symbols", disk_is_slow_to_give_symbols},
	{"disk_is_slow_while_memory_is_freed", disk_is_slow_while_memory_is_freed},
	{"number_is_far_behind_in_the_queue", number_is_far_behind_in_the_queue},
};

int main(int argc, char **argv)
{
	return run_cases(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
}
