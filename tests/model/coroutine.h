/* SPDX-License-Identifier: BSD-2-Clause */
/* Coroutines that can be started again from wherever they are. */
#ifndef HS_TESTS_MODEL_COROUTINE_H
#define HS_TESTS_MODEL_COROUTINE_H

#include <setjmp.h>
#include <ucontext.h>

struct coroutine {
	void (*run)(void);
	jmp_buf start; /* before its next call of run */
	jmp_buf here;
	jmp_buf caller;
	ucontext_t context;
};

/* Makes one with a stack of its own, which stays. */
void coroutine_create(struct coroutine *coroutine, void (*run)(void));

/* What it is in the middle of is forgotten: the next resume calls run. */
void coroutine_restart(struct coroutine *coroutine);

/* Run it until its next suspension, or its end. */
void coroutine_resume(struct coroutine *coroutine);

/* The coroutine that runs: back to who resumed it. */
void coroutine_suspend(struct coroutine *coroutine);

#endif
