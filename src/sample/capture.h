/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies the calling thread's stack into a ring record: from the call site's stack
 * pointer up to the known end of the stack, at most a limit.  Never unwinds.
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/record.h"
#include "sample/thread_state.h"

/* What is copied from a stack of unknown bounds, at most. */
#define HS_CAPTURE_UNKNOWN_BYTES 8192

/* The plan for a copy: how much room it needs at most. */
struct hs_capture {
	uintptr_t sp;
	size_t bytes;
	bool known; /* both ends are known */
	bool cut;   /* the stack goes on past bytes */
};

void hs_capture_plan(struct hs_capture *capture, const struct hs_thread_state *thread, uintptr_t sp,
		     size_t limit);

/* Carry it out: fill record's stack, stack_bytes and HS_RECORD_STACK_CUT.  Its tid is there. */
void hs_capture_copy(const struct hs_capture *capture, struct hs_thread_state *thread,
		     struct hs_record *record);

/*
 * Learn the main thread's stack.  end: __libc_stack_end.  Start-up, on the main thread.
 */
void hs_capture_init_main(struct hs_thread_state *thread, uintptr_t end);

/*
 * Learn the stack of a thread that starts: size and guard as its attributes say.  On
 * that thread, at its start.
 */
void hs_capture_init_thread(struct hs_thread_state *thread, size_t stack_bytes, size_t guard_bytes);

#endif
