/* SPDX-License-Identifier: BSD-2-Clause */
/* Call frame instructions that are rare in real code: their meaning, or that they are refused. */
#include "unwind/cfi_program.h"

#include "check.h"
#include "unwind/cfi_row.h"

#define START 0x1000u
#define BYTES 0x100u

/* Places in struct hs_unwind_row.saved. */
enum { BP, BX, R12, R13, R14, R15 };

static const uint8_t common[] = {0x0c, 7, 8, 0x90, 1}; /* rsp + 8, return address at -8 */

static struct hs_unwind_row row;
static uint64_t row_end;

/* Of the CIE. */
static uint64_t code_align = 1;

/* Sets both for START + distance; false: no rules. */
static bool run(const uint8_t *program, size_t bytes, uint64_t distance)
{
	struct hs_eh_cie cie = {.code_align = code_align,
				.data_align = -8,
				.return_register = 16,
				.is_known = true,
				.program = {common, sizeof common}};
	struct hs_eh_fde fde = {.start = START, .bytes = BYTES, .program = {program, bytes}};
	struct hs_cfi_rules rules;

	memset(&row, 0xff, sizeof row);
	row_end = 0;
	if (!hs_cfi_run(&cie, &fde, START + distance, &rules, &row_end))
		return false;
	hs_cfi_row_make(&row, &rules, START + distance);
	return true;
}

#define RUN_PROGRAM(distance, ...)                                                                 \
	run((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), distance)

static void check_row(enum hs_row_kind kind, unsigned cfa_register, int cfa_offset)
{
	CHECK_INT(row.kind, kind);
	CHECK_INT(row.cfa_register, cfa_register);
	CHECK_INT(row.cfa_offset, cfa_offset);
}

static void test_advances(void)
{
	for (unsigned at = 0; at < BYTES; at++) {
		CHECK(RUN_PROGRAM(at, 0x45, 0x0e, 16, 0x02, 10, 0x0e, 24, 0x03, 20, 0, 0x0e, 32,
				  0x04, 40, 0, 0, 0, 0x0e, 48));
		check_row(HS_ROW_REGISTER, HS_ARCH_SP,
			  at < 5    ? 8
			  : at < 15 ? 16
			  : at < 35 ? 24
			  : at < 75 ? 32
				    : 48);
		CHECK_INT(row_end - START, at < 5    ? 5
					   : at < 15 ? 15
					   : at < 35 ? 35
					   : at < 75 ? 75
						     : BYTES);
	}
}

static void test_advances_in_units(void)
{
	code_align = 4;
	for (unsigned at = 0; at < 24; at++) {
		CHECK(RUN_PROGRAM(at, 0x43, 0x0e, 16, 0x02, 2, 0x0e, 24));
		check_row(HS_ROW_REGISTER, HS_ARCH_SP, at < 12 ? 8 : at < 20 ? 16 : 24);
	}
	code_align = 1;
}

static void test_saved_registers(void)
{
	/* rbx by offset, rbp extended, r12 signed, r13 GNU negative; r14 saved and kept again. */
	CHECK(RUN_PROGRAM(0, 0x83, 2, 0x05, 6, 3, 0x11, 12, 4, 0x2f, 13, 0x7b, 0x8e, 6, 0x08, 14));
	CHECK_INT(row.kind, HS_ROW_NONE); /* 0x7b is 123, at CFA + 984 */
	CHECK(RUN_PROGRAM(0, 0x83, 2, 0x05, 6, 3, 0x11, 12, 4, 0x8e, 6, 0x08, 14, 0x8f, 0xff, 1));
	check_row(HS_ROW_REGISTER, HS_ARCH_SP, 8);
	CHECK_INT(row.saved[BX], 2);
	CHECK_INT(row.saved[BP], 3);
	CHECK_INT(row.saved[R12], 4);
	CHECK_INT(row.saved[R13], 0);
	CHECK_INT(row.saved[R14], 0);
	CHECK_INT(row.saved[R15], 255);
	CHECK_INT(row.deepest, 255);
	CHECK(RUN_PROGRAM(0, 0x83, 9, 0x8f, 2));
	CHECK_INT(row.deepest, 9);
	CHECK(RUN_PROGRAM(0, 0x83, 0x80, 2));
	CHECK_INT(row.kind, HS_ROW_NONE); /* a word too far */
	CHECK(RUN_PROGRAM(0, 0x83, 0));
	CHECK_INT(row.kind, HS_ROW_NONE);        /* above the frame */
	CHECK(RUN_PROGRAM(0, 0x80, 2, 0x8b, 3)); /* rax, r11: no callee saves them */
	check_row(HS_ROW_REGISTER, HS_ARCH_SP, 8);
}

