/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entries of .eh_frame: what functions have in common (CIE), and each function (FDE).
 * Source: Linux Standard Base, Core, "Exception Frames"; DWARF 5, 6.4.1.
 *
 * The bytes are untrusted.  Results point into them.
 *
 * Allocates: never.  Errno: preserved.
 */
#ifndef HS_UNWIND_EH_FRAME_ENTRY_H
#define HS_UNWIND_EH_FRAME_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/dwarf_cursor.h"

/* Call frame instructions; see cfi_program.h. */
struct hs_cfi_program {
	const uint8_t *bytes;
	size_t size;
};

struct hs_eh_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register; /* by DWARF's number */
	uint8_t encoding;         /* of pointers in its FDEs */
	bool has_augmentation;    /* its FDEs have data of a length that they say */
	bool is_signal_frame;
	bool is_known; /* there is nothing in the augmentation that we do not understand */
	struct hs_cfi_program program;
};

struct hs_eh_fde {
	uint64_t start; /* of the function */
	uint64_t bytes; /* 0: it is empty, and another one may start there */
	struct hs_cfi_program program;
};

/*
 * Takes an entry off the section: *entry is what follows its length.  Returns false at the
 * end, and where the length is damaged.
 */
bool hs_eh_frame_take_entry(struct hs_dwarf_cursor *section, struct hs_dwarf_cursor *entry);

/* Reads a CIE, which entry begins with the id of.  Returns false for one that is damaged. */
bool hs_eh_cie_read(struct hs_dwarf_cursor *entry, struct hs_eh_cie *cie);

/*
 * Reads an FDE of a CIE.  entry is after its pointer to the CIE; place: the address of entry->next.
 * Returns false for one that is damaged, or whose pointers are of another kind than linkers make.
 */
bool hs_eh_fde_read(struct hs_dwarf_cursor *entry, uint64_t place, const struct hs_eh_cie *cie,
		    struct hs_eh_fde *fde);

#endif
