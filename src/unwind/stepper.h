/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Goes from a frame to its caller: by the row of its pc, else, where that says nothing or leads
 * out of the stack, by libunwind, from the registers that rows have led to.
 *
 * Threads: the unwinding worker.  Blocks: as libunwind_engine.h.
 */
#ifndef HS_UNWIND_STEPPER_H
#define HS_UNWIND_STEPPER_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"
#include "sample/stack_window.h"
#include "sample/unwind_row.h"
#include "unwind/libunwind_engine.h"

/* All zero but for the engine, the window and the registers of the first frame. */
struct hs_stepper {
	struct hs_libunwind_engine *engine;
	struct hs_stack_window window;
	struct hs_regs regs; /* of the current frame; those not known any more are 0 */
	bool engine_is_here; /* the engine too is at the current frame */
	uint32_t by_row;     /* steps */
	uint32_t by_engine;
};

/*
 * By the row of the current pc, or of its call if it is a return address; HS_STEP_NO_ROW: it does
 * not lead out of the frame.
 */
enum hs_step hs_stepper_step(struct hs_stepper *stepper, const struct hs_unwind_row *row);

/* By libunwind.  is_call: the current pc is a return address. */
enum hs_step hs_stepper_step_by_engine(struct hs_stepper *stepper, bool is_call);

/* The current frame is another one, which was found without unwind information. */
void hs_stepper_move(struct hs_stepper *stepper, const struct hs_regs *regs);

#endif
