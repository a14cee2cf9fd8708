/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that fork, clone, execute and end in every way.  The output, sums and how children
 * ended, is the same in each run.
 *
 * usage: victim_hostile_life MODE, see modes[]
 */
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "victim_hostile.h"

#define FORKERS 8
#define FORKS 10
#define FORK_DEPTH 6
#define CHILD_STACK_BYTES 262144

extern char **environ;

static volatile int go;

static void *churn_thread(void *unused)
{
	(void)unused;
	return (void *)churn(200);
}

/* Allocates in this many threads.  Returns the sum of their sums. */
static unsigned long churn_threads(int count)
{
	pthread_t threads[FORKERS];
	unsigned long sum = 0;
	void *result;

	for (int i = 0; i < count; i++)
		check(pthread_create(&threads[i], NULL, churn_thread, NULL) == 0, "thread");
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], &result);
		sum += (unsigned long)result;
	}
	return sum;
}

/* As "exit 7" or "signal 9". */
static void print_end(const char *what, pid_t child)
{
	int status = 0;

	check(child > 0 && waitpid(child, &status, __WALL) == child, what);
	printf("%s: %s %d\n", what, WIFEXITED(status) ? "exit" : "signal",
	       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void *fork_often(void *wrong)
{
	for (int i = 0; i < FORKS; i++) {
		int status = 0;
		pid_t child = fork();

		if (child == 0)
			_exit(churn(50) == *(unsigned long *)wrong ? 7 : 8);
		if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 7)
			return wrong;
		churn(50);
	}
	return NULL;
}

static void mode_fork_threads(void)
{
	unsigned long sum = churn(50);
	pthread_t threads[FORKERS];
	int wrong = 0;
	void *result;

	for (int i = 0; i < FORKERS; i++)
		check(pthread_create(&threads[i], NULL, fork_often, &sum) == 0, "thread");
	for (int i = 0; i < FORKERS; i++) {
		pthread_join(threads[i], &result);
		wrong += result != NULL;
	}
	printf("%d forks, %d wrong\n", FORKERS * FORKS, wrong);
}

/* Each child has threads of its own, and then forks too. */
static void fork_deeper(int depth)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		printf("%d: %lu\n", depth, churn_threads(2));
		if (depth < FORK_DEPTH)
			fork_deeper(depth + 1);
		exit(depth);
	}
	print_end("descendant", child);
}

static void mode_fork_deep(void)
{
	printf("%lu\n", churn(100));
	fork_deeper(1);
}

static void mode_fork_on(void)
{
	pid_t child;

	printf("%lu\n", churn(1000));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 5; i++)
			printf("child: %lu %lu\n", churn(200), churn_threads(4));
		exit(7);
	}
	printf("parent: %lu\n", churn_threads(4));
	print_end("child", child);
}

/* A fork by the bare system call, which calls no fork handlers. */
static void fork_raw(int flags)
{
	pid_t child;

	churn(100);
	fflush(stdout);
	child = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		unsigned long sum = churn(100);

		_exit(sum == churn(100) ? 7 : 8);
	}
	print_end("raw", child);
	printf("%lu\n", churn(100));
}

static void mode_fork_raw(void)
{
	fork_raw(0);
}

/* Parent and child are first in their pid namespaces: both have the process id 1. */
static void mode_fork_raw_first(void)
{
	check(getpid() == 1, "not the first process");
	fork_raw(CLONE_NEWPID);
}

static int end_raw(void *unused)
{
	(void)unused;
	go++;
	syscall(SYS_exit, 7);
	return 0;
}

static int allocate_and_end(void *unused)
{
	(void)unused;
	go += churn(100) != 0;
	_exit(7);
}

