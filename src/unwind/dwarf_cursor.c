/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as DWARF has them.  Run by the unwinding worker. */
#include "unwind/dwarf_cursor.h"

#include <string.h>

/* More bits than this in a LEB128 number are damage. */
#define LEB128_BITS 70

const uint8_t *hs_dwarf_skip(struct hs_dwarf_cursor *cursor, uint64_t bytes)
{
	const uint8_t *start = cursor->next;

	if ((size_t)(cursor->end - cursor->next) < bytes) {
		cursor->is_damaged = true;
		cursor->next = cursor->end;
		return cursor->end;
	}
	cursor->next += bytes;
	return start;
}

uint64_t hs_dwarf_take(struct hs_dwarf_cursor *cursor, size_t bytes)
{
	const uint8_t *from = hs_dwarf_skip(cursor, bytes);
	uint64_t value = 0;

	if (!cursor->is_damaged)
		memcpy(&value, from, bytes);
	return value;
}

/* *shift: the bits that were read; *last: the last byte. */
static uint64_t take_leb128(struct hs_dwarf_cursor *cursor, unsigned *shift, uint64_t *last)
{
	uint64_t value = 0;

	*shift = 0;
	do {
		*last = hs_dwarf_take(cursor, 1);
		if (*shift < 64)
			value |= (*last & 0x7f) << *shift;
		*shift += 7;
		cursor->is_damaged |= *shift > LEB128_BITS;
	} while ((*last & 0x80) != 0 && !cursor->is_damaged);
	return value;
}

uint64_t hs_dwarf_take_uleb128(struct hs_dwarf_cursor *cursor)
{
	unsigned shift;
	uint64_t last;

	return take_leb128(cursor, &shift, &last);
}

int64_t hs_dwarf_take_sleb128(struct hs_dwarf_cursor *cursor)
{
	unsigned shift;
	uint64_t last, value = take_leb128(cursor, &shift, &last);

	if (shift < 64 && (last & 0x40) != 0)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

uint64_t hs_dwarf_take_encoded(struct hs_dwarf_cursor *cursor, uint8_t encoding)
{
	switch (encoding & HS_DWARF_FORM) {
	case HS_DWARF_ABSOLUTE:
	case HS_DWARF_UDATA8:
	case HS_DWARF_SDATA8:
		return hs_dwarf_take(cursor, 8);
	case HS_DWARF_UDATA2:
		return hs_dwarf_take(cursor, 2);
	case HS_DWARF_SDATA2:
		return (uint64_t)(int16_t)hs_dwarf_take(cursor, 2);
	case HS_DWARF_UDATA4:
		return hs_dwarf_take(cursor, 4);
	case HS_DWARF_SDATA4:
		return (uint64_t)(int32_t)hs_dwarf_take(cursor, 4);
	default:
		cursor->is_damaged = true;
		return 0;
	}
}
