/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of code that signal handlers may interrupt anywhere: a handler that comes after a given
 * instruction of a call, by means of the processor's trap flag; but not within memcpy() and the
 * like.  Not with sanitizers, whose own code would be interrupted too.
 */
#ifndef HS_TESTS_SINGLE_STEP_H
#define HS_TESTS_SINGLE_STEP_H

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MAY_STEP 1

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#define TRAP_FLAG 0x100
#define TRAP_FLAG_TEXT "0x100"

extern const char __executable_start[], etext[]; /* the linker's: this program's code */

static long steps, handler_at; /* steps of the call so far, and when the handler does its work */
static void (*handler_work)(void);
static sigjmp_buf jump;

static void stepped(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	uintptr_t pc;

	(void)number;
	(void)info;
	pc = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];
	if (pc >= (uintptr_t)__executable_start && pc < (uintptr_t)etext && ++steps == handler_at) {
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
		handler_work();
	}
}

/* The work of a handler that leaves the call. */
static inline void leave(void)
{
	siglongjmp(jump, 1);
}

/* Calls, with work in a handler at a step.  False if the call was over before. */
static inline bool call_interrupted(void (*call)(void), long step, void (*work)(void))
{
	struct sigaction action = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO};

	sigaction(SIGTRAP, &action, NULL);
	steps = 0;
	handler_at = step;
	handler_work = work;
	if (sigsetjmp(jump, 1) == 0) {
		__asm__ volatile("pushfq; orq $" TRAP_FLAG_TEXT ", (%%rsp); popfq" ::
					 : "memory", "cc");
		call();
		__asm__ volatile("pushfq; andq $~" TRAP_FLAG_TEXT ", (%%rsp); popfq" ::
					 : "memory", "cc");
	}
	return steps >= step;
}

#else
#define MAY_STEP 0
#endif

#endif
