/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads of all kinds: many and short-lived, on the smallest stacks, that only free, started by
 * the C library, of C11, with real-time priority.
 *
 * usage: victim_hostile_threads MODE, see the table at the end
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "victim_hostile_blocks.h"

/* What malloc_info() says; to be freed. */
static char *malloc_text(void)
{
	size_t bytes;
	char *text;
	FILE *out = open_memstream(&text, &bytes);

	check(out != NULL && malloc_info(0, out) == 0 && fclose(out) == 0);
	return text;
}

/* --- many ------------------------------------------------------------------------------- */

#define SHORT_THREADS 2000
#define AT_ONCE 20

/* Frees its creator's block, and returns a block to the thread that joins it. */
static void *run_short(void *block)
{
	unsigned number = *(unsigned *)block;
	void *more = realloc(calloc(1, 10), number % 3000 + 20);

	end_block(block);
	free(more);
	return new_block(number + 1);
}

/* The size that the last line with this in it names. */
static size_t last_size(const char *text, const char *line)
{
	const char *found = NULL, *next = text;

	while ((next = strstr(next, line)) != NULL)
		found = next++;
	found = found == NULL ? NULL : strstr(found, "size=\"");
	check(found != NULL);
	return found == NULL ? 0 : strtoul(found + strlen("size=\""), NULL, 10);
}

/* What is allocated, of the memory of all arenas. */
static size_t used_bytes(void)
{
	char *text = malloc_text();
	size_t bytes = last_size(text, "<system type=\"current\"") -
		       last_size(text, "<total type=\"fast\"") -
		       last_size(text, "<total type=\"rest\"");

	free(text);
	return bytes;
}

/* Threads leave no memory behind.  What is kept for new ones is there after half of them. */
static void short_threads(void)
{
	pthread_t threads[AT_ONCE];
	size_t used_before = 0;
	void *block;

	for (unsigned i = 0; i < SHORT_THREADS + AT_ONCE; i++) {
		if (i == SHORT_THREADS / 2)
			used_before = used_bytes();
		if (i >= AT_ONCE) {
			pthread_join(threads[i % AT_ONCE], &block);
			end_block(block);
		}
		if (i < SHORT_THREADS)
			start(&threads[i % AT_ONCE], NULL, run_short, new_block(i));
	}
	check(used_bytes() < used_before + SHORT_THREADS * 16);
}

static pthread_barrier_t barrier;

static void *run_crowd(void *number)
{
	void *block = new_block((unsigned)(uintptr_t)number);

	pthread_barrier_wait(&barrier);
	end_block(block);
	return NULL;
}

