/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that does some of everything, and prints checksums, or what went wrong: threads that
 * allocate, free and move blocks, a library that is loaded and unloaded, a profile on request and
 * one on a signal, a handler on an alternate stack, a label, a forked child that allocates.  Checks
 * that allocations and heapsample_dump() preserve errno.
 *
 * usage: victim_faults BLOCKS     how many blocks each thread makes
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <heapsample/heapsample.h>

#define SITE __attribute__((noinline))
#define USE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

#define THREADS 3
#define KEPT 64
#define TEST_ERRNO 4321

static int blocks;
static uint64_t checksums[THREADS];

static void check(int holds, const char *what)
{
	if (!holds) {
		printf("wrong: %s\n", what);
		fflush(stdout);
		_exit(3);
	}
}

static SITE unsigned char *site_make(size_t bytes, unsigned char value)
{
	unsigned char *block = malloc(bytes);

	check(block != NULL, "malloc");
	memset(block, value, bytes);
	USE(block);
	return block;
}

static SITE unsigned char *site_move(unsigned char *block, size_t bytes)
{
	unsigned char *moved = realloc(block, bytes);

	check(moved != NULL, "realloc");
	USE(moved);
	return moved;
}

static SITE void site_leave(void)
{
	for (int i = 0; i < 10; i++)
		site_make(100, 1);
}

/* Each byte of a block is the low byte of its number, even after the block has been moved. */
static SITE void *site_work(void *argument)
{
	unsigned char *kept[KEPT] = {NULL};
	size_t sizes[KEPT] = {0};
	uint64_t sum = 0;

	for (int i = 0; i < blocks; i++) {
		int at = i % KEPT;

		errno = TEST_ERRNO;
		for (size_t byte = 0; byte < sizes[at]; byte += 16)
			sum = sum * 31 + kept[at][byte];
		free(kept[at]);
		sizes[at] = 16 + (size_t)(i * 37 % 400);
		kept[at] = site_make(sizes[at], (unsigned char)i);
		if (i % 3 == 0)
			kept[at] = site_move(kept[at], sizes[at] + 1000);
		check(errno == TEST_ERRNO, "errno");
	}
	for (int at = 0; at < KEPT; at++)
		free(kept[at]);
	*(uint64_t *)argument = sum;
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, site_work, &checksums[i]) == 0, "thread");
	for (int i = 0; i < THREADS; i++)
		check(pthread_join(threads[i], NULL) == 0, "join");
}

static void use_library(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	double (*cosine)(double);

	check(library != NULL, "dlopen");
	*(void **)(void *)&cosine = dlsym(library, "cos");
	check(cosine != NULL && (int)cosine(0) == 1, "cos");
	check(dlclose(library) == 0, "dlclose");
}

static SITE void site_handle(int number)
{
	(void)number;
	free(site_make(300, 3));
}

static void use_alternate_stack(void)
{
	struct sigaction action = {.sa_handler = site_handle, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};

	check(stack.ss_sp != NULL && sigaltstack(&stack, NULL) == 0, "sigaltstack");
	check(sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0, "a handler");
	stack.ss_flags = SS_DISABLE;
	check(sigaltstack(&stack, NULL) == 0, "sigaltstack");
}

/* The signal is raised only if the profiler handles it: otherwise it would end the program. */
static void ask_for_profiles(void)
{
	struct sigaction action;

	errno = TEST_ERRNO;
	heapsample_dump(NULL, 0);
	check(errno == TEST_ERRNO, "errno");
	check(sigaction(SIGUSR2, NULL, &action) == 0, "sigaction");
	if (action.sa_handler != SIG_DFL)
		check(raise(SIGUSR2) == 0, "raise");
}

static void run_child(void)
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	check(child >= 0, "fork");
	if (child == 0) {
		run_threads();
		site_leave();
		printf("child %llx\n", (unsigned long long)checksums[0]);
		exit(7);
	}
	check(waitpid(child, &status, 0) == child, "waitpid");
	check(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the child");
}

int main(int argc, char **argv)
{
	check(argc == 2, "usage");
	blocks = atoi(argv[1]);
	site_leave();
	run_threads();
	use_library();
	use_alternate_stack();
	ask_for_profiles();
	heapsample_set_label("part", "after");
	site_leave();
	run_child();
	run_threads();
	for (int i = 0; i < THREADS; i++)
		printf("%llx\n", (unsigned long long)checksums[i]);
	return 5;
}
