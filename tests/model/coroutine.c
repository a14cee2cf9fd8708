/* SPDX-License-Identifier: BSD-2-Clause */
/* See coroutine.h. */
#undef _FORTIFY_SOURCE /* its longjmp() refuses to jump to another stack */
#include "coroutine.h"

#include <string.h>
#include <sys/mman.h>

#include "machine.h"

#define STACK_BYTES ((size_t)256 << 10)

/* The one that is being created, for body(). */
static struct coroutine *created;

static void body(void)
{
	struct coroutine *self = created;

	for (;;) {
		if (_setjmp(self->start) == 0)
			_longjmp(self->caller, 1);
		self->run();
		/* It has ended: coroutine_restart() must come before the next resume. */
		_longjmp(self->caller, 1);
	}
}

void coroutine_create(struct coroutine *coroutine, void (*run)(void))
{
	static ucontext_t unused;
	void *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		machine_give_up("no memory for stacks");
	coroutine->run = run;
	getcontext(&coroutine->context);
	coroutine->context.uc_stack.ss_sp = stack;
	coroutine->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&coroutine->context, body, 0);
	created = coroutine;
	if (_setjmp(coroutine->caller) == 0)
		swapcontext(&unused, &coroutine->context);
	coroutine_restart(coroutine);
}

void coroutine_restart(struct coroutine *coroutine)
{
	memcpy(coroutine->here, coroutine->start, sizeof coroutine->here);
}

void coroutine_resume(struct coroutine *coroutine)
{
	if (_setjmp(coroutine->caller) == 0)
		_longjmp(coroutine->here, 1);
}

void coroutine_suspend(struct coroutine *coroutine)
{
	if (_setjmp(coroutine->here) == 0)
		_longjmp(coroutine->caller, 1);
}
