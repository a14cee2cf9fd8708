/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts and ends processes in all ways.
 *
 * usage: victim_process MODE     see modes[]
 *
 * site_parent() makes 100 blocks of 1,000 bytes and site_child() 50 of 500; none are freed.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "victim_truth.h"

extern char **environ;

static const char *self;
static volatile int stop;

static SITE void site_parent(void)
{
	for (int i = 0; i < 100; i++) {
		void *block = malloc(1000);
		USE(block);
	}
}

static SITE void site_child(void)
{
	for (int i = 0; i < 50; i++) {
		void *block = malloc(500);
		USE(block);
	}
}

static SITE void *site_churn(void *argument)
{
	uint64_t random = (uintptr_t)argument;

	while (!stop) {
		void *block = malloc(next_size(&random, 5000));
		USE(block);
		free(block);
	}
	return NULL;
}

static void start_churn(void)
{
	pthread_t thread;

	for (uintptr_t i = 1; i <= 4; i++)
		check(pthread_create(&thread, NULL, site_churn, (void *)i) == 0, "thread");
	usleep(50000);
}

static void wait_for(pid_t child, int want)
{
	int result = 0;

	check(child > 0 && waitpid(child, &result, 0) == child, "a child");
	check(WIFEXITED(result) && WEXITSTATUS(result) == want, "how the child ended");
}

static void mode_fork(void)
{
	pid_t child;

	site_parent();
	child = fork();
	if (child == 0) {
		site_child();
		exit(7);
	}
	wait_for(child, 7);
}

static void mode_fork_exit_directly(void)
{
	pid_t child;

	site_parent();
	child = fork();
	if (child == 0) {
		site_child();
		_exit(7);
	}
	wait_for(child, 7);
}

/* The child allocates more than the ring has room for before its profiler threads run. */
static void mode_fork_much(void)
{
	pid_t child;

	site_parent();
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 400; i++)
			site_child();
		exit(0);
	}
	wait_for(child, 0);
}

static SITE void *site_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < 1000; i++) {
		void *block = malloc(500);
		USE(block);
	}
	return NULL;
}

/* Each child of one parent does the same, on its main thread and then on another. */
static void mode_fork_alike(void)
{
	site_parent();
	for (int i = 0; i < 8; i++) {
		pid_t child = fork();

		if (child == 0) {
			pthread_t thread;

			for (int k = 0; k < 20; k++)
				site_child();
			check(pthread_create(&thread, NULL, site_thread, NULL) == 0, "thread");
			pthread_join(thread, NULL);
			exit(0);
		}
		wait_for(child, 0);
	}
}

static void mode_fork_quiet(void)
{
	pid_t child;

	site_parent();
	child = fork();
	if (child == 0)
		_exit(7);
	wait_for(child, 7);
}

static void mode_fork_often(void)
{
	site_parent();
	start_churn();
	for (int i = 0; i < 100; i++) {
		pid_t child = fork();

		if (child == 0) {
			void *block = malloc(10);
			USE(block);
			_exit(7);
		}
		wait_for(child, 7);
	}
	stop = 1;
}

/* Allocates 100 sizes from one of 2^depth stacks, which the bits of path select. */
static SITE void site_stacks(unsigned depth, unsigned path)
{
	for (size_t size = 1; depth == 0 && size <= 100; size++) {
		void *block = malloc(size);
		USE(block);
		free(block);
	}
	if (depth > 0 && (path & 1) != 0) {
		site_stacks(depth - 1, path >> 1);
		__asm__ volatile("nop"); /* keeps the two calls apart */
	} else if (depth > 0) {
		site_stacks(depth - 1, path >> 1);
		__asm__ volatile("nop; nop");
	}
}

/* Whether the first profile of this process is in $VICTIM_PROFILES, with this around its name. */
static bool has_profile(const char *before, const char *behind)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%svictim_process.%d.0001.heap.pb.gz%s",
		 getenv("VICTIM_PROFILES"), before, (int)getpid(), behind);
	return access(path, F_OK) == 0;
}

/* Waits for it.  Returns whether it is being written: on a busy machine it may be finished. */
static bool wait_for_profile(void)
{
	while (!has_profile("", "")) {
		if (has_profile(".", ".tmp"))
			return true;
		usleep(1000);
	}
	return false;
}

