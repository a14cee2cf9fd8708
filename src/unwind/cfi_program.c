/* SPDX-License-Identifier: BSD-2-Clause */
/* An interpreter of call frame instructions.  Run by the unwinding worker. */
#include "unwind/cfi_program.h"

/* DW_CFA_*: the upper two bits of a byte, or all of it. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* States remembered at a time; compilers nest one or two. */
#define REMEMBERED 8

struct machine {
	struct hs_dwarf_cursor cursor;
	const struct hs_eh_cie *cie;
	const struct hs_cfi_rules *initial; /* what CFA_RESTORE goes back to */
	struct hs_cfi_rules *rules;
	uint64_t location; /* where the rules hold from */
	bool is_known;     /* all so far made sense */
	unsigned remembered;
	struct hs_cfi_rules stack[REMEMBERED];
};

static uint64_t take_number(struct machine *machine)
{
	return hs_dwarf_take_uleb128(&machine->cursor);
}

/* A number in units of the alignment of data; modulo 2^64, for damaged ones. */
static int64_t take_factored(struct machine *machine)
{
	return (int64_t)(take_number(machine) * (uint64_t)machine->cie->data_align);
}

static int64_t take_signed_factored(struct machine *machine)
{
	return (int64_t)((uint64_t)hs_dwarf_take_sleb128(&machine->cursor) *
			 (uint64_t)machine->cie->data_align);
}

static const uint8_t *take_expression(struct machine *machine, uint32_t *bytes)
{
	const uint8_t *start = hs_dwarf_skip(&machine->cursor, take_number(machine));

	*bytes = (uint32_t)(machine->cursor.next - start);
	return start;
}

/*
 * The rule of a register, or one that nobody looks at if the register is not captured: there are
 * many above those of HS_ARCH_DWARF_REGISTERS, for vectors and more.
 */
static struct hs_cfi_rule *rule_of(struct machine *machine, uint64_t number,
				   struct hs_cfi_rule *ignored)
{
	int index = hs_arch_register_index(number);

	return index >= 0 ? &machine->rules->of[index] : ignored;
}

static void restore_register(struct machine *machine, uint64_t number)
{
	struct hs_cfi_rule ignored, *rule = rule_of(machine, number, &ignored);

	if (rule != &ignored)
		*rule = machine->initial->of[rule - machine->rules->of];
}

static void set_rule(struct machine *machine, enum hs_cfi_kind kind)
{
	struct hs_cfi_rule ignored, *rule = rule_of(machine, take_number(machine), &ignored);

	*rule = (struct hs_cfi_rule){.kind = (uint8_t)kind};
}

static void set_offset(struct machine *machine, uint64_t number, int64_t offset)
{
	struct hs_cfi_rule ignored, *rule = rule_of(machine, number, &ignored);

	*rule = (struct hs_cfi_rule){.kind = HS_CFI_OFFSET, .offset = offset};
}

static void set_expression(struct machine *machine, enum hs_cfi_kind kind)
{
	struct hs_cfi_rule ignored, *rule = rule_of(machine, take_number(machine), &ignored);
	uint32_t bytes;
	const uint8_t *expression = take_expression(machine, &bytes);

	*rule = (struct hs_cfi_rule){
		.kind = (uint8_t)kind, .expression_bytes = bytes, .expression = expression};
}

/* Instructions about a register.  Returns whether the instruction is one. */
static bool run_register(struct machine *machine, uint8_t instruction)
{
	uint64_t number;

	switch (instruction) {
	case CFA_OFFSET_EXTENDED:
		number = take_number(machine);
		set_offset(machine, number, take_factored(machine));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		number = take_number(machine);
		set_offset(machine, number, take_signed_factored(machine));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		number = take_number(machine);
		set_offset(machine, number, (int64_t)(0 - (uint64_t)take_factored(machine)));
		return true;
	case CFA_RESTORE_EXTENDED:
		restore_register(machine, take_number(machine));
		return true;
	case CFA_UNDEFINED:
		set_rule(machine, HS_CFI_UNDEFINED);
		return true;
	case CFA_SAME_VALUE:
		set_rule(machine, HS_CFI_SAME);
		return true;
	case CFA_REGISTER:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
		set_rule(machine, HS_CFI_OTHER);
		take_number(machine);
		return true;
	case CFA_EXPRESSION:
		set_expression(machine, HS_CFI_EXPRESSION);
		return true;
	case CFA_VAL_EXPRESSION:
		set_expression(machine, HS_CFI_OTHER);
		return true;
	default:
		return false;
	}
}