static void test_registers_that_are_not_captured(void)
{
	/* xmm6 and xmm15, as functions with the ABI of Windows save them, in each form. */
	CHECK(RUN_PROGRAM(0, 0x0e, 48, 0xa0, 3, 0x05, 23, 4, 0x11, 32, 4, 0x83, 2));
	check_row(HS_ROW_REGISTER, HS_ARCH_SP, 48);
	CHECK_INT(row.saved[BX], 2);
	CHECK_INT(row.deepest, 2);
	CHECK(RUN_PROGRAM(0, 0x2f, 23, 1, 0x06, 23, 0xd7, 0x07, 32, 0x08, 32, 0x09, 23, 32));
	check_row(HS_ROW_REGISTER, HS_ARCH_SP, 8);
	CHECK(RUN_PROGRAM(0, 0x14, 23, 1, 0x15, 23, 1, 0x10, 23, 2, 0x76, 0, 0x16, 23, 2, 0x76, 0));
	check_row(HS_ROW_REGISTER, HS_ARCH_SP, 8);
	CHECK(RUN_PROGRAM(0, 0x05, 0xff, 0xff, 0xff, 0xff, 0x0f, 2));
	check_row(HS_ROW_REGISTER, HS_ARCH_SP, 8);
	CHECK(RUN_PROGRAM(0, 0x0d, 23)); /* nothing is relative to one */
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x0d, 0x80, 0x80, 0x80, 0x80, 0x70)); /* 7 * 2^32 */
	CHECK_INT(row.kind, HS_ROW_NONE);
}

static void test_states(void)
{
	/* Saved, remembered, restored to the CIE's rule; then what was remembered is restored. */
	CHECK(RUN_PROGRAM(1, 0x83, 2, 0x0e, 32, 0x0a, 0x41, 0xc3, 0x0e, 8, 0x41, 0x0b));
	check_row(HS_ROW_REGISTER, HS_ARCH_SP, 8);
	CHECK_INT(row.saved[BX], 0);
	CHECK(RUN_PROGRAM(2, 0x83, 2, 0x0e, 32, 0x0a, 0x41, 0x06, 3, 0x0e, 8, 0x41, 0x0b));
	check_row(HS_ROW_REGISTER, HS_ARCH_SP, 32);
	CHECK_INT(row.saved[BX], 2);
	CHECK(!RUN_PROGRAM(0, 0x0b));
	CHECK(!RUN_PROGRAM(0, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a));
}

static void test_canonical_frame_address(void)
{
	CHECK(RUN_PROGRAM(0, 0x0e, 16, 0x0d, 6));
	check_row(HS_ROW_REGISTER, 2, 16);
	CHECK(RUN_PROGRAM(0, 0x12, 3, 0x7e)); /* rbx + -2 * -8 */
	check_row(HS_ROW_REGISTER, 3, 16);
	CHECK(RUN_PROGRAM(0, 0x13, 0x7c, 0x2e, 99, 0));
	check_row(HS_ROW_REGISTER, HS_ARCH_SP, 32);
	CHECK(RUN_PROGRAM(0, 0x0c, 10, 0)); /* r10 is not captured */
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x0c, 16, 8)); /* nor is the program counter a base */
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f));
	CHECK_INT(row.kind, HS_ROW_NONE); /* 2^32 - 1 */
	CHECK(!RUN_PROGRAM(0, 0x0f, 2, 0x77, 8, 0x0e, 16));
	CHECK(RUN_PROGRAM(0, 0x0f, 2, 0x77, 8, 0x0c, 6, 16));
	check_row(HS_ROW_REGISTER, 2, 16);
	CHECK(RUN_PROGRAM(0, 0x0f, 2, 0x77, 8, 0x12, 6, 0x7e));
	check_row(HS_ROW_REGISTER, 2, 16);
	CHECK(RUN_PROGRAM(0, 0x0f, 2, 0x77, 8)); /* the register itself */
	CHECK_INT(row.kind, HS_ROW_NONE);
}

static void test_procedure_linkage_table(void)
{
	for (unsigned at = 0; at < 48; at++) {
		CHECK(RUN_PROGRAM(at, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
				  0x24, 0x22));
		check_row(HS_ROW_REGISTER, HS_ARCH_SP, at % 16 >= 11 ? 16 : 8);
	}
	CHECK(RUN_PROGRAM(0, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x34, 0x24, 0x22));
	CHECK_INT(row.kind, HS_ROW_NONE);
}

