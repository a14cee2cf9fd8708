/* SPDX-License-Identifier: BSD-2-Clause */
/* Coroutines that can be restarted at any point. */
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

/* Creates one with a stack of its own, which is never freed. */
void coroutine_create(struct coroutine *coroutine, void (*run)(void));

/* Abandons what it is doing: the next resume calls run() again. */
void coroutine_restart(struct coroutine *coroutine);

/* Runs it until it suspends itself or ends. */
void coroutine_resume(struct coroutine *coroutine);

/* Called by a coroutine about itself: returns to the caller of its coroutine_resume(). */
void coroutine_suspend(struct coroutine *coroutine);

#endif
