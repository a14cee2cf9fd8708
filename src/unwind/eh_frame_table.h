/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the search table of an .eh_frame section, as a linker puts it into .eh_frame_hdr.
 * Source: Linux Standard Base, Core, "Exception Frames".
 *
 * The section is untrusted: an entry that makes no sense is left out, and one that does
 * not end in it ends the reading.
 *
 * Allocates: never.  Errno: preserved.
 */
#ifndef HS_UNWIND_EH_FRAME_TABLE_H
#define HS_UNWIND_EH_FRAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_eh_frame {
	const uint8_t *bytes;
	size_t size;
	uint64_t address; /* where its pointers expect it to be */
};

/* As in .eh_frame_hdr; both relative to the section's address. */
struct hs_eh_frame_entry {
	int32_t start; /* of the function */
	int32_t fde;   /* what describes it */
};

/* The same in an object whose parts are more than 2 GiB apart. */
struct hs_eh_frame_wide_entry {
	int64_t start;
	int64_t fde;
};

/* Where the search table of some code is. */
struct hs_search_table {
	uint64_t shift;   /* from the code's addresses to those that it is about; modulo 2^64 */
	uint64_t base;    /* what the entries are relative to */
	uint64_t entries; /* their address */
	uint64_t count;   /* at least 1 */
	bool is_wide;     /* struct hs_eh_frame_wide_entry each */
};

/*
 * Writes the entries of the functions that begin in [code_start, code_end), sorted, at most
 * capacity of them.  Returns how many there are.
 */
size_t hs_eh_frame_table_make(const struct hs_eh_frame *section, uint64_t code_start,
			      uint64_t code_end, struct hs_eh_frame_entry *entries,
			      size_t capacity);

#endif
