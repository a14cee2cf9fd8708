/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two threads that sleep for ever, linked to floor.c for the subject floor-threads: where there is
 * a second thread glibc takes other paths, and a profiler with threads of its own cannot avoid it.
 */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

enum { THREADS = 2 };

static void *park(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

/* The program's signals are for its own threads. */
static __attribute__((constructor)) void start_threads(void)
{
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, park, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}
