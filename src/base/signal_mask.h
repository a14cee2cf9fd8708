/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calling thread's signal mask, as the kernel has it: signal n is bit n - 1.
 *
 * Not by pthread_sigmask(), of which other libraries have their own; one may allocate.
 *
 * Called on: any thread.  Allocates: never.
 */
#ifndef HS_BASE_SIGNAL_MASK_H
#define HS_BASE_SIGNAL_MASK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_SIGNAL(number) (UINT64_C(1) << ((number) - 1))

/*
 * All but the two that libc sends to threads: for cancellation, and for setuid(), which waits until
 * all have handled it; and but the one of a seccomp filter, which ends the process where it is
 * blocked, while the program's handler may answer the call.
 */
#define HS_SIGNALS_ALL (~(HS_SIGNAL(32) | HS_SIGNAL(33) | HS_SIGNAL(SIGSYS)))

/* Without those that an instruction raises, which end the process if they are blocked. */
#define HS_SIGNALS_ASYNCHRONOUS                                                                    \
	(HS_SIGNALS_ALL & ~(HS_SIGNAL(SIGSEGV) | HS_SIGNAL(SIGBUS) | HS_SIGNAL(SIGFPE) |           \
			    HS_SIGNAL(SIGILL) | HS_SIGNAL(SIGTRAP)))

/* Blocks them too.  *before: the mask until then.  False: the kernel refused. */
bool hs_signal_mask_block(uint64_t signals, uint64_t *before);

/* Sets the mask; after a hs_signal_mask_block() that was not refused: so this is not, either. */
void hs_signal_mask_set(uint64_t mask);

#endif
