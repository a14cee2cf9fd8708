/* SPDX-License-Identifier: BSD-2-Clause */
/* One step up a stack.  Run by the unwinding worker. */
#include "unwind/stepper.h"

enum hs_step hs_stepper_step_by_engine(struct hs_stepper *stepper, bool is_call)
{
	struct hs_regs looked_up = stepper->regs;
	enum hs_step step;
	uint64_t pc, sp;

	looked_up.pc -= is_call;
	if (!stepper->engine_is_here &&
	    hs_libunwind_engine_begin(stepper->engine, &looked_up, &stepper->window) < 0)
		return HS_STEP_BAD;
	stepper->engine_is_here = true;
	stepper->by_engine++;
	step = hs_libunwind_engine_step(stepper->engine, &pc, &sp);
	if (step == HS_STEP_FRAME)
		hs_libunwind_engine_get_regs(stepper->engine, &stepper->regs);
	return step;
}

/* Whether a row is by a frame pointer to another stack, which the program has switched from. */
static bool is_of_another_stack(const struct hs_stack_window *window,
				const struct hs_unwind_row *row, uint64_t base)
{
	/* 0: not known any more. */
	return window->cut && row->cfa_register == HS_ARCH_FP && base != 0 &&
	       base % HS_ROW_WORD == 0 && base - window->start >= window->size;
}

/* Whether a row that could not be applied wants a word of the part that was not copied. */
static bool is_cut_off(struct hs_stepper *stepper, const struct hs_unwind_row *row)
{
	const struct hs_stack_window *window = &stepper->window;
	uint64_t base = *hs_arch_register(&stepper->regs, row->cfa_register);
	uint64_t cfa = base + (uint64_t)(int64_t)row->cfa_offset, back;

	if (is_of_another_stack(window, row, base))
		return true;
	if (row->kind == HS_ROW_REALIGNED && !hs_stack_window_read(window, cfa, &cfa))
		return hs_stack_window_is_cut_off(window, cfa);
	back = cfa - HS_ARCH_RETURN_WORD * HS_ROW_WORD;
	return !hs_stack_window_read(window, back, &cfa) &&
	       hs_stack_window_is_cut_off(window, back);
}

/* To the code that a signal has interrupted, wherever its stack is. */
static enum hs_step step_out_of_signal(struct hs_stepper *stepper)
{
	static const uint16_t offsets[HS_ARCH_REGS] = HS_ARCH_INTERRUPTED_REGS;
	const struct hs_stack_window *window = &stepper->window;
	struct hs_regs regs;

	for (unsigned i = 0; i < HS_ARCH_REGS; i++) {
		uint64_t at = stepper->regs.sp + offsets[i];

		if (!hs_stack_window_read(window, at, hs_arch_register(&regs, i)))
			return hs_stack_window_is_cut_off(window, at) ? HS_STEP_CUT : HS_STEP_BAD;
	}
	hs_stepper_move(stepper, &regs);
	stepper->by_row++;
	return HS_STEP_FRAME;
}

enum hs_step hs_stepper_step(struct hs_stepper *stepper, const struct hs_unwind_row *row)
{
	if (row->kind == HS_ROW_SIGNAL)
		return step_out_of_signal(stepper);
	if (row->kind == HS_ROW_NO_INFO)
		return HS_STEP_NO_INFO;
	if (row->kind == HS_ROW_NONE)
		return HS_STEP_NO_ROW;
	if (row->kind != HS_ROW_END && !hs_row_apply(row, &stepper->window, &stepper->regs))
		return is_cut_off(stepper, row) ? HS_STEP_CUT : HS_STEP_NO_ROW;
	stepper->engine_is_here = false;
	stepper->by_row++;
	/* As in libunwind: a return address of 0 ends the stack. */
	return row->kind == HS_ROW_END || stepper->regs.pc == 0 ? HS_STEP_END : HS_STEP_FRAME;
}

void hs_stepper_move(struct hs_stepper *stepper, const struct hs_regs *regs)
{
	stepper->regs = *regs;
	stepper->engine_is_here = false;
}
