/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plans what a sample is to have of the calling thread's stack, and copies that into a ring
 * record: from the call site's stack pointer up to the known end of the stack, at most a limit.
 * Never unwinds; where the plan is a walk in place, that is sample/walk.h's.
 *
 * Both ends of a stack must be known, or the copy goes through the kernel, which
 * cannot fault: coroutine stacks, alternate signal stacks, threads made by a raw
 * clone().
 *
 * Called on: the program's threads, inside the slow path.  Allocates: never.
 * Blocks: never; makes one system call where the stack is not known, or what is copied has not
 * been read before, and none else.
 */
#ifndef HS_SAMPLE_CAPTURE_H
#define HS_SAMPLE_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hot.h"
#include "base/visibility.h"
#include "sample/record.h"
#include "sample/stack_window.h"
#include "sample/thread_state.h"

/* What is copied from a stack of unknown bounds, at most. */
#define HS_CAPTURE_UNKNOWN_BYTES 8192

/*
 * Plan what is to be recorded of the stack of a thread's sample, up to limit bytes, and how:
 * thread->sample.stack, and is_dense.  Heap, interval and is_weighed are set.
 */
HS_SAMPLE_CODE void hs_capture_plan(struct hs_thread_state *thread, uintptr_t sp, size_t limit);

/*
 * Copy: fill record's stack, stack_bytes and HS_RECORD_STACK_CUT.  Its tid is there.  room: the
 * planned bytes, as they were when the record was reserved: a handler that switches stacks may have
 * had another sample planned since.
 */
HS_SAMPLE_CODE void hs_capture_copy(struct hs_thread_state *thread, uintptr_t sp, size_t room,
				    struct hs_record *record);

/*
 * Around an mprotect() that takes access away, perhaps of pages of a stack: what samples have read
 * of stacks before they do not take for readable any more.  Any thread, signal handlers too.
 */
void hs_capture_protect_begins(void);
void hs_capture_protect_ends(void);
/* In a forked child: those that other threads of the parent were in do not end there. */
void hs_capture_after_fork(void);

/*
 * Learn the main thread's stack.  end: __libc_stack_end.  Start-up, on the main thread.
 */
void hs_capture_init_main(struct hs_thread_state *thread, uintptr_t end);

/*
 * Learn the stack of a thread that starts: size and guard as its attributes say.  caller: in libc,
 * of the function that the thread begins with; its stack pointer and pc.  On that thread, at its
 * start.
 */
void hs_capture_init_thread(struct hs_thread_state *thread, size_t stack_bytes, size_t guard_bytes,
			    uintptr_t caller_sp, uintptr_t caller_pc);

/*
 * Where the stacks of threads end.  libc has some hundred bytes of each above what the thread
 * begins with, and behind them there is static TLS, of which a program may have kilobytes: not to
 * be copied with each sample.  How far the end is from that caller the worker finds out, for all
 * threads, with the first stack that it has unwound to its end.
 */
struct hs_stack_end {
	_Atomic uint64_t caller_pc; /* Written by: the first thread that starts; 0: none has */
	uint64_t last_word;         /* of each such stack, a return address; before the next: */
	_Atomic uint32_t bytes;     /* from caller_sp to the end; 0: not known yet; release */
};
extern HS_HIDDEN struct hs_stack_end hs_stack_end;

/* The caller of which the worker is to look how far the end is; 0: none.  The worker. */
static inline uint64_t hs_stack_end_wanted(void)
{
	return atomic_load_explicit(&hs_stack_end.bytes, memory_order_relaxed) != 0
		       ? 0
		       : atomic_load_explicit(&hs_stack_end.caller_pc, memory_order_relaxed);
}

/* It has found a stack whose end that is.  The worker. */
void hs_stack_end_found(const struct hs_stack_window *stack, uint64_t caller_sp, uint64_t end);

/*
 * Have the end of the thread's stack, which is but a bound (caller_sp is set), be the true one, if
 * that is known by now.  On that thread, inside the slow path, before it is looked how much stack
 * there is.
 */
void hs_capture_find_end(struct hs_thread_state *thread);

#endif
