/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads numbers from untrusted bytes: .eh_frame and the programs in it.
 *
 * If something does not fit, the cursor is marked damaged and moved to its end, and everything
 * reads as 0 from then on: callers need to check only once.
 *
 * Allocates: never.  Errno: preserved.
 */
#ifndef HS_UNWIND_DWARF_CURSOR_H
#define HS_UNWIND_DWARF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Encodings of pointers: form in the lower four bits, what they are relative to above. */
enum hs_dwarf_encoding {
	HS_DWARF_ABSOLUTE = 0x00, /* 8 bytes, relative to nothing */
	HS_DWARF_UDATA2 = 0x02,
	HS_DWARF_UDATA4 = 0x03,
	HS_DWARF_UDATA8 = 0x04,
	HS_DWARF_SDATA2 = 0x0a,
	HS_DWARF_SDATA4 = 0x0b,
	HS_DWARF_SDATA8 = 0x0c,
	HS_DWARF_FORM = 0x0f,
	HS_DWARF_UNSIGNED = 0x07, /* the form of the same size without sign */
	HS_DWARF_BASE = 0x70,
	HS_DWARF_RELATIVE = 0x10,       /* to its own address */
	HS_DWARF_TABLE_RELATIVE = 0x30, /* to the .eh_frame_hdr that it is in */
	HS_DWARF_INDIRECT = 0x80,
};

struct hs_dwarf_cursor {
	const uint8_t *next;
	const uint8_t *end;
	bool is_damaged; /* something did not fit */
};

/* A number of 1 to 8 bytes. */
uint64_t hs_dwarf_take(struct hs_dwarf_cursor *cursor, size_t bytes);

/* A LEB128 number, of which the lowest 64 bits count. */
uint64_t hs_dwarf_take_uleb128(struct hs_dwarf_cursor *cursor);
int64_t hs_dwarf_take_sleb128(struct hs_dwarf_cursor *cursor);

/* A number in a form of fixed size, sign-extended if it has a sign; others are damage. */
uint64_t hs_dwarf_take_encoded(struct hs_dwarf_cursor *cursor, uint8_t encoding);

/* Steps over a number of bytes, and returns where they begin. */
const uint8_t *hs_dwarf_skip(struct hs_dwarf_cursor *cursor, uint64_t bytes);

#endif