/* Each child is forked while its parent's profile is being written, and forks in turn. */
static void mode_fork_at_profile(void)
{
	enum { STACKS_LG = 8 };
	pid_t child = 0;
	int times = 0;

	for (unsigned path = 0; path < 1 << STACKS_LG; path++)
		site_stacks(STACKS_LG, path);
	for (int generation = 0; generation < 5 && child == 0; generation++) {
		site_child();
		kill(getpid(), SIGUSR2);
		times += wait_for_profile();
		child = fork();
	}
	if (child != 0)
		wait_for(child, 0);
	else
		check(times > 0, "no fork while a profile is written");
}

/* Children that have sampled nothing send themselves signals for profiles. */
static void mode_fork_signals(void)
{
	pid_t child;
	int result = 0;

	site_parent();
	child = fork();
	if (child == 0)
		kill(getpid(), SIGTERM);
	check(waitpid(child, &result, 0) == child && WIFSIGNALED(result), "the first child's end");
	child = fork();
	if (child == 0) {
		kill(getpid(), SIGUSR2);
		check(!has_profile("", "") && !has_profile(".", ".tmp"), "a profile at once");
		site_child();
		wait_for_profile();
		exit(7);
	}
	wait_for(child, 7);
}

/* As a daemon: the grandchild goes on after its parent's end. */
static void mode_daemon(void)
{
	int ends[2];
	char byte;
	pid_t child;

	site_parent();
	check(pipe(ends) == 0, "pipe");
	child = fork();
	if (child == 0) {
		setsid();
		if (fork() != 0)
			_exit(7);
		close(0);
		site_child();
		exit(0);
	}
	close(ends[1]);
	wait_for(child, 7);
	/* End of file: the grandchild has ended. */
	check(read(ends[0], &byte, 1) == 0, "the pipe's end");
}

static void spawn(char *const *arguments, int want)
{
	pid_t child;

	check(posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ) == 0, "spawn");
	wait_for(child, want);
}

static void mode_spawn(void)
{
	char *const truth[] = { (char *)(uintptr_t)"/bin/true", NULL };
	pid_t child;

	site_parent();
	for (int i = 0; i < 20; i++)
		spawn(truth, 0);
	for (int i = 0; i < 20; i++) {
		child = vfork();
		if (child == 0) {
			execv(truth[0], truth);
			_exit(9);
		}
		wait_for(child, 0);
	}
	child = vfork();
	if (child == 0)
		_exit(7);
	wait_for(child, 7);
	site_parent();
}

/* A forked child, and a child that executes a program. */
static void mode_family(void)
{
	char *const again[] = { (char *)(uintptr_t)self, (char *)(uintptr_t)"leaf", NULL };

	mode_fork();
	spawn(again, 0);
}

static void mode_leaf(void)
{
	site_child();
}

/* The process executes another program in place, at the second try. */
static void mode_exec(void)
{
	site_parent();
	execl("/nonexistent/program", "program", (char *)NULL);
	site_parent();
	execl(self, self, "leaf", (char *)NULL);
	_exit(9);
}

static void mode_exit(void)
{
	site_parent();
	exit(5);
}

static void mode_exit_directly(void)
{
	site_parent();
	_exit(5);
}

static void mode_quick_exit(void)
{
	site_parent();
	quick_exit(5);
}

static void *exit_here(void *argument)
{
	(void)argument;
	site_child();
	exit(5);
}

static void mode_exit_thread(void)
{
	pthread_t thread;

	site_parent();
	check(pthread_create(&thread, NULL, exit_here, NULL) == 0, "thread");
	pthread_join(thread, NULL);
	_exit(9);
}

static void mode_exit_busy(void)
{
	site_parent();
	start_churn();
	exit(5);
}

static void mode_abort(void)
{
	site_parent();
	abort();
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "fork", mode_fork },
	{ "fork-exit-directly", mode_fork_exit_directly },
	{ "fork-much", mode_fork_much },
	{ "fork-alike", mode_fork_alike },
	{ "fork-quiet", mode_fork_quiet },
	{ "fork-often", mode_fork_often },
	{ "fork-at-profile", mode_fork_at_profile },
	{ "fork-signals", mode_fork_signals },
	{ "daemon", mode_daemon },
	{ "spawn", mode_spawn },
	{ "family", mode_family },
	{ "leaf", mode_leaf },
	{ "exec", mode_exec },
	{ "exit", mode_exit },
	{ "exit-directly", mode_exit_directly },
	{ "quick-exit", mode_quick_exit },
	{ "exit-thread", mode_exit_thread },
	{ "exit-busy", mode_exit_busy },
	{ "abort", mode_abort },
	{ "return", site_parent },
};

int main(int argc, char **argv)
{
	self = argv[0];
	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		if (argc > 1 && strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run();
			return 0;
		}
	}
	return 9;
}
