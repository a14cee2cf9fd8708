/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends at an awkward moment: while a profile is written, while the profiler starts, in a
 * handler, right after many forks.  See modes[]; the second argument is a number.
 *
 * site_kept makes ROUNDS blocks of 1,000 bytes, site_child 50 of 500, none are freed.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "victim_truth.h"

#define ROUNDS 20000
#define FORKERS 4
#define FORKS 20
#define PAGE_BYTES 4096

static long number;
static volatile int go;

static SITE void *site_block(size_t size)
{
	void *block = malloc(size);

	USE(block);
	return block;
}

static SITE void site_kept(void)
{
	for (int i = 0; i < ROUNDS; i++) {
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

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void spin(long microseconds)
{
	long end = now_us() + microseconds;

	while (now_us() < end)
		;
}

/* Each thread's first child allocates and ends by _exit(); its others just vanish. */
static void *fork_often(void *unused)
{
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();
		int result = 0;

		if (child == 0 && i == 0) {
			site_child();
			_exit(7);
		}
		if (child == 0)
			syscall(SYS_exit_group, 7);
		check(child > 0 && waitpid(child, &result, 0) == child, "a child");
		check(WIFEXITED(result) && WEXITSTATUS(result) == 7, "how the child ended");
	}
	return unused;
}

/* number: the MiB whose page tables a fork must copy. */
static void mode_forks_at_once(void)
{
	size_t bytes = (size_t)number << 20;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t threads[FORKERS];

	check(memory != MAP_FAILED, "mmap");
	/* In case the profile does not come.  Far more than it takes, even on a busy machine. */
	alarm(250);
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < bytes; i += PAGE_BYTES)
		memory[i] = 1;
	free(site_block(1000));
	for (int i = 0; i < FORKERS; i++)
		check(pthread_create(&threads[i], NULL, fork_often, NULL) == 0, "thread");
	for (int i = 0; i < FORKERS; i++)
		pthread_join(threads[i], NULL);
}

static void end_in_handler(int signal_number)
{
	(void)signal_number;
	_exit(5);
}

/* With a large stack signals mostly interrupt its copying. */
static SITE void churn_deep(void)
{
	volatile char deep[60000];

	memset((char *)(uintptr_t)deep, 1, sizeof deep);
	for (;;)
		free(site_block(100));
}

/* number: the timer's period in microseconds. */
static void mode_handler(void)
{
	struct itimerval timer = {{0, number}, {0, number}};

	for (int i = 0; i < 100; i++)
		free(site_block(100));
	check(signal(SIGALRM, end_in_handler) != SIG_ERR, "signal");
	check(setitimer(ITIMER_REAL, &timer, NULL) == 0, "setitimer");
	churn_deep();
}

static void *end_too(void *unused)
{
	while (!go)
		;
	spin(number);
	_exit(5);
	return unused;
}

/* number: microseconds after the first. */
static void mode_second(void)
{
	pthread_t thread;

	site_kept();
	check(pthread_create(&thread, NULL, end_too, NULL) == 0, "thread");
	go = 1;
	exit(5);
}

static void *allocate_first(void *unused)
{
	go = 1;
	for (int i = 0; i < 50; i++)
		free(site_block(100000));
	pause();
	return unused;
}

/* number: microseconds after the other thread's first allocation. */
static void mode_starting(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, allocate_first, NULL) == 0, "thread");
	while (!go)
		;
	spin(number);
	exit(5);
}

static pthread_key_t key;

/* The library has counted the thread as ended by now: main is the last one. */
static void allocate_at_the_end(void *unused)
{
	(void)unused;
	go = 1;
	free(site_block(200 << 20));
}

static void *end_with_destructor(void *unused)
{
	check(pthread_setspecific(key, &key) == 0, "pthread_setspecific");
	return unused;
}

static void say_at_exit(void)
{
	puts("at exit");
}

/* As mode_starting(), but both threads end, and the process with them. */
static void mode_last(void)
{
	pthread_t thread;

	check(atexit(say_at_exit) == 0, "atexit");
	puts("main");
	check(pthread_key_create(&key, allocate_at_the_end) == 0, "pthread_key_create");
	check(pthread_create(&thread, NULL, end_with_destructor, NULL) == 0, "thread");
	check(pthread_detach(thread) == 0, "pthread_detach");
	while (!go)
		;
	spin(number);
	pthread_exit(NULL);
}

/* A program that may not leave SCHED_IDLE.  number: the user to become. */
static void mode_idle(void)
{
	const struct rlimit none = {0, 0};
	const struct sched_param parameter = {0};

	check(setrlimit(RLIMIT_NICE, &none) == 0, "setrlimit");
	if (geteuid() == 0) {
		check(setgid((gid_t)number) == 0 && setuid((uid_t)number) == 0, "setuid");
		/* The change of the user took it away. */
		check(prctl(PR_SET_DUMPABLE, 1) == 0, "prctl");
	}
	check(sched_setscheduler(0, SCHED_IDLE, &parameter) == 0, "SCHED_IDLE");
	site_block(100 << 20);
	exit(5);
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{"forks-at-once", mode_forks_at_once}, {"handler", mode_handler}, {"second", mode_second},
	{"starting", mode_starting},           {"last", mode_last},       {"idle", mode_idle},
};

int main(int argc, char **argv)
{
	check(argc == 3, "two arguments");
	number = atol(argv[2]);
	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run();
			return 0;
		}
	}
	return 9;
}