static void clone_one(const char *what, int (*start)(void *), int flags)
{
	char *stack = mmap(NULL, CHILD_STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int before = go;

	check(stack != MAP_FAILED, "mmap");
	fflush(stdout);
	child = clone(start, stack + CHILD_STACK_BYTES, flags | CLONE_VM | SIGCHLD, NULL);
	/* Both use the same thread-local storage: one of them allocates at a time. */
	while (child > 0 && go == before)
		;
	print_end(what, child);
	printf("%lu\n", churn(100));
}

/* In the process's memory, with thread-local storage that is nothing but zeros, as in Chromium. */
static int end_without_tls(void *unused)
{
	(void)unused;
	_exit(7);
}

static int execute_without_tls(void *unused)
{
	char sh[] = "sh", option[] = "-c", script[] = "exit 7";
	char *const argv[] = {sh, option, script, NULL}, *const envp[] = {NULL};

	(void)unused;
	execve("/nonexistent", argv, envp);
	execve("/bin/sh", argv, envp);
	syscall(SYS_exit, 8);
	return 0;
}

static void clone_without_tls(const char *what, int (*start)(void *))
{
	static _Alignas(64) char tls[2][4096];
	char *stack = mmap(NULL, CHILD_STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(stack != MAP_FAILED, "mmap");
	fflush(stdout);
	print_end(what, clone(start, stack + CHILD_STACK_BYTES,
			      CLONE_VM | CLONE_VFORK | CLONE_FS | CLONE_SETTLS | SIGCHLD, NULL,
			      NULL, tls[1], NULL));
	printf("%lu\n", churn(100));
}

static void mode_clone_tls(void)
{
	churn(100);
	clone_without_tls("ends", end_without_tls);
	clone_without_tls("executes", execute_without_tls);
}

static void mode_clone_vm(void)
{
	churn(100);
	clone_one("vfork, raw", end_raw, CLONE_VFORK);
	clone_one("raw", end_raw, 0);
	clone_one("vfork, allocates", allocate_and_end, CLONE_VFORK);
	clone_one("allocates", allocate_and_end, 0);
	clone_one("files, allocates", allocate_and_end, CLONE_VFORK | CLONE_FILES | CLONE_FS);
}

static void mode_vfork(void)
{
	char *const nothing[] = {(char *)(uintptr_t) "/nonexistent/program", NULL};
	char *const truth[] = {(char *)(uintptr_t) "/bin/true", NULL};
	pid_t child;

	start_churning(2);
	for (int i = 0; i < 5; i++) {
		child = vfork();
		if (child == 0) {
			execv(nothing[0], nothing);
			execv(truth[0], truth);
			_exit(9);
		}
		print_end("vfork, exec", child);
		child = vfork();
		if (child == 0)
			_exit(7);
		print_end("vfork, _exit", child);
		child = vfork();
		if (child == 0) {
			kill(getpid(), SIGKILL);
			_exit(9);
		}
		print_end("vfork, killed", child);
		check(posix_spawn(&child, truth[0], NULL, NULL, truth, environ) == 0, "spawn");
		print_end("posix_spawn", child);
		check(posix_spawn(&child, nothing[0], NULL, NULL, nothing, environ) != 0, "spawn");
	}
	printf("%lu\n", churn(100));
}

static void mode_shell(void)
{
	char line[64] = "";
	FILE *pipe;

	start_churning(2);
	for (int i = 0; i < 3; i++) {
		fflush(stdout);
		printf("system: %d\n", system("echo from the shell; exit 3"));
		pipe = popen("echo through a pipe; exit 4", "r");
		check(pipe != NULL && fgets(line, sizeof line, pipe) != NULL, "popen");
		printf("%s%d\n", line, pclose(pipe));
		pipe = popen("cat", "w");
		check(pipe != NULL && fputs("into a pipe\n", pipe) >= 0, "popen");
		fflush(stdout);
		printf("%d\n", pclose(pipe));
	}
	printf("%lu\n", churn(100));
}

/* The first process waits for the daemon's end, and prints what it writes into a pipe. */
static void mode_daemon(void)
{
	char text[64];
	ssize_t bytes;
	int ends[2];
	pid_t child;

	printf("%lu\n", churn(1000));
	fflush(stdout);
	check(pipe(ends) == 0, "pipe");
	child = fork();
	if (child == 0) {
		check(daemon(0, 0) == 0, "daemon");
		dprintf(ends[1], "daemon: %lu %lu\n", churn(1000), churn_threads(4));
		exit(0);
	}
	close(ends[1]);
	print_end("daemon's parent", child);
	while ((bytes = read(ends[0], text, sizeof text)) > 0)
		fwrite(text, 1, (size_t)bytes, stdout);
}

#define HANDLER_FORKS 300

/* Larger than the blocks of glibc's thread cache, so malloc() takes a lock. */
#define LARGE_BYTES 2000
#define LARGE_BLOCKS 64

static volatile sig_atomic_t handler_forks;

/* Once: a handler takes longer than a period would, and there would be no progress. */
static void set_alarm(void)
{
	struct itimerval soon = {{0, 0}, {0, 100 + 7 * (handler_forks % 31)}};

	if (handler_forks < HANDLER_FORKS)
		check(setitimer(ITIMER_REAL, &soon, NULL) == 0, "setitimer");
}

/* In a process of one thread fork() may be called in any handler. */
static void fork_in_handler(int number)
{
	pid_t child = fork();
	int status = 0;

	(void)number;
	if (child == 0)
		_exit(4);
	check(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		      WEXITSTATUS(status) == 4,
	      "fork in a handler");
	handler_forks = handler_forks + 1;
	set_alarm();
}

/* The last child has threads, and forks too. */
static void mode_fork_over_malloc(void)
{
	struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
	void *blocks[LARGE_BLOCKS] = {NULL};
	pid_t child;

	check(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
	set_alarm();
	for (size_t i = 0; handler_forks < HANDLER_FORKS; i = (i + 1) % LARGE_BLOCKS) {
		free(blocks[i]);
		blocks[i] = malloc(LARGE_BYTES + 16 * i);
	}
	for (size_t i = 0; i < LARGE_BLOCKS; i++)
		free(blocks[i]);
	say("forked in handlers");
	child = fork();
	if (child == 0) {
		printf("%lu\n", churn_threads(2));
		fork_in_handler(0);
		exit(3);
	}
	print_end("child", child);
}

static const struct mode modes[] = {
	{"fork-threads", mode_fork_threads},
	{"fork-deep", mode_fork_deep},
	{"fork-on", mode_fork_on},
	{"fork-over-malloc", mode_fork_over_malloc},
	{"fork-raw", mode_fork_raw},
	{"fork-raw-first", mode_fork_raw_first},
	{"clone-tls", mode_clone_tls},
	{"clone-vm", mode_clone_vm},
	{"vfork", mode_vfork},
	{"shell", mode_shell},
	{"daemon", mode_daemon},
};

int main(int argc, char **argv)
{
	(void)argc;
	return run_mode(modes, sizeof modes / sizeof modes[0], argv[1]);
}
