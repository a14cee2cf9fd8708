/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates on stacks of all kinds: coroutines of makecontext(), coroutines that an assembly
 * function switches, stacks carved out of a stack, stacks that go away, deep ones.
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

/* Allocate, some calls deep, keep one block, free the one of the last time. */
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

/* Even ones are malloc's, odd ones mapped, with pages without access on both sides. */
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
	/* The last time they end by themselves. */
	for (unsigned round = 0; round <= ROUNDS; round++)
		for (set->running = 0; set->running < COROUTINES; set->running++)
			swapcontext(&set->main, &set->coroutines[set->running]);
	for (unsigned i = 0; i < COROUTINES; i++)
		end_stack(i, set->stacks[i]);
	free(set);
	return unused;
}

/* To a context again and again, from ever deeper calls. */
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

/* Save what a call must keep, change the stack, restore. */
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
	void *sp, *back; /* its own stack pointer, and that of whoever runs it */
	void *kept;
	char *stack;
	unsigned number, round;
};

static __thread struct coroutine *current;

/* Not inlined, for a coroutine goes on in another thread, where this is another variable. */
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

/* Each coroutine runs now here, now there. */
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
	/* They never end: their stacks are taken away. */
	for (unsigned i = 0; i < COROUTINES; i++) {
		free(coroutines[i].kept);
		end_stack(i, coroutines[i].stack);
	}
}

/* Stacks inside the thread's own. */
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

/* The same with a page without access at the low end of each. */
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

/*
 * The page comes in a stack that has been read by samples before, and goes again.  A large one, so
 * that it is copied and not walked.
 */
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

/* A new stack each time, at the address of the one before, as a rule. */
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

/* Down by so many bytes, allocating every 64 KiB on the way there and back. */
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

/* As far as the limit lets it, and past what the library takes for the stack at most. */
static void deep_in_main(void)
{
	struct rlimit limit;
	size_t most = 150 << 20;

	getrlimit(RLIMIT_STACK, &limit);
	if (limit.rlim_cur < most + (2 << 20))
		most = limit.rlim_cur - (2 << 20);
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
