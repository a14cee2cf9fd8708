/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides how the stack of a sample is recorded: copied here, or walked in place by sample/walk.h.
 * A copy begins at the call site's stack pointer and ends at the end of the stack, or at a limit.
 *
 * A stack whose bounds are not known (of a coroutine, a signal handler, a thread made by a raw
 * clone()) is copied by the kernel, which cannot fault.
 *
 * Called on: the program's threads, inside the slow path.  Allocates: never.
 * Blocks: never.  System calls: one, if the bounds are not known; one for each page that is looked
 * at, up to the first that cannot be read: those of a copy that were never read before.
 */
#ifndef HS_SAMPLE_CAPTURE_H
#define HS_SAMPLE_CAPTURE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hot.h"
#include "base/visibility.h"
#include "sample/record.h"
#include "sample/stack_window.h"
#include "sample/thread_state.h"

/* The most that is copied of a stack of unknown bounds. */
#define HS_CAPTURE_UNKNOWN_BYTES 8192

/*
 * Fills in thread->sample.stack (how much of the stack is recorded, limit bytes at most, and how)
 * and thread->sample.is_dense.  The sample's heap, interval and is_weighed are set before.
 */
HS_SAMPLE_CODE void hs_capture_plan(struct hs_thread_state *thread, uintptr_t sp, size_t limit);

/*
 * Copies the stack: fills in record's stack, stack_bytes and HS_RECORD_STACK_CUT; its tid is set
 * before.  room: the planned bytes when the record was reserved.  The plan itself may have been
 * overwritten since, by a sample in a signal handler on another stack.
 */
HS_SAMPLE_CODE void hs_capture_copy(struct hs_thread_state *thread, uintptr_t sp, size_t room,
				    struct hs_record *record);

/* Copies bytes of the thread's known stack.  Returns how many could be read. */
size_t hs_capture_copy_known(struct hs_thread_state *thread, uintptr_t sp, size_t bytes, void *to);

/*
 * Finds out how much of bytes of the known stack can be read, notes it, and returns it.  System
 * calls: one for each page.
 */
size_t hs_capture_look(struct hs_thread_state *thread, uintptr_t sp, size_t bytes);

/*
 * Finds out how much of the HS_READ_ON_BYTES beyond what samples have read of the thread's own
 * stack can be read too, so that walks can go on there.  System calls: one for each page.
 */
void hs_capture_read_on(struct hs_thread_state *thread);
#define HS_READ_ON_BYTES ((size_t)1 << 20)

/*
 * Called around an mprotect() that makes memory unreadable, perhaps part of a stack: what samples
 * have read of stacks before is not taken for readable any more.  Any thread, signal handlers too.
 */
void hs_capture_protect_begins(void);
void hs_capture_protect_ends(void);

/* In a forked child: such calls that other threads of the parent were in never end here. */
void hs_capture_after_fork(void);

/* Notes the bounds of the main thread's stack, on it.  end: __libc_stack_end.  Start-up. */
void hs_capture_init_main(struct hs_thread_state *thread, uintptr_t end);

/*
 * Notes the bounds of the stack of a thread that starts.  stack_bytes: its attribute.  caller_sp,
 * caller_pc: of libc's frame that has called the thread's first function.  On that thread.
 */
void hs_capture_init_thread(struct hs_thread_state *thread, size_t stack_bytes,
			    uintptr_t caller_sp, uintptr_t caller_pc);

/*
 * Where the stacks of threads end.  Above a thread's first function libc has some hundred bytes of
 * stack, and above those is static TLS, perhaps kilobytes, which is not to be copied with each
 * sample.  The distance from caller_sp to the end is the same for all threads; the worker learns it
 * from the first stack that it unwinds to its end.
 */
struct hs_stack_end {
	_Atomic uint64_t caller_pc; /* of the first thread that has started, which sets it; or 0 */
	uint64_t last_word;         /* the topmost word of such stacks, a return address */
	_Atomic uint32_t bytes;     /* from caller_sp to the end; 0: not known; set last */
};
extern HS_HIDDEN struct hs_stack_end hs_stack_end;

/* The caller_pc in whose stacks the worker is to look for the end; 0: none.  The worker. */
static inline uint64_t hs_stack_end_wanted(void)
{
	return atomic_load_explicit(&hs_stack_end.bytes, memory_order_relaxed) != 0
		       ? 0
		       : atomic_load_explicit(&hs_stack_end.caller_pc, memory_order_relaxed);
}

/* The worker has found the end of such a stack. */
void hs_stack_end_found(const struct hs_stack_window *stack, uint64_t caller_sp, uint64_t end);

/*
 * While thread->caller_sp is set, thread->stack_high is only an upper bound: replaces it by the end
 * of the stack if that is known by now.  On that thread, inside the slow path, before the plan.
 */
void hs_capture_find_end(struct hs_thread_state *thread);

#endif
