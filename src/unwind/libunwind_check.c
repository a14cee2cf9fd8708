/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A known stack: three nested calls that note their return addresses.  Run by the
 * unwinding worker.
 */
#include "unwind/libunwind_check.h"

#include "base/arena.h"

/* Three small frames; builds with sanitizers have larger ones. */
#define STACK_BYTES 16384
#define CALLS 2

struct known_stack {
	struct hs_regs regs;
	uint64_t returns[CALLS]; /* innermost first */
	uintptr_t top;           /* above the frame that made the outermost of the calls */
	size_t bytes;
	uint8_t *copy;
};

/* A function that is a frame of its own, and a call that is not turned into a jump. */
#define FRAME __attribute__((noinline))
#define NO_TAIL_CALL() __asm__ volatile("" : : : "memory")

static FRAME void inner_frame(struct known_stack *stack)
{
	stack->returns[0] = (uintptr_t)__builtin_return_address(0);
	hs_arch_capture(&stack->regs);
	if (stack->regs.sp < stack->top && stack->top - stack->regs.sp <= STACK_BYTES) {
		stack->bytes = stack->top - stack->regs.sp;
		hs_arch_copy(stack->copy, (const void *)(uintptr_t)stack->regs.sp, stack->bytes);
	}
	NO_TAIL_CALL();
}

static FRAME void middle_frame(struct known_stack *stack)
{
	stack->returns[1] = (uintptr_t)__builtin_return_address(0);
	inner_frame(stack);
	NO_TAIL_CALL();
}

static FRAME void outer_frame(struct known_stack *stack)
{
	stack->top = (uintptr_t)__builtin_frame_address(0);
	middle_frame(stack);
	NO_TAIL_CALL();
}

static bool unwinds_to(struct hs_libunwind_engine *engine, const struct known_stack *stack)
{
	struct hs_stack_window window = {
		.start = stack->regs.sp,
		.bytes = stack->copy,
		.size = stack->bytes,
	};
	uint64_t pc = 0, sp = 0;

	if (stack->bytes == 0 || hs_libunwind_engine_begin(engine, &stack->regs, &window) < 0)
		return false;
	for (int i = 0; i < CALLS; i++) {
		if (hs_libunwind_engine_step(engine, &pc, &sp) != HS_STEP_FRAME ||
		    pc != stack->returns[i] || sp <= stack->regs.sp)
			return false;
	}
	return true;
}

bool hs_libunwind_check(struct hs_libunwind_engine *engine)
{
	struct known_stack stack = {.copy = hs_arena_alloc(STACK_BYTES)};
	bool good = false;

	if (stack.copy != NULL) {
		outer_frame(&stack);
		good = unwinds_to(engine, &stack);
	}
	hs_arena_free(stack.copy);
	return good;
}
