/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A handler that interrupts pthread_create(), or thrd_create(), while that holds a lock of libc's.
 * Its allocation is the first sample.  With the lock the profiler's threads could not be created
 * either.
 *
 * Built twice.  LIBRARY: pthread_create() and thrd_create() in libc's place, which raise the
 * signal.  Else the program: prints how many threads there are in the handler, and in the end.
 *
 * usage: victim_create pthread|c11|exit      exit: the handler ends the program
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <threads.h>
#include <unistd.h>

#ifdef LIBRARY

/* Once: the profiler's threads are created by this too. */
static void interrupt(void)
{
	static int is_interrupted;

	if (!is_interrupted) {
		is_interrupted = 1;
		raise(SIGUSR1);
	}
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		   void *argument)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
	interrupt();
	return next(thread, attributes, start, argument);
}

int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
	int (*next)(thrd_t *, thrd_start_t, void *);

	*(void **)&next = dlsym(RTLD_NEXT, "thrd_create");
	interrupt();
	return next(thread, start, argument);
}

#else

/* Many times the interval. */
#define BYTES ((size_t)64 << 20)

static int ends;
static int threads_in_handler;
static void *volatile block;

static int count_threads(void)
{
	struct stat tasks;

	return stat("/proc/self/task", &tasks) == 0 ? (int)tasks.st_nlink - 2 : 0;
}

static void site_handler(int number)
{
	(void)number;
	block = malloc(BYTES);
	threads_in_handler = count_threads();
	if (ends)
		_exit(0);
}

static void *run(void *unused)
{
	return unused;
}

static int run_c11(void *unused)
{
	(void)unused;
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	thrd_t c11;

	if (argc != 2)
		return 2;
	ends = strcmp(argv[1], "exit") == 0;
	signal(SIGUSR1, site_handler);
	if (strcmp(argv[1], "c11") == 0) {
		if (thrd_create(&c11, run_c11, NULL) != thrd_success)
			return 3;
		thrd_join(c11, NULL);
	} else {
		if (pthread_create(&thread, NULL, run, NULL) != 0)
			return 3;
		pthread_join(thread, NULL);
	}
	free(block);
	block = malloc(BYTES);
	printf("%d %d\n", threads_in_handler, count_threads());
	return 0;
}

#endif
