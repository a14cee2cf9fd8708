/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads allocate, and are interrupted every 100 us by handlers that allocate too, or jump out; or
 * are cancelled anywhere.  Linked with victim_hostile_allocator.c, which permits that.
 *
 * usage: victim_hostile_signals MODE, see the table at the end
 */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "victim_hostile_blocks.h"

#define THREADS 3
#define SIGNALS 700 /* handled by each thread */
#define KEPT 16
#define PERIOD_NS 100000

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

/* Stack of a handler beyond the kernel's frame; its allocator needs two small frames. */
#define HANDLER_BYTES 2048

static __thread volatile unsigned handled;
static __thread void *volatile kept_by_handler[KEPT];
static __thread volatile int is_of_program, is_armed;
static __thread sigjmp_buf jump;

/* A block begins with its size; each further byte is the size too, to detect damage. */
static void *make_filled(size_t size)
{
	unsigned char *block;

	size = size % 200 + 8;
	switch (size % 4) {
	case 0:
		block = calloc(1, size);
		break;
	case 1:
		block = realloc(NULL, size);
		break;
	case 2:
		block = memalign(64, size);
		break;
	default:
		block = malloc(size);
	}
	if (block == NULL) {
		check(0);
		return NULL;
	}
	*(size_t *)(void *)block = size;
	for (size_t i = sizeof size; i < size; i++)
		block[i] = (unsigned char)size;
	return block;
}

static void end_filled(unsigned char *block)
{
	size_t size = block != NULL ? *(size_t *)(void *)block : 0;

	for (size_t i = sizeof size; i < size; i++)
		if (block[i] != (unsigned char)size)
			check(0);
	if (size % 16 == 5)
		block = realloc(block, size * 2);
	free(block);
}

static void allocate_in_handler(int number)
{
	unsigned place = handled % KEPT;
	void *block = make_filled(handled * 31);

	(void)number;
	/* Exchanged, so that a nested handler does not free the same block. */
	block = __atomic_exchange_n(&kept_by_handler[place], block, __ATOMIC_SEQ_CST);
	end_filled(block);
	handled = handled + 1;
	if (!is_of_program)
		check(0);
}

static void jump_out(int number)
{
	(void)number;
	handled = handled + 1;
	if (is_armed) {
		is_armed = 0;
		siglongjmp(jump, 1);
	}
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags | SA_RESTART};

	sigaction(number, &action, NULL);
}

/* Sets an alternate stack with a guard page below it. */
static void use_alternate(size_t bytes, int flags)
{
	size_t whole = (bytes + 4095) & ~(size_t)4095;
	char *memory = mmap(NULL, whole + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	stack_t stack = {.ss_sp = memory + 4096, .ss_size = bytes, .ss_flags = flags};

	mprotect(memory, 4096, PROT_NONE);
	if (sigaltstack(&stack, NULL) != 0)
		check(0);
}

static size_t small_stack(void)
{
	size_t least = getauxval(AT_MINSIGSTKSZ);

	return (least != 0 ? least : 2048) + HANDLER_BYTES;
}

static timer_t start_timer(int number)
{
	struct itimerspec period = {{0, PERIOD_NS}, {0, PERIOD_NS}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
	timer_t timer;

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
	    timer_settime(timer, 0, &period, NULL) != 0)
		abort();
	return timer;
}

/* One round of what the threads do. */
static void work(void **blocks, unsigned round)
{
	void *old = blocks[round % KEPT];

	blocks[round % KEPT] = NULL;
	end_filled(old);
	blocks[round % KEPT] = make_filled(round * 17);
}

static void work_until_handled(void)
{
	void *blocks[KEPT] = {NULL};

	for (unsigned round = 0; handled < SIGNALS; round++)
		work(blocks, round);
	for (unsigned i = 0; i < KEPT; i++)
		end_filled(blocks[i]);
}

static void stop_timer(timer_t timer)
{
	timer_delete(timer);
	for (unsigned i = 0; i < KEPT; i++)
		end_filled(__atomic_exchange_n(&kept_by_handler[i], NULL, __ATOMIC_SEQ_CST));
}

static void *handled_on_small_stack(void *unused)
{
	timer_t timer;

	is_of_program = 1;
	use_alternate(small_stack(), 0);
	timer = start_timer(SIGUSR1);
	work_until_handled();
	stop_timer(timer);
	return unused;
}

/* Two signals that interrupt each other's handlers. */
static void *handled_nested(void *unused)
{
	timer_t first, second;

	is_of_program = 1;
	use_alternate(256 << 10, 0);
	first = start_timer(SIGUSR1);
	second = start_timer(SIGUSR2);
	work_until_handled();
	stop_timer(second);
	stop_timer(first);
	return unused;
}

/* The alternate stack is replaced in each round, and disabled between. */
static void *handled_on_changing_stacks(void *unused)
{
	void *blocks[KEPT] = {NULL};
	timer_t timer;

	is_of_program = 1;
	timer = start_timer(SIGUSR1);
	for (unsigned round = 0; handled < SIGNALS; round++) {
		size_t bytes = small_stack() + round % 5 * 512;
		stack_t stack = {.ss_sp = malloc(bytes), .ss_size = bytes}, now;

		sigaltstack(&stack, NULL);
		for (unsigned i = 0; i < 50; i++)
			work(blocks, round + i);
		sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, &now);
		if (now.ss_sp != stack.ss_sp)
			check(0);
		work(blocks, round);
		free(stack.ss_sp);
	}
	stop_timer(timer);
	return unused;
}

