/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates on stacks of all kinds: of coroutines (by makecontext(), or switched by an assembly
 * function, or within a thread's stack), with guard pages, short-lived ones, deep ones.
 *
 * usage: victim_hostile_stacks MODE, see the table at the end
 */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "victim_hostile_blocks.h"

#define THREADS 3
#define COROUTINES 24
#define ROUNDS 40
#define STACK_BYTES (16 << 10)
#define PAGE_BYTES 4096

/* Allocates in this many nested calls.  Frees the old block and returns a new one. */
static void *allocate(unsigned number, unsigned depth, void *old)
{
	char room[100];

	memset(room, (int)number, sizeof room);
	__asm__ volatile("" : : "r"(room) : "memory");
	if (depth > 0) {
		old = allocate(number, depth - 1, old);
	} else {
		void *block = malloc(number % 500 + 1);

		check(block != NULL);
		memset(block, (int)number, number % 500 + 1);
		free(old);
		old = realloc(block, number % 300 + 600);
		check(*(unsigned char *)old == (unsigned char)number);
		add(number);
	}
	check(room[99] == (char)number);
	return old;
}

/* Even numbers: from malloc().  Odd numbers: mapped, with a guard page on each side. */
static char *new_stack(unsigned number)
{
	char *memory;

	if (number % 2 == 0)
		return malloc(STACK_BYTES);
	memory = mmap(NULL, STACK_BYTES + 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(memory, PAGE_BYTES, PROT_NONE);
	mprotect(memory + PAGE_BYTES + STACK_BYTES, PAGE_BYTES, PROT_NONE);
	return memory + PAGE_BYTES;
}

static void end_stack(unsigned number, char *stack)
{
	if (number % 2 == 0)
		free(stack);
	else
		munmap(stack - PAGE_BYTES, STACK_BYTES + 2 * PAGE_BYTES);
}

/* --- makecontext, swapcontext, setcontext ---------------------------------------------- */

struct context_set {
	ucontext_t main, coroutines[COROUTINES];
	char *stacks[COROUTINES];
	unsigned running;
};

static void run_context(int low, int high)
{
	struct context_set *set =
		(struct context_set *)((uintptr_t)(unsigned)low | (uintptr_t)(unsigned)high << 32);
	unsigned self = set->running;
	void *kept = NULL;

	for (unsigned round = 0; round < ROUNDS; round++) {
		kept = allocate(self * ROUNDS + round, round % 20, kept);
		swapcontext(&set->coroutines[self], &set->main);
	}
	free(kept);
}

static void *run_contexts(void *unused)
{
	struct context_set *set = calloc(1, sizeof *set);

	for (unsigned i = 0; i < COROUTINES; i++) {
		set->stacks[i] = new_stack(i);
		getcontext(&set->coroutines[i]);
		set->coroutines[i].uc_stack.ss_sp = set->stacks[i];
		set->coroutines[i].uc_stack.ss_size = STACK_BYTES;
		set->coroutines[i].uc_link = &set->main;
		makecontext(&set->coroutines[i], (void (*)(void))run_context, 2,
			    (int)(uintptr_t)set, (int)((uintptr_t)set >> 32));
	}
	/* In the last round they return. */
	for (unsigned round = 0; round <= ROUNDS; round++)
		for (set->running = 0; set->running < COROUTINES; set->running++)
			swapcontext(&set->main, &set->coroutines[set->running]);
	for (unsigned i = 0; i < COROUTINES; i++)
		end_stack(i, set->stacks[i]);
	free(set);
	return unused;
}

/* Returns to the same context again and again, after allocations of different depths. */
static void *run_setcontext(void *unused)
{
	ucontext_t *context = malloc(sizeof *context);
	volatile unsigned round = 0;
	void *volatile kept = NULL;

	getcontext(context);
	round = round + 1;
	kept = allocate(round, round % 30, kept);
	if (round < ROUNDS * 10)
		setcontext(context);
	free(kept);
	free(context);
	return unused;
}

static void contexts(void)
{
	run_threads(THREADS, run_contexts, NULL);
	run_threads(THREADS, run_setcontext, NULL);
}

/* --- switched by hand ------------------------------------------------------------------- */

/* Saves the callee-saved registers, changes the stack, restores registers from it. */
void switch_stack(void **from, void *to);
__asm__(".text\n"
	".globl switch_stack\n"
	".type switch_stack, @function\n"
	"switch_stack:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size switch_stack, . - switch_stack\n");

struct coroutine {
	void *sp, *back; /* its stack pointer, and that of the thread that resumes it */
	void *kept;
	char *stack;
	unsigned number, round;
};

static __thread struct coroutine *current;

/* Not inlined: a coroutine may continue in another thread, which has its own variable. */
static __attribute__((noinline)) struct coroutine *the_current(void)
{
	struct coroutine *volatile *place = &current;

	__asm__ volatile("" : "+r"(place));
	return *place;
}

static void run_coroutine(void)
{
	for (;;) {
		struct coroutine *self = the_current();

		self->kept =
			allocate(self->number * ROUNDS + self->round, self->round % 20, self->kept);
		self->round++;
		switch_stack(&self->sp, self->back);
	}
}

static void prepare(struct coroutine *coroutine, unsigned number, char *stack, size_t bytes)
{
	void **sp = (void **)(void *)(stack + bytes) - 1;

	*coroutine = (struct coroutine){.stack = stack, .number = number};
	*sp = NULL; /* where run_coroutine() would return to */
	*--sp = (void *)run_coroutine;
	coroutine->sp = sp - 6;
	memset(coroutine->sp, 0, 6 * sizeof *sp);
}

static void resume(struct coroutine *coroutine)
{
	current = coroutine;
	switch_stack(&coroutine->back, coroutine->sp);
}

static struct coroutine coroutines[COROUTINES];
static pthread_mutex_t mutexes[COROUTINES];

/* Any of the threads may resume a coroutine. */
static void *run_shared(void *unused)
{
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < COROUTINES; i++) {
			pthread_mutex_lock(&mutexes[i]);
			resume(&coroutines[i]);
			pthread_mutex_unlock(&mutexes[i]);
		}
	return unused;
}

static void switched(void)
{
	for (unsigned i = 0; i < COROUTINES; i++) {
		pthread_mutex_init(&mutexes[i], NULL);
		prepare(&coroutines[i], i, new_stack(i), STACK_BYTES);
	}
	run_threads(THREADS, run_shared, NULL);
	/* The coroutines never return: their stacks are removed. */
	for (unsigned i = 0; i < COROUTINES; i++) {
		free(coroutines[i].kept);
		end_stack(i, coroutines[i].stack);
	}
}

/* Coroutines' stacks within the thread's own. */
static void *run_carved(void *unused)
{
	char stacks[8][STACK_BYTES] __attribute__((aligned(16)));
	struct coroutine carved[8];

	for (unsigned i = 0; i < 8; i++)
		prepare(&carved[i], i, stacks[i], STACK_BYTES);
	for (unsigned round = 0; round < ROUNDS * 8; round++)
		resume(&carved[round % 8]);
	for (unsigned i = 0; i < 8; i++)
		free(carved[i].kept);
	return unused;
}

static void carved(void)
{
	run_threads(THREADS, run_carved, NULL);
}

/* The same, with a guard page at the low end of each. */
static void *run_guarded(void *unused)
{
	char stacks[8][2 * STACK_BYTES] __attribute__((aligned(PAGE_BYTES)));
	struct coroutine carved[8];

	for (unsigned i = 0; i < 8; i++) {
		check(mprotect(stacks[i], PAGE_BYTES, PROT_NONE) == 0);
		prepare(&carved[i], i, stacks[i] + PAGE_BYTES, 2 * STACK_BYTES - PAGE_BYTES);
	}
	for (unsigned round = 0; round < ROUNDS * 8; round++)
		resume(&carved[round % 8]);
	for (unsigned i = 0; i < 8; i++) {
		free(carved[i].kept);
		check(mprotect(stacks[i], PAGE_BYTES, PROT_READ | PROT_WRITE) == 0);
	}
	return unused;
}

static void guarded(void)
{
	run_threads(THREADS, run_guarded, NULL);
	run_guarded(NULL);
}

/* A guard page comes into a stack that samples have read before, and goes again. */
static void *run_guarded_later(void *unused)
{
	char stack[8 * STACK_BYTES] __attribute__((aligned(PAGE_BYTES)));

	for (unsigned round = 0; round < ROUNDS; round++) {
		int access = round % 2 == 0 ? PROT_READ | PROT_WRITE : PROT_NONE;

		check(mprotect(stack + STACK_BYTES, PAGE_BYTES, access) == 0);
		for (unsigned i = 0; i < 200; i++)
			free(allocate(round, i % 20, NULL));
	}
	check(mprotect(stack + STACK_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE) == 0);
	return unused;
}

static void guarded_later(void)
{
	run_threads(THREADS, run_guarded_later, NULL);
	run_guarded_later(NULL);
}

/* A new stack each time, mostly at the address of an earlier one. */
static void *run_ended(void *unused)
{
	struct coroutine coroutine;

	for (unsigned i = 0; i < ROUNDS * 10; i++) {
		prepare(&coroutine, i, new_stack(i), STACK_BYTES);
		resume(&coroutine);
		resume(&coroutine);
		free(coroutine.kept);
		end_stack(i, coroutine.stack);
	}
	return unused;
}

static void ended(void)
{
	run_threads(THREADS, run_ended, NULL);
}

/* --- deep ---------------------------------------------------------------------------------- */

/* Recurses this deep.  Every 64 KiB: allocates on the way down, frees on the way back. */
static void deep(size_t bytes)
{
	char room[4096];
	void *block = NULL;

	memset(room, 1, sizeof room);
	__asm__ volatile("" : : "r"(room) : "memory");
	if (bytes % 65536 < sizeof room)
		block = allocate((unsigned)(bytes >> 16), 0, NULL);
	if (bytes > sizeof room)
		deep(bytes - sizeof room);
	free(block);
	check(room[4095] == 1);
}

static void *run_deep(void *bytes)
{
	deep((size_t)bytes);
	return bytes;
}

static void deep_in_threads(void)
{
	pthread_attr_t attributes;
	pthread_t threads[THREADS];

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 13 << 20);
	for (unsigned i = 0; i < THREADS; i++)
		start(&threads[i], &attributes, run_deep, (void *)(10ul << 20));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&attributes);
}

/* As deep as the limit permits, and deeper than the library's bound (MAIN_STACK_GAP). */
static void deep_in_main(void)
{
	struct rlimit limit;
	size_t most = 150 << 20;

	getrlimit(RLIMIT_STACK, &limit);
	if (limit.rlim_cur < most + (2 << 20))
		most = limit.rlim_cur > 2 << 20 ? limit.rlim_cur - (2 << 20) : 0;
	deep(most);
	printf("%zu MiB deep\n", most >> 20);
}

static const struct mode modes[] = {
	{"contexts", contexts},
	{"switched", switched},
	{"carved", carved},
	{"guarded", guarded},
	{"guarded-later", guarded_later},
	{"ended", ended},
	{"deep-threads", deep_in_threads},
	{"deep-main", deep_in_main},
};

int main(int argc, char **argv)
{
	return RUN_MODE(modes, argc, argv);
}