/* What changes one half of register + offset makes no sense after an expression. */
static void require_register(struct machine *machine)
{
	machine->is_known &= machine->rules->cfa_expression == NULL;
}

/* Instructions about the canonical frame address.  Returns whether the instruction is one. */
static bool run_cfa(struct machine *machine, uint8_t instruction)
{
	struct hs_cfi_rules *rules = machine->rules;

	switch (instruction) {
	case CFA_DEF_CFA:
		rules->cfa_register = take_number(machine);
		rules->cfa_offset = (int64_t)take_number(machine);
		rules->cfa_expression = NULL;
		return true;
	case CFA_DEF_CFA_SF:
		rules->cfa_register = take_number(machine);
		rules->cfa_offset = take_signed_factored(machine);
		rules->cfa_expression = NULL;
		return true;
	case CFA_DEF_CFA_REGISTER:
		rules->cfa_register = take_number(machine);
		require_register(machine);
		return true;
	case CFA_DEF_CFA_OFFSET:
		rules->cfa_offset = (int64_t)take_number(machine);
		require_register(machine);
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		rules->cfa_offset = take_signed_factored(machine);
		require_register(machine);
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		rules->cfa_expression = take_expression(machine, &rules->cfa_expression_bytes);
		return true;
	default:
		return false;
	}
}

static void run_state(struct machine *machine, uint8_t instruction)
{
	switch (instruction) {
	case CFA_NOP:
		break;
	case CFA_GNU_ARGS_SIZE:
		take_number(machine);
		break;
	case CFA_REMEMBER_STATE:
		machine->is_known &= machine->remembered < REMEMBERED;
		if (machine->is_known)
			machine->stack[machine->remembered++] = *machine->rules;
		break;
	case CFA_RESTORE_STATE:
		machine->is_known &= machine->remembered > 0;
		if (machine->is_known)
			*machine->rules = machine->stack[--machine->remembered];
		break;
	default:
		machine->is_known = false;
	}
}

/* Bytes of the distance that follows the instruction, 0 = it does not go on to an address. */
static unsigned distance_bytes(uint8_t instruction)
{
	switch (instruction) {
	case CFA_ADVANCE_LOC1:
		return 1;
	case CFA_ADVANCE_LOC2:
		return 2;
	case CFA_ADVANCE_LOC4:
		return 4;
	default:
		return 0;
	}
}

static void run_instruction(struct machine *machine)
{
	uint8_t instruction = (uint8_t)hs_dwarf_take(&machine->cursor, 1);
	uint8_t operand = instruction & 0x3f;
	unsigned bytes;

	switch (instruction & 0xc0) {
	case CFA_ADVANCE_LOC:
		machine->location += operand * machine->cie->code_align;
		return;
	case CFA_OFFSET:
		set_offset(machine, operand, take_factored(machine));
		return;
	case CFA_RESTORE:
		restore_register(machine, operand);
		return;
	}
	bytes = distance_bytes(instruction);
	if (bytes > 0)
		machine->location +=
			hs_dwarf_take(&machine->cursor, bytes) * machine->cie->code_align;
	else if (!run_register(machine, instruction) && !run_cfa(machine, instruction))
		run_state(machine, instruction);
}

/* Runs a program until its rules are those of a later address than pc. */
static bool run(struct machine *machine, const struct hs_cfi_program *program, uint64_t pc)
{
	machine->cursor =
		(struct hs_dwarf_cursor){program->bytes, program->bytes + program->size, false};
	while (machine->is_known && machine->location <= pc &&
	       machine->cursor.next < machine->cursor.end) {
		run_instruction(machine);
		machine->is_known &= !machine->cursor.is_damaged;
	}
	return machine->is_known;
}

bool hs_cfi_run(const struct hs_eh_cie *cie, const struct hs_eh_fde *fde, uint64_t pc,
		struct hs_cfi_rules *rules, uint64_t *end)
{
	struct hs_cfi_rules initial = {.cfa_register = HS_ARCH_DWARF_REGISTERS};
	struct machine machine;

	*rules = initial;
	machine.cie = cie;
	machine.initial = &initial;
	machine.rules = rules;
	machine.location = 0;
	machine.is_known = true;
	machine.remembered = 0;
	if (!run(&machine, &cie->program, UINT64_MAX))
		return false;
	initial = *rules;
	machine.remembered = 0;
	machine.location = fde->start;
	if (!run(&machine, &fde->program, pc))
		return false;
	*end = machine.location > pc ? machine.location : fde->start + fde->bytes;
	return true;
}