/* All threads exist at the same time. */
static void crowd(void)
{
	enum { THREADS = 500 };
	static pthread_t threads[THREADS];
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		start(&threads[i], &attributes, run_crowd, (void *)i);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* --- small stacks -------------------------------------------------------------------------- */

static void *run_tiny(void *number)
{
	void *block = new_block((unsigned)(uintptr_t)number);

	/* Sampled at any interval, so this thread may start the profiler's. */
	free(malloc(64 << 20));
	free(calloc(1, 100));
	block = realloc(block, 5000);
	free(memalign(64, 1000));
	end_block(block);
	return NULL;
}

/* The smallest stacks, allocated by glibc and by the program. */
static void tiny(void)
{
	size_t bytes = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	pthread_attr_t attributes;
	pthread_t thread;
	char *memory;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, bytes);
	for (uintptr_t i = 0; i < 200; i++) {
		pthread_attr_setguardsize(&attributes, i % 2 == 0 ? 4096 : 0);
		start(&thread, &attributes, run_tiny, (void *)i);
		pthread_join(thread, NULL);
	}
	bytes = (bytes + 4095) & ~(size_t)4095;
	memory = mmap(NULL, bytes + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	mprotect(memory, 4096, PROT_NONE);
	mprotect(memory + 4096 + bytes, 4096, PROT_NONE);
	pthread_attr_setstack(&attributes, memory + 4096, bytes);
	for (uintptr_t i = 0; i < 200; i++) {
		start(&thread, &attributes, run_tiny, (void *)i);
		pthread_join(thread, NULL);
	}
	pthread_attr_destroy(&attributes);
}

/* --- others ----------------------------------------------------------------------------------- */

#define HANDED 5000

static void *handed[HANDED];

/* Never allocates. */
static void *run_freeing(void *unused)
{
	for (unsigned i = 0; i < HANDED; i++) {
		void *block;

		while ((block = __atomic_exchange_n(&handed[i], NULL, __ATOMIC_ACQ_REL)) == NULL)
			sched_yield();
		add(*(unsigned *)block);
		free(block);
	}
	return unused;
}

static void freeing(void)
{
	pthread_t thread;

	start(&thread, NULL, run_freeing, NULL);
	for (unsigned i = 0; i < HANDED; i++)
		__atomic_store_n(&handed[i], new_block(i), __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
}

static int run_c11(void *block)
{
	end_block(block);
	end_block(new_block(20));
	return 3;
}

static sem_t notifications;

static void notified(union sigval value)
{
	end_block(new_block((unsigned)value.sival_int));
	sem_post(&notifications);
}

/* Threads of C11, and those that libc starts itself. */
static void others(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notified};
	struct itimerspec soon = {{0, 1000000}, {0, 1000000}};
	struct aiocb read_zero = {.aio_nbytes = 1000, .aio_sigevent = event};
	timer_t timer;
	thrd_t thread;
	int result;

	sem_init(&notifications, 0, 0);
	for (unsigned i = 0; i < 50; i++) {
		check(thrd_create(&thread, run_c11, new_block(i)) == thrd_success);
		check(thrd_join(thread, &result) == thrd_success && result == 3);
	}
	check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	check(timer_settime(timer, 0, &soon, NULL) == 0);
	for (unsigned i = 0; i < 20; i++)
		while (sem_wait(&notifications) != 0)
			;
	timer_delete(timer);
	read_zero.aio_fildes = open("/dev/zero", O_RDONLY);
	read_zero.aio_buf = malloc(1000);
	read_zero.aio_sigevent.sigev_value.sival_int = 0;
	check(aio_read(&read_zero) == 0);
	while (aio_error(&read_zero) == EINPROGRESS)
		sched_yield();
	check(aio_return(&read_zero) == 1000);
}

/* --- C11 -------------------------------------------------------------------------------- */

static mtx_t mutex;
static cnd_t turned;
static tss_t storage;
static once_flag once = ONCE_FLAG_INIT;
static unsigned turn;

static void make_storage(void)
{
	check(tss_create(&storage, end_block) == thrd_success);
	end_block(new_block(21));
}

static _Noreturn void leave(int result)
{
	free(malloc(300));
	thrd_exit(result);
}

/* In turns.  Every second thread ends by thrd_exit(), in a called function. */
static int run_in_turn(void *number)
{
	unsigned own = *(unsigned *)number;

	call_once(&once, make_storage);
	tss_set(storage, new_block(own));
	mtx_lock(&mutex);
	while (turn != own) {
		free(malloc(own * 10));
		cnd_wait(&turned, &mutex);
	}
	turn++;
	cnd_broadcast(&turned);
	mtx_unlock(&mutex);
	end_block(number);
	if (own % 2 == 0)
		leave((int)own);
	return (int)own;
}

static void c11(void)
{
	enum { THREADS = 40 };
	thrd_t threads[THREADS];
	int result;

	check(mtx_init(&mutex, mtx_plain) == thrd_success && cnd_init(&turned) == thrd_success);
	for (unsigned round = 0; round < 10; round++) {
		turn = 0;
		for (unsigned i = 0; i < THREADS; i++)
			check(thrd_create(&threads[i], run_in_turn, new_block(i)) == thrd_success);
		for (unsigned i = 0; i < THREADS; i++)
			check(thrd_join(threads[i], &result) == thrd_success && result == (int)i);
	}
	tss_delete(storage);
}

/* --- idle ------------------------------------------------------------------------------- */

/* How many arenas malloc() has. */
static unsigned count_arenas(void)
{
	char *text = malloc_text();
	unsigned count = 0;

	for (const char *heap = text; (heap = strstr(heap, "<heap nr=")) != NULL; heap++)
		count++;
	free(text);
	return count;
}

static void *run_idle(void *unused)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return unused;
}

static int run_idle_c11(void *unused)
{
	run_idle(unused);
	return 0;
}

/* Threads that never allocate need no arena; two are for the profiler's. */
static void idle(void)
{
	enum { PAIRS = 8 };
	pthread_t threads[PAIRS];
	thrd_t threads_c11[PAIRS];

	end_block(new_block(1));
	pthread_barrier_init(&barrier, NULL, 2 * PAIRS + 1);
	for (unsigned i = 0; i < PAIRS; i++) {
		start(&threads[i], NULL, run_idle, NULL);
		check(thrd_create(&threads_c11[i], run_idle_c11, NULL) == thrd_success);
	}
	pthread_barrier_wait(&barrier);
	check(count_arenas() <= 3);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < PAIRS; i++) {
		pthread_join(threads[i], NULL);
		thrd_join(threads_c11[i], NULL);
	}
}

/* Real-time threads, which the profiler's cannot preempt.  77: not permitted. */
static void *run_real_time(void *unused)
{
	for (unsigned i = 0; i < 20000; i++)
		end_block(new_block(i));
	return unused;
}

static void real_time(void)
{
	struct sched_param priority = {.sched_priority = 10};
	pthread_attr_t attributes;
	pthread_t threads[4];
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
	pthread_attr_setschedparam(&attributes, &priority);
	for (unsigned i = 0; i < 4; i++) {
		error = pthread_create(&threads[i], &attributes, run_real_time, NULL);
		if (error == EPERM)
			exit(77);
		check(error == 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static const struct mode modes[] = {
	{"short", short_threads}, {"crowd", crowd},         {"tiny", tiny}, {"freeing", freeing},
	{"others", others},       {"real-time", real_time}, {"c11", c11},
	{"idle", idle},
};

int main(int argc, char **argv)
{
	return RUN_MODE(modes, argc, argv);
}