static void test_realigned_stack(void)
{
	CHECK(RUN_PROGRAM(0, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2, 0x76, 0x68, 0x0f, 3, 0x76, 0x78,
			  0x06));
	check_row(HS_ROW_REALIGNED, 2, -8);
	CHECK_INT(row.saved[BP], 1);
	CHECK_INT(row.saved[BX], 4);
	/* By another register than the frame's; with an offset from the frame's address. */
	CHECK(RUN_PROGRAM(0, 0x10, 6, 2, 0x73, 0, 0x0f, 3, 0x76, 0x78, 0x06));
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x86, 2, 0x0f, 3, 0x76, 0x78, 0x06));
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x10, 6, 1, 0x76, 0x0f, 3, 0x76, 0x78, 0x06)); /* cut */
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x10, 3, 2, 0x76, 0x6c, 0x0f, 3, 0x76, 0x78, 0x06)); /* no word */
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x0f, 5, 0x76, 0x78, 0x06, 0x23, 8)); /* plus 8 */
	CHECK_INT(row.kind, HS_ROW_NONE);
}

static void test_other_places(void)
{
	CHECK(RUN_PROGRAM(0, 0x07, 16)); /* no return address */
	CHECK_INT(row.kind, HS_ROW_END);
	CHECK(RUN_PROGRAM(0, 0x90, 2)); /* it is elsewhere */
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x87, 2)); /* the stack pointer is saved */
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x07, 6)); /* rbp is not known */
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x09, 6, 12)); /* it is in a register */
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x14, 6, 2)); /* it is an address */
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x15, 6, 2));
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x16, 6, 2, 0x76, 0));
	CHECK_INT(row.kind, HS_ROW_NONE);
	CHECK(RUN_PROGRAM(0, 0x10, 6, 2, 0x77, 0)); /* an expression in a frame without */
	CHECK_INT(row.kind, HS_ROW_NONE);
}

static void test_what_makes_no_sense(void)
{
	CHECK(!RUN_PROGRAM(0, 0x1f));             /* no such instruction */
	CHECK(!RUN_PROGRAM(0, 0x01, 0, 0, 0, 0)); /* DW_CFA_set_loc */
	CHECK(!RUN_PROGRAM(0, 0x0e));             /* cut */
	CHECK(!RUN_PROGRAM(0, 0x03, 1));
	CHECK(!RUN_PROGRAM(0, 0x0f, 3, 0x77, 8));
	/* An unknown instruction after the pc does not matter. */
	CHECK(RUN_PROGRAM(0, 0x41, 0x1f));
}

static void test_application(void)
{
	const struct hs_unwind_row saved = {.kind = HS_ROW_REGISTER,
				     .cfa_register = HS_ARCH_SP,
				     .cfa_offset = 32,
				     .deepest = 3,
				     .saved = {0, 2, 0, 0, 0, 3}};
	const struct hs_unwind_row realigned = {.kind = HS_ROW_REALIGNED,
					 .cfa_register = 2,
					 .cfa_offset = -8,
					 .deepest = 3,
					 .saved = {1, 3}};
	uint64_t words[] = {100, 101, 102, 103, 0x8040, 105, 106, 107};
	struct hs_stack_window window = {
		.start = 0x8000, .bytes = (const uint8_t *)words, .size = sizeof words};
	struct hs_regs regs = {.pc = 1, .sp = 0x8000, .bp = 2, .bx = 3, .r12 = 4, .r15 = 5};

	CHECK(hs_row_apply(&saved, &window, &regs));
	CHECK(regs.pc == 103 && regs.sp == 0x8020 && regs.bp == 2 && regs.bx == 102);
	CHECK(regs.r12 == 4 && regs.r15 == 101);
	regs.bp = 0x8028;
	CHECK(hs_row_apply(&realigned, &window, &regs));
	CHECK(regs.pc == 107 && regs.sp == 0x8040 && regs.bp == 105 && regs.bx == 103);
	/* Words that are not in the window: nothing changes. */
	regs.bp = 0x8040;
	CHECK(!hs_row_apply(&realigned, &window, &regs));
	CHECK(!hs_row_apply(&saved, &window, &regs));
	CHECK(regs.pc == 107 && regs.sp == 0x8040 && regs.bp == 0x8040);
}

int main(void)
{
	RUN(test_advances);
	RUN(test_advances_in_units);
	RUN(test_saved_registers);
	RUN(test_registers_that_are_not_captured);
	RUN(test_states);
	RUN(test_canonical_frame_address);
	RUN(test_procedure_linkage_table);
	RUN(test_realigned_stack);
	RUN(test_other_places);
	RUN(test_what_makes_no_sense);
	RUN(test_application);
	return CHECK_RESULT();
}
