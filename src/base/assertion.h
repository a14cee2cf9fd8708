/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Failing assertions in the libraries that are linked into this one: they must not
 * abort the program.  __assert_fail() is defined here, hidden, so that their archives
 * call ours.
 */
#ifndef HS_BASE_ASSERTION_H
#define HS_BASE_ASSERTION_H

/*
 * Calls function(context), which calls such a library.  Returns what it returns, or
 * -ENOTRECOVERABLE, which no file gives, if an assertion failed in it: a line is logged, and what
 * the library held is lost (it may not be called again with the objects it had at hand).  May be
 * nested.
 *
 * Where one fails without a call of this around it, the thread is parked for good.
 *
 * Called on: profiler threads.  Blocks: as function does.
 */
int hs_assertion_catch(int (*function)(void *context), void *context);

#endif
