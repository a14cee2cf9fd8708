/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call frame information: a CIE and an FDE, their rules at one pc, and the row made of these.
 *
 * The input: 16 bits for the size of the CIE, 16 bits for pc - start of the function (modulo its
 * length), the CIE without its length, and the FDE without its length and CIE pointer.
 */
#include "fuzz.h"
#include "unwind/cfi_row.h"

#define HEADER_BYTES 4
#define PLACE 0x10000 /* of the FDE */
#define STACK_WORDS 64

/* Copies to a block of its own, so that sanitizers see reads past its end. */
static struct hs_dwarf_cursor copy(const uint8_t *data, size_t bytes)
{
	uint8_t *block = malloc(bytes > 0 ? bytes : 1);

	if (bytes > 0)
		memcpy(block, data, bytes);
	return (struct hs_dwarf_cursor){block, block + bytes, false};
}

static void apply(const struct hs_unwind_row *row)
{
	uint64_t words[STACK_WORDS];
	struct hs_stack_window window = {
		.start = PLACE, .bytes = (const uint8_t *)words, .size = sizeof words};
	struct hs_regs frame, caller;

	for (unsigned i = 0; i < STACK_WORDS; i++)
		words[i] = PLACE + i * 8;
	for (unsigned i = 0; i < HS_ARCH_REGS; i++)
		*hs_arch_register(&frame, i) = PLACE + sizeof words / 2;
	caller = frame;
	if (hs_row_apply(row, &window, &caller))
		MUST(caller.sp % 8 != 0 || caller.pc == caller.sp - 8);
	else
		MUST(memcmp(&caller, &frame, sizeof frame) == 0);
}

static void run(const struct hs_eh_cie *cie, const struct hs_eh_fde *fde, uint64_t pc)
{
	struct hs_cfi_rules rules;
	struct hs_unwind_row row, last;
	uint64_t end, same_end;

	if (!hs_cfi_run(cie, fde, pc, &rules, &end))
		return;
	hs_cfi_row_make(&row, &rules, pc);
	MUST(row.kind <= HS_ROW_END);
	if (row.kind == HS_ROW_REGISTER || row.kind == HS_ROW_REALIGNED)
		apply(&row);
	if (end <= pc) /* past the highest address */
		return;
	/* The rules are the same up to their end, except for an expression that uses pc. */
	MUST(hs_cfi_run(cie, fde, end - 1, &rules, &same_end) && same_end == end);
	hs_cfi_row_make(&last, &rules, pc);
	MUST(memcmp(&row, &last, sizeof row) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct hs_dwarf_cursor cie_bytes, fde_bytes;
	uint16_t cie_size, distance;
	struct hs_eh_cie cie;
	struct hs_eh_fde fde;

	if (bytes < HEADER_BYTES)
		return 0;
	memcpy(&cie_size, data, sizeof cie_size);
	memcpy(&distance, data + 2, sizeof distance);
	data += HEADER_BYTES;
	bytes -= HEADER_BYTES;
	if (cie_size > bytes)
		cie_size = (uint16_t)bytes;
	cie_bytes = copy(data, cie_size);
	fde_bytes = copy(data + cie_size, bytes - cie_size);
	data = cie_bytes.next;
	if (hs_eh_cie_read(&cie_bytes, &cie)) {
		const uint8_t *start = fde_bytes.next;

		if (hs_eh_fde_read(&fde_bytes, PLACE, &cie, &fde) && fde.bytes > 0)
			run(&cie, &fde, fde.start + distance % fde.bytes);
		free((void *)(uintptr_t)start);
	} else {
		free((void *)(uintptr_t)fde_bytes.next);
	}
	free((void *)(uintptr_t)data);
	return 0;
}
