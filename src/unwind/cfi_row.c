/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes rows of call frame rules.  Run by the unwinding worker. */
#include "unwind/cfi_row.h"

/* DW_OP_breg0 + register, then the offset; DW_OP_deref. */
#define OP_BREG0 0x70
#define OP_DEREF 0x06

/* DW_OP_bregN offset: *number is N.  What follows is left in *rest. */
static bool parse_register_offset(struct hs_dwarf_cursor *rest, unsigned *number, int64_t *offset)
{
	uint64_t operation = hs_dwarf_take(rest, 1);

	*number = (unsigned)(operation - OP_BREG0);
	*offset = hs_dwarf_take_sleb128(rest);
	return operation >= OP_BREG0 && *number < HS_ARCH_DWARF_REGISTERS && !rest->is_damaged;
}

static bool set_cfa_expression(struct hs_unwind_row *row, const struct hs_cfi_rules *rules,
			       uint64_t pc, unsigned *base, int64_t *offset)
{
	const uint8_t *expression = rules->cfa_expression;
	struct hs_dwarf_cursor rest = {expression, expression + rules->cfa_expression_bytes, false};

	if (hs_arch_plt_cfa(expression, rules->cfa_expression_bytes, pc, offset)) {
		*base = HS_ARCH_DWARF_SP;
		return true;
	}
	row->kind = HS_ROW_REALIGNED;
	return parse_register_offset(&rest, base, offset) && hs_dwarf_take(&rest, 1) == OP_DEREF &&
	       rest.next == rest.end;
}

/* The canonical frame address.  *base: the DWARF number of its register. */
static bool set_cfa(struct hs_unwind_row *row, const struct hs_cfi_rules *rules, uint64_t pc,
		    unsigned *base)
{
	int64_t offset = rules->cfa_offset;
	int index;

	row->kind = HS_ROW_REGISTER;
	*base = (unsigned)rules->cfa_register;
	if (rules->cfa_expression != NULL) {
		if (!set_cfa_expression(row, rules, pc, base, &offset))
			return false;
	} else if (rules->cfa_register >= HS_ARCH_DWARF_REGISTERS) {
		return false;
	}
	index = hs_arch_register_index(*base);
	row->cfa_register = (uint8_t)index & 0xf;
	row->cfa_offset = (int32_t)offset;
	return index >= HS_ARCH_SP && offset == row->cfa_offset;
}

/*
 * Where a register is saved: *offset from the end of the saved words.  That is the canonical frame
 * address or, in a realigned frame, the end of the word that the base register points to.
 */
static bool find_slot(const struct hs_unwind_row *row, const struct hs_cfi_rule *rule,
		      unsigned base, int64_t *offset)
{
	struct hs_dwarf_cursor rest;
	unsigned number;

	if (row->kind == HS_ROW_REGISTER) {
		*offset = rule->offset;
		return rule->kind == HS_CFI_OFFSET;
	}
	if (rule->kind != HS_CFI_EXPRESSION)
		return false;
	rest = (struct hs_dwarf_cursor){rule->expression, rule->expression + rule->expression_bytes,
					false};
	if (!parse_register_offset(&rest, &number, offset) || rest.next != rest.end ||
	    number != base || *offset > 0 || *offset < -(int64_t)UINT8_MAX * HS_ROW_WORD)
		return false;
	*offset -= HS_ROW_WORD;
	return true;
}

static bool set_saved(struct hs_unwind_row *row, const struct hs_cfi_rules *rules, unsigned base)
{
	for (unsigned i = HS_ARCH_FIRST_SAVED; i < HS_ARCH_REGS; i++) {
		int64_t offset;
		uint8_t words;

		if (rules->of[i].kind == HS_CFI_SAME)
			continue;
		if (!find_slot(row, &rules->of[i], base, &offset) || offset % HS_ROW_WORD != 0 ||
		    offset >= 0 || offset < -(int64_t)UINT8_MAX * HS_ROW_WORD)
			return false;
		words = (uint8_t)(-offset / HS_ROW_WORD);
		row->saved[i - HS_ARCH_FIRST_SAVED] = words;
		if (words > row->deepest)
			row->deepest = words;
	}
	return true;
}

static bool set_row(struct hs_unwind_row *row, const struct hs_cfi_rules *rules, uint64_t pc)
{
	const struct hs_cfi_rule *back = &rules->of[HS_ARCH_PC];
	unsigned base;

	if (back->kind == HS_CFI_UNDEFINED) {
		row->kind = HS_ROW_END;
		return true;
	}
	return back->kind == HS_CFI_OFFSET &&
	       back->offset == -(int64_t)HS_ARCH_RETURN_WORD * HS_ROW_WORD &&
	       rules->of[HS_ARCH_SP].kind == HS_CFI_SAME && set_cfa(row, rules, pc, &base) &&
	       set_saved(row, rules, base);
}

void hs_cfi_row_make(struct hs_unwind_row *row, const struct hs_cfi_rules *rules, uint64_t pc)
{
	static const struct hs_unwind_row none = {.kind = HS_ROW_NONE};

	*row = none;
	if (!set_row(row, rules, pc))
		*row = none;
}
