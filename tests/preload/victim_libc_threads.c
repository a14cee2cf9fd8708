/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints after each step whether libc takes the process for single-threaded, and how many threads
 * there are.
 *
 * usage: victim_libc_threads STEP...     "fork" (the child does the rest too), or see do_it()
 */
#include <dirent.h>
#include <dlfcn.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../unit/call_by_expression.h"
#include "victim_expect.h"

/* Many times the interval, so it is sampled. */
#define BYTES ((size_t)1 << 20)
#define OTHER_USER 65534
#define OTHER_GROUP 65533

typedef void function(void);

/*
 * The program's own functions in libc's place.  They might take a lock, and libc might think that
 * this is the only thread: the profiler's must not call them.
 */
static void check_caller(void)
{
	if (syscall(SYS_gettid) != getpid())
		abort();
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	check_caller();
	return (int)syscall(SYS_clock_gettime, clock, now);
}

int sigaction(int number, const struct sigaction *restrict action,
	      struct sigaction *restrict before)
{
	static int (*next)(int, const struct sigaction *, struct sigaction *);

	check_caller();
	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "sigaction");
	return next(number, action, before);
}

static void allocate(void)
{
	free(malloc(BYTES));
	usleep(20000);
}

static void on_signal(int number)
{
	(void)number;
	allocate();
}

static void *run(void *argument)
{
	return argument;
}

static void make_thread(void)
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, run, NULL) == 0);
	EXPECT(pthread_join(thread, NULL) == 0);
}

static unsigned read_number(const char *path, const char *name)
{
	char line[256];
	unsigned number = 0;
	FILE *file = fopen(path, "r");

	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			number = (unsigned)strtoul(line + strlen(name), NULL, 10);
	EXPECT(file != NULL && fclose(file) == 0);
	return number;
}

/* All threads take the user and its group, also the profiler's, which libc's flag hides. */
static void take_user(void)
{
	char path[300];
	struct dirent *task;
	DIR *tasks;

	/* This also allocates. */
	EXPECT(initgroups("no such user", OTHER_GROUP) == 0);
	EXPECT(setuid(OTHER_USER) == 0);
	allocate();
	tasks = opendir("/proc/self/task");
	while (tasks != NULL && (task = readdir(tasks)) != NULL) {
		if (task->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
		EXPECT(read_number(path, "Uid:") == OTHER_USER &&
		       read_number(path, "Groups:") == OTHER_GROUP);
	}
	EXPECT(tasks != NULL && closedir(tasks) == 0);
}

/* libc's own flag: a program that uses it may have a copy. */
static int is_single(void)
{
	const char *flag = dlsym(RTLD_NEXT, "__libc_single_threaded");

	return flag != NULL ? *flag : -1;
}

static void say(const char *what)
{
	printf("%s %d %u\n", what, is_single(), read_number("/proc/self/status", "Threads:"));
	fflush(stdout);
}

static void take_same_user(void)
{
	EXPECT(setuid(getuid()) == 0);
	allocate();
}

/* Waits until the worker has unwound it. */
static void allocate_by_expression(void)
{
	call_by_expression(allocate);
	usleep(200000);
}

static void allocate_and_compute(void)
{
	struct timespec now, end;

	free(malloc(BYTES));
	EXPECT(clock_gettime(CLOCK_MONOTONIC, &end) == 0);
	/* Neither sleeps nor allocates: the worker must wait for the next step. */
	end.tv_nsec += 150000000;
	do
		EXPECT(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	while ((now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec < end.tv_nsec);
}

/* Busy from the sample on, which the worker wants libunwind for. */
static void compute_by_expression(void)
{
	call_by_expression(allocate_and_compute);
}

static void allocate_in_handler(void)
{
	const struct sigaction action = {.sa_handler = on_signal};

	EXPECT(sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0);
	usleep(200000);
}

static void cancel(void)
{
	EXPECT(pthread_cancel(pthread_self()) == 0);
}

/* Allocates on a stack that is neither the thread's own nor an alternate stack. */
static void allocate_on_coroutine(void)
{
	static ucontext_t here, there;
	static char stack[16 << 10];

	EXPECT(getcontext(&there) == 0);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof stack;
	there.uc_link = &here;
	makecontext(&there, allocate, 0);
	EXPECT(swapcontext(&here, &there) == 0);
}

/* To the same directory. */
static void change_root(void)
{
	EXPECT(chroot("/") == 0);
}

static void nothing(void)
{
}

static void do_it(const char *what)
{
	static const struct {
		const char *name;
		function *does;
	} steps[] = {{"nothing", nothing},    {"allocate", allocate},
		     {"thread", make_thread}, {"expression", allocate_by_expression},
		     {"user", take_user},     {"same-user", take_same_user},
		     {"cancel", cancel},      {"coroutine", allocate_on_coroutine},
		     {"handler", allocate_in_handler}, {"compute", compute_by_expression},
		     {"chroot", change_root}};

	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
		if (strcmp(what, steps[i].name) == 0)
			steps[i].does();
}

int main(int count, char **words)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	for (int i = 1; i < count; i++) {
		pid_t child = strcmp(words[i], "fork") == 0 ? fork() : -1;

		if (child > 0)
			EXPECT(waitpid(child, NULL, 0) == child);
		else if (child < 0)
			do_it(words[i]);
		say(child == 0 ? "child" : words[i]);
	}
	return failures != 0;
}
