/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates before any constructor runs, the library's among them, and after the library's exit
 * handler: in an IFUNC's resolver, in .preinit_array, in handlers registered there.
 *
 * usage: victim_hostile_early [FIRST]     FIRST: the first call of .preinit_array, a digit
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTIONS 10
#define KEPT 2000

static void *resolver_blocks[2];
static void *early_blocks[FUNCTIONS];
static void *late_blocks[KEPT];
static int early_errno, child_status;
static pthread_t early_thread;
static _Atomic int is_over;
static _Atomic unsigned long early_rounds;

/* Not through the PLT, whose entries are not all set when the resolver runs. */
static void *(*const volatile allocate)(size_t) = malloc;
static void *(*const volatile allocate_zeroed)(size_t, size_t) = calloc;

static int choice(void)
{
	return 42;
}

static int (*resolve_chosen(void))(void)
{
	resolver_blocks[0] = allocate_zeroed(10, 10);
	resolver_blocks[1] = allocate(100);
	return choice;
}

int chosen(void) __attribute__((ifunc("resolve_chosen")));

static void *call(int function)
{
	void *block = NULL;

	switch (function % FUNCTIONS) {
	case 0:
		return malloc(100);
	case 1:
		return calloc(10, 10);
	case 2:
		return realloc(NULL, 100);
	case 3:
		return posix_memalign(&block, 64, 100) == 0 ? block : NULL;
	case 4:
		return aligned_alloc(64, 128);
	case 5:
		return memalign(64, 100);
	case 6:
		return valloc(100);
	case 7:
		return pvalloc(100);
	case 8:
		return reallocarray(NULL, 10, 10);
	default:
		free(NULL);
		block = malloc(100);
		return malloc_usable_size(NULL) == 0 && malloc_usable_size(block) >= 100 ? block
											 : NULL;
	}
}

/* A thread that exists before all constructors, and allocates while they run. */
static void *allocate_early(void *unused)
{
	while (!is_over) {
		free(malloc(early_rounds % 500));
		early_rounds++;
	}
	return unused;
}

static void after_all(void)
{
	unsigned whole = 0;

	/* Old and new blocks, after the last profile has been written. */
	for (int i = 0; i < FUNCTIONS; i++) {
		early_blocks[i] = realloc(early_blocks[i], 5000);
		whole += early_blocks[i] != NULL && memcmp(early_blocks[i], "early", 6) == 0;
		free(early_blocks[i]);
	}
	for (int i = 0; i < KEPT; i++)
		free(late_blocks[i]);
	for (int i = 0; i < FUNCTIONS; i++)
		free(call(i));
	printf("after all: %u whole\n", whole);
	fflush(stdout);
}

static void before_all(int argc, char **argv, char **environment)
{
	int first = argc > 1 ? argv[1][0] - '0' : 0;
	pid_t child;

	(void)environment;
	errno = 77;
	for (int i = 0; i < FUNCTIONS; i++) {
		early_blocks[i] = call(first + i);
		if (early_blocks[i] != NULL)
			memcpy(early_blocks[i], "early", 6);
	}
	early_errno = errno;
	/* A child that has ended before there is anything to profile. */
	child = fork();
	if (child == 0)
		_exit(call(0) != NULL ? 5 : 6);
	waitpid(child, &child_status, 0);
	atexit(after_all);
	pthread_create(&early_thread, NULL, allocate_early, NULL);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
									      char **) = before_all;

int main(void)
{
	unsigned zeroed = 0, there = 0;

	for (int i = 0; resolver_blocks[0] != NULL && i < 100; i++)
		zeroed += ((char *)resolver_blocks[0])[i] == 0;
	for (int i = 0; i < FUNCTIONS; i++)
		there += early_blocks[i] != NULL;
	printf("resolver: %d, %u bytes zeroed, %s; before all: %u blocks, errno %d, "
	       "child's status %x\n",
	       chosen(), zeroed, resolver_blocks[1] != NULL ? "a block" : "none", there,
	       early_errno, (unsigned)child_status);
	free(resolver_blocks[0]);
	free(resolver_blocks[1]);
	for (int i = 0; i < KEPT; i++)
		late_blocks[i] = malloc((size_t)i);
	while (early_rounds == 0)
		sched_yield();
	is_over = 1;
	pthread_join(early_thread, NULL);
	printf("early thread: ended\n");
	return 0;
}
