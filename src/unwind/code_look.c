/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at code.  Run by the unwinding worker. */
#include "unwind/code_look.h"

#include "arch/plt.h"
#include "arch/unwind.h"

bool hs_code_is_signal_return(struct hs_memory_cache *memory, uint64_t pc)
{
	uint8_t code[HS_ARCH_SIGNAL_RETURN_BYTES];

	return hs_memory_cache_read(memory, pc, code, sizeof code) == 0 &&
	       hs_arch_is_signal_return(code);
}

enum hs_code_before hs_code_before(struct hs_memory_cache *memory, uint64_t pc)
{
	uint8_t code[HS_ARCH_CALL_BYTES];

	if (hs_memory_cache_read(memory, pc - sizeof code, code, sizeof code) != 0)
		return HS_CODE_UNREADABLE;
	if (hs_arch_is_after_call(code))
		return HS_CODE_CALL;
	return hs_arch_is_after_end(code) ? HS_CODE_END : HS_CODE_OTHER;
}

bool hs_code_has_callee(struct hs_memory_cache *memory, const struct hs_mapping_table *table,
			uint64_t pc, uint64_t *callee)
{
	uint8_t call[HS_ARCH_CALL_BYTES], entry[HS_PLT_JUMP_BYTES];
	uint64_t slot;

	if (hs_memory_cache_read(memory, pc - sizeof call, call, sizeof call) != 0)
		return false;
	if (hs_arch_call_target(call, pc, callee)) {
		if (hs_memory_cache_read(memory, *callee, entry, sizeof entry) != 0)
			return false;
		if (!hs_plt_decode(entry, sizeof entry, *callee, &slot))
			return true;
	} else if (!hs_arch_call_slot(call, pc, &slot) ||
		   !hs_mapping_table_is_constant(table, slot, sizeof *callee)) {
		return false;
	}
	return hs_memory_cache_read(memory, slot, callee, sizeof *callee) == 0 &&
	       hs_memory_cache_read(memory, *callee, entry, sizeof entry) == 0 &&
	       !hs_plt_is_unresolved(entry, sizeof entry);
}