static __thread ucontext_t outside, inside;

/*
 * Works on a coroutine's stack, with the alternate stack right above it.  SS_AUTODISARM: the kernel
 * disables the alternate stack while a handler runs on it.
 */
static void *handled_above_coroutine(void *unused)
{
	enum { BYTES = 65536 };
	char *memory =
		mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = memory + BYTES, .ss_size = BYTES, .ss_flags = (int)SS_AUTODISARM};
	timer_t timer;

	is_of_program = 1;
	getcontext(&inside);
	inside.uc_stack.ss_sp = memory;
	inside.uc_stack.ss_size = BYTES;
	inside.uc_link = &outside;
	makecontext(&inside, work_until_handled, 0);
	sigaltstack(&stack, NULL);
	timer = start_timer(SIGUSR1);
	swapcontext(&outside, &inside);
	stop_timer(timer);
	return unused;
}

static void *jumps_out(void *alternate)
{
	void *volatile blocks[KEPT] = {NULL};
	unsigned volatile round = 0;
	timer_t timer;

	is_of_program = 1;
	/* siglongjmp() unblocks the signal before it leaves the stack, so handlers nest. */
	if (alternate != NULL)
		use_alternate(4 * small_stack(), 0);
	timer = start_timer(SIGUSR1);
	while (handled < SIGNALS) {
		if (sigsetjmp(jump, 1) == 0) {
			is_armed = 1;
			for (unsigned i = 0; i < 5000; i++)
				work((void **)blocks, round = round + 1);
		}
		is_armed = 0;
	}
	timer_delete(timer);
	return NULL;
}

static void small(void)
{
	handle(SIGUSR1, allocate_in_handler, SA_ONSTACK);
	run_threads(THREADS, handled_on_small_stack, NULL);
}

static void nested(void)
{
	handle(SIGUSR1, allocate_in_handler, SA_ONSTACK | SA_NODEFER);
	handle(SIGUSR2, allocate_in_handler, SA_ONSTACK);
	run_threads(THREADS, handled_nested, NULL);
}

static void disarmed(void)
{
	handle(SIGUSR1, allocate_in_handler, SA_ONSTACK);
	run_threads(THREADS, handled_above_coroutine, NULL);
}

static void changing(void)
{
	handle(SIGUSR1, allocate_in_handler, SA_ONSTACK);
	run_threads(THREADS, handled_on_changing_stacks, NULL);
}

static void jumping(void)
{
	handle(SIGUSR1, jump_out, SA_ONSTACK);
	run_threads(THREADS, jumps_out, NULL);
	run_threads(THREADS, jumps_out, &wrong);
}

/* Any thread may handle a signal to the process; it must be one of the program's. */
static void process(void)
{
	struct itimerval period = {{0, PERIOD_NS / 1000}, {0, PERIOD_NS / 1000}}, none;

	is_of_program = 1;
	handle(SIGALRM, allocate_in_handler, 0);
	handle(SIGPROF, allocate_in_handler, 0);
	setitimer(ITIMER_REAL, &period, NULL);
	setitimer(ITIMER_PROF, &period, NULL);
	work_until_handled();
	memset(&none, 0, sizeof none);
	setitimer(ITIMER_REAL, &none, NULL);
	setitimer(ITIMER_PROF, &none, NULL);
}

/* --- cancelled anywhere ----------------------------------------------------------------- */

#define CANCELLED 60

static void end_kept(void *block)
{
	free(block);
}

static void *works_until_cancelled(void *started)
{
	void *blocks[KEPT] = {NULL};

	pthread_cleanup_push(end_kept, malloc(100));
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	__atomic_store_n((int *)started, 1, __ATOMIC_RELEASE);
	for (unsigned round = 0;; round++)
		work(blocks, round);
	pthread_cleanup_pop(1);
	return NULL;
}

static void cancelled(void)
{
	unsigned ended = 0;

	for (unsigned i = 0; i < CANCELLED; i++) {
		struct timespec pause = {0, i % 10 * 20000};
		pthread_t threads[THREADS];
		int started[THREADS] = {0};
		void *result;

		for (unsigned j = 0; j < THREADS; j++)
			if (pthread_create(&threads[j], NULL, works_until_cancelled, &started[j]))
				abort();
		for (unsigned j = 0; j < THREADS; j++) {
			while (!__atomic_load_n(&started[j], __ATOMIC_ACQUIRE))
				sched_yield();
			nanosleep(&pause, NULL);
			pthread_cancel(threads[j]);
		}
		for (unsigned j = 0; j < THREADS; j++)
			ended += pthread_join(threads[j], &result) == 0 &&
				 result == PTHREAD_CANCELED;
	}
	printf("%u of %u cancelled\n", ended, CANCELLED * THREADS);
}

static const struct mode modes[] = {
	{"small", small},       {"disarmed", disarmed}, {"nested", nested},
	{"changing", changing}, {"process", process},   {"cancelled", cancelled},
	{"jumping", jumping},
};

int main(int argc, char **argv)
{
	return RUN_MODE(modes, argc, argv);
}
