/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two threads that sleep forever, linked with floor.c for the subject floor-threads.  In a process
 * with a second thread glibc takes slower paths, and a profiler with ordinary threads of its own
 * cannot avoid that.
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

/* All signals are blocked in these threads, so that the program's own threads get them. */
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
