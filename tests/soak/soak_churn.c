/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes and goes while the program allocates: threads, libraries, processes, signals. */
#include <dlfcn.h>
#include <errno.h>
#include <heapsample/heapsample.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "soak.h"

enum {
	SHORT_THREADS = 4,
	SHORT_THREAD_BLOCKS = 40,
	OPEN_LIBRARIES = 4,
	CHILD_THREADS = 2,
	CHILD_BLOCKS = 300,
	SIGNAL_STACK_BYTES = 32 << 10
};

extern char **environ;

__thread struct soak_thread *soak_self;

/* --- threads ---------------------------------------------------------------------------- */

static void *run_short_thread(void *seed)
{
	uint64_t random = (uintptr_t)seed;

	for (int i = 0; i < SHORT_THREAD_BLOCKS; i++) {
		uint32_t size = soak_random_below(&random, SOAK_SIZES - 2);
		soak_block block = soak_make(NULL, SOAK_short_thread, size, 0);

		soak_end(NULL, soak_exchange(&random, block));
	}
	return NULL;
}

void soak_churn_threads(void)
{
	static uintptr_t seed;
	pthread_t threads[SHORT_THREADS];

	while (!soak_round_is_over()) {
		for (int i = 0; i < SHORT_THREADS; i++)
			soak_check(pthread_create(&threads[i], NULL, run_short_thread,
						  (void *)++seed) == 0,
				   "pthread_create");
		for (int i = 0; i < SHORT_THREADS; i++)
			pthread_join(threads[i], NULL);
		usleep(1000);
	}
}

/* --- libraries -------------------------------------------------------------------------- */

static void *open_libraries[OPEN_LIBRARIES];

static void close_library(int slot)
{
	if (open_libraries[slot] != NULL)
		soak_check(dlclose(open_libraries[slot]) == 0, "dlclose");
	open_libraries[slot] = NULL;
}

static void open_library(int slot, const char *path, uint64_t *random)
{
	soak_library_call *call;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	soak_check(library != NULL, "dlopen");
	*(void **)&call = dlsym(library, "soak_library_allocates");
	for (int i = 0; i < 20; i++) {
		uint32_t size = soak_random_below(random, SOAK_SIZES - 2);

		soak_end(NULL, soak_exchange(random, soak_made_by_library(call, size)));
	}
	open_libraries[slot] = library;
}

void soak_churn_libraries(uint64_t *random, char **paths, int count)
{
	while (!soak_round_is_over()) {
		int slot = (int)soak_random_below(random, OPEN_LIBRARIES);

		close_library(slot);
		open_library(slot, paths[soak_random_below(random, (uint32_t)count)], random);
		usleep(2000);
	}
}

void soak_close_libraries(void)
{
	for (int i = 0; i < OPEN_LIBRARIES; i++)
		close_library(i);
}

/* --- processes -------------------------------------------------------------------------- */

static void await(pid_t pid, int wanted)
{
	int status;

	soak_check(pid > 0, "fork");
	while (waitpid(pid, &status, 0) < 0)
		soak_check(errno == EINTR, "waitpid");
	soak_check(status == wanted, "how a child ends");
}

/* How a child ends. */
enum way { BY_EXIT, AFTER_ANOTHER_FORK, BY_SIGKILL, BY_EXEC, SPAWNED, WAYS };

/*
 * A child, which keeps no books, of a process whose other threads allocate.  It does not use
 * exit(): another thread, in dlclose(), may have held its lock at the fork.
 */
static _Noreturn void be_child(enum way way, char **command)
{
	for (int i = 0; i < CHILD_BLOCKS; i++)
		free(malloc(soak_sizes[i % SOAK_SIZES]));
	switch (way) {
	case AFTER_ANOTHER_FORK: {
		pid_t pid = fork();

		if (pid == 0) {
			free(malloc(1));
			_exit(0);
		}
		await(pid, 0);
		_exit(0);
	}
	case BY_SIGKILL:
		kill(getpid(), SIGKILL);
		_exit(1);
	case BY_EXEC:
		execv(command[0], command);
		_exit(1);
	default:
		_exit(0);
	}
}

void soak_churn_processes(uint64_t *random, char *program)
{
	char *command[] = {program, NULL};

	while (!soak_round_is_over()) {
		enum way way = soak_random_below(random, WAYS);
		pid_t pid;

		if (way == SPAWNED)
			soak_check(posix_spawn(&pid, program, NULL, NULL, command, environ) == 0,
				   "posix_spawn");
		else
			pid = fork();
		if (pid == 0)
			be_child(way, command);
		await(pid, way == BY_SIGKILL ? SIGKILL : 0);
		usleep(30000);
	}
}

static void *run_childs_thread(void *number)
{
	uint64_t random = (uintptr_t)number;

	for (int i = 0; i < CHILD_BLOCKS; i++) {
		uint32_t size = soak_random_below(&random, SOAK_SIZES);

		soak_end(NULL, soak_exchange(&random,
					     soak_make(NULL, SOAK_child, size, (unsigned)i % 3)));
	}
	return NULL;
}

void soak_report_child(void)
{
	char path[PATH_MAX] = "";
	pthread_t threads[CHILD_THREADS];
	pid_t pid = fork();
	int error;

	if (pid != 0) {
		await(pid, 0);
		return;
	}
	for (uintptr_t i = 0; i < CHILD_THREADS; i++)
		soak_check(pthread_create(&threads[i], NULL, run_childs_thread, (void *)(i + 1)) ==
				   0,
			   "pthread_create in a child");
	for (int i = 0; i < CHILD_THREADS; i++)
		pthread_join(threads[i], NULL);
	error = heapsample_dump(path, sizeof path);
	soak_print_truth("child", path, error);
	_exit(0);
}

/* --- signals ---------------------------------------------------------------------------- */

/* Allocates if the thread that it interrupts is not in the allocator. */
static void allocate_in_handler(int number)
{
	struct soak_thread *self = soak_self;

	(void)number;
	if (self == NULL || !self->may_be_interrupted)
		return;
	soak_end(self,
		 soak_exchange(&self->random_of_handler, soak_make(self, SOAK_handler, 6, 0)));
}

static void do_nothing(int number)
{
	(void)number;
}

void soak_handle_signals(void)
{
	struct sigaction action = {.sa_handler = allocate_in_handler, .sa_flags = SA_RESTART};

	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = do_nothing;
	action.sa_flags = SA_ONSTACK;
	/* Blocked, or its handler would allocate on that stack, where no sample waits for room. */
	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGUSR2, &action, NULL);
}

void soak_own_stack_for_signals(unsigned thread)
{
	static char stacks[SOAK_THREADS][SIGNAL_STACK_BYTES];
	stack_t place = {.ss_sp = stacks[thread], .ss_size = SIGNAL_STACK_BYTES};

	soak_check(sigaltstack(&place, NULL) == 0, "sigaltstack");
}
