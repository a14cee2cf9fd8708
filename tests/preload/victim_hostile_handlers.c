/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signal handlers that fork, with a child that continues what was interrupted; that jump out of an
 * overflowed stack; that make deep calls on an alternate stack within the interrupted one.  Linked
 * with victim_hostile_allocator.c, which permits that.
 *
 * usage: victim_hostile_handlers MODE, see the table at the end
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "victim_hostile_blocks.h"

#define KEPT 16

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags | SA_RESTART};

	sigaction(number, &action, NULL);
}

static void work(unsigned rounds)
{
	void *blocks[KEPT] = {NULL};

	for (unsigned i = 0; i < rounds; i++) {
		if (blocks[i % KEPT] != NULL)
			end_block(blocks[i % KEPT]);
		blocks[i % KEPT] = new_block(i);
	}
	for (unsigned i = 0; i < KEPT; i++)
		if (blocks[i] != NULL)
			end_block(blocks[i]);
}

/* --- fork ------------------------------------------------------------------------------- */

#define FORKS 40

static volatile sig_atomic_t forks, is_child;

/* Every second child continues where its parent was interrupted. */
static void fork_in_handler(int number)
{
	pid_t child;
	int status = 0;

	(void)number;
	if (is_child || forks == FORKS)
		return;
	forks = forks + 1;
	child = fork();
	if (child == 0) {
		is_child = 1;
		end_block(new_block(1));
		if (forks % 2 == 0)
			_exit(4);
		return;
	}
	check(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	      WEXITSTATUS(status) == 4);
}

static void forking(void)
{
	struct itimerval period = {{0, 1000}, {0, 1000}}, none;

	memset(&none, 0, sizeof none);
	handle(SIGALRM, fork_in_handler, 0);
	setitimer(ITIMER_REAL, &period, NULL);
	while (forks < FORKS && !is_child)
		work(100);
	if (is_child) {
		work(1000);
		_exit(4);
	}
	setitimer(ITIMER_REAL, &none, NULL);
	sum = 0;
}

static volatile sig_atomic_t done;

/* Handlers fork and interrupt other forks: allowed in a process of one thread. */
static void fork_in_fork(int number)
{
	pid_t child = fork();
	int status = 0;

	(void)number;
	if (child == 0)
		_exit(4);
	check(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
	done = done + 1;
}

static void forking_in_fork(void)
{
	struct itimerval period = {{0, 700}, {0, 700}}, none;
	sigset_t now;
	int status;

	memset(&none, 0, sizeof none);
	work(100);
	handle(SIGALRM, fork_in_fork, 0);
	setitimer(ITIMER_REAL, &period, NULL);
	while (done < 300)
		fork_in_fork(0);
	setitimer(ITIMER_REAL, &none, NULL);
	/* The signal mask is unchanged, here and in children. */
	check(sigprocmask(SIG_SETMASK, NULL, &now) == 0 && sigisemptyset(&now));
	if (fork() == 0)
		_exit(sigprocmask(SIG_SETMASK, NULL, &now) == 0 && sigisemptyset(&now) ? 0 : 1);
	check(wait(&status) > 0 && status == 0);
	sum = 0;
}

/* --- overflow --------------------------------------------------------------------------- */

static __thread sigjmp_buf jump;

static void jump_out(int number)
{
	(void)number;
	siglongjmp(jump, 1);
}

static unsigned descend(unsigned depth)
{
	volatile char room[200];
	void *block = malloc(depth % 100);

	room[0] = (char)depth;
	free(block);
	return (block != NULL ? descend(depth + 1) : depth) + (unsigned)room[0];
}

/* Of threads that go on after overflows: all must be recorded. */
__attribute__((noinline)) void site_after_overflow(void)
{
	for (unsigned i = 0; i < 1000; i++) {
		void *block = malloc(48);

		check(block != NULL);
		__asm__ volatile("" : : "r"(block) : "memory");
		free(block);
	}
}

/* Recurses until the stack is used up, which mostly happens in an allocation. */
static void *overflow(void *times)
{
	size_t bytes = 65536;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = memory, .ss_size = bytes};

	/* This sample starts the profiler's threads, which needs stack. */
	free(malloc(64 << 20));
	sigaltstack(&stack, NULL);
	for (volatile unsigned i = 0; i < *(const unsigned *)times; i++) {
		if (sigsetjmp(jump, 1) == 0)
			check(descend(i) == 0);
		else
			add(i);
		work(100 + i);
		site_after_overflow();
	}
	return NULL;
}

static void overflowing(void)
{
	unsigned often = 40, once = 1;
	pthread_attr_t attributes;
	pthread_t threads[3];

	handle(SIGSEGV, jump_out, SA_ONSTACK);
	overflow(&once);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 << 10);
	for (unsigned i = 0; i < 3; i++)
		start(&threads[i], &attributes, overflow, &often);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* --- stacks within the stack ------------------------------------------------------------ */

#define SIGNALS 1500
#define DEEP 20

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

static volatile sig_atomic_t handled;

static unsigned go_deep(unsigned depth)
{
	volatile char room[200];
	unsigned char *block = malloc(depth * 10 + 10);

	check(block != NULL);
	room[0] = (char)depth;
	*block = (unsigned char)depth;
	if (depth < DEEP)
		check(go_deep(depth + 1) == depth + 1);
	check(*block == depth);
	free(block);
	return depth + (unsigned)(room[0] - (char)depth);
}

static void handle_deep(int number)
{
	(void)number;
	go_deep(1);
	handled = handled + 1;
}

/* The alternate stack is in this function's frame, above the interrupted frames. */
static void handle_within(int flags)
{
	struct itimerval period = {{0, 100}, {0, 100}}, none;
	char memory[65536];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory, .ss_flags = flags};

	memset(&none, 0, sizeof none);
	check(sigaltstack(&stack, NULL) == 0);
	handle(SIGALRM, handle_deep, SA_ONSTACK);
	setitimer(ITIMER_REAL, &period, NULL);
	while (handled < SIGNALS)
		work(20);
	setitimer(ITIMER_REAL, &none, NULL);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	sum = 0;
}

static void within(void)
{
	handle_within(0);
}

static void within_disarmed(void)
{
	handle_within((int)SS_AUTODISARM);
}

static const struct mode modes[] = {
	{"forking", forking}, {"forking-in-fork", forking_in_fork}, {"overflowing", overflowing},
	{"within", within},   {"within-disarmed", within_disarmed},
};

int main(int argc, char **argv)
{
	return RUN_MODE(modes, argc, argv);
}
