/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the unwind table entries of pcs, to make rows.  Run by the unwinding worker. */
#include "unwind/unwind_rows.h"

#include "base/arena.h"
#include "unwind/cfi_row.h"
#include "unwind/eh_frame_entry.h"
#include "unwind/eh_frame_hdr.h"
#include "unwind/eh_frame_table.h"

/* Longer entries are left to libunwind.  A function of 200 KiB may have one of 20 KiB. */
#define CIE_BYTES 1024
#define FDE_BYTES 65536

/* Of sections that are searched entry by entry: each new pc takes a millisecond at most. */
#define SEARCHED_BYTES ((uint64_t)1 << 20)

/* Entries of empty functions passed over at one address of a search table. */
#define MAX_EMPTY 16

struct hs_unwind_rows {
	struct hs_memory_cache *memory;
	struct hs_hint_frames *hinted;
	/* Of the row that is made. */
	struct hs_eh_cie cie;
	struct hs_eh_fde fde;
	uint64_t cie_address; /* 0: not read yet */
	uint8_t cie_bytes[CIE_BYTES];
	uint8_t fde_bytes[FDE_BYTES];
};

struct hs_unwind_rows *hs_unwind_rows_create(struct hs_memory_cache *memory,
					     struct hs_hint_frames *hinted)
{
	struct hs_unwind_rows *rows = hs_arena_zalloc(sizeof *rows);

	if (rows != NULL) {
		rows->memory = memory;
		rows->hinted = hinted;
	}
	return rows;
}

void hs_unwind_rows_destroy(struct hs_unwind_rows *rows)
{
	hs_arena_free(rows);
}

static bool read_at(const struct hs_unwind_rows *rows, uint64_t address, void *to, size_t bytes)
{
	return hs_hint_frames_read(rows->hinted, address, to, bytes) ||
	       hs_memory_cache_read(rows->memory, address, to, bytes) == 0;
}

/* Whether an entry covers a pc. */
enum finding { FOUND, NOTHING, UNREADABLE };

static bool read_table_entry(const struct hs_unwind_rows *rows, const struct hs_search_table *table,
			     uint64_t number, struct hs_eh_frame_wide_entry *entry)
{
	struct hs_eh_frame_entry narrow;

	if (table->is_wide)
		return read_at(rows, table->entries + number * sizeof *entry, entry, sizeof *entry);
	if (!read_at(rows, table->entries + number * sizeof narrow, &narrow, sizeof narrow))
		return false;
	*entry = (struct hs_eh_frame_wide_entry){narrow.start, narrow.fde};
	return true;
}

/* Binary search for the last entry that starts at or before pc. */
static enum finding find_number(const struct hs_unwind_rows *rows,
				const struct hs_search_table *table, uint64_t pc, uint64_t *number)
{
	struct hs_eh_frame_wide_entry entry;
	uint64_t low = 0, high = table->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!read_table_entry(rows, table, middle, &entry))
			return UNREADABLE;
		if (entry.start > (int64_t)(pc - table->base))
			high = middle;
		else
			low = middle + 1;
	}
	*number = low - 1;
	return low > 0 ? FOUND : NOTHING;
}

/* Copies the entry at an address, without its length, `room` bytes at most. */
static bool read_entry(const struct hs_unwind_rows *rows, uint64_t address, uint8_t *bytes,
		       size_t room, struct hs_dwarf_cursor *entry)
{
	uint32_t length;

	if (!read_at(rows, address, &length, sizeof length) || length < 4 || length > room ||
	    !read_at(rows, address + sizeof length, bytes, length))
		return false;
	*entry = (struct hs_dwarf_cursor){bytes, bytes + length, false};
	return true;
}

/* Reads the CIE at an address, unless it was the last one of this search. */
static bool read_cie(struct hs_unwind_rows *rows, uint64_t address)
{
	struct hs_dwarf_cursor cie;

	if (address == rows->cie_address)
		return true;
	rows->cie_address = 0;
	if (!read_entry(rows, address, rows->cie_bytes, CIE_BYTES, &cie) ||
	    !hs_eh_cie_read(&cie, &rows->cie))
		return false;
	rows->cie_address = address;
	return true;
}

/* Reads the FDE at an address, and its CIE; the address becomes that of the next entry. */
static bool read_fde(struct hs_unwind_rows *rows, uint64_t *address)
{
	uint64_t place = *address + 4, back;
	struct hs_dwarf_cursor fde;

	if (!read_entry(rows, *address, rows->fde_bytes, FDE_BYTES, &fde))
		return false;
	*address = place + (uint64_t)(fde.end - fde.next);
	back = hs_dwarf_take(&fde, 4);
	return back != 0 && read_cie(rows, place - back) &&
	       hs_eh_fde_read(&fde, place + 4, &rows->cie, &rows->fde);
}

/* The address behind an entry, however long that is; at the section's end it stays. */
static uint64_t pass_entry(const struct hs_unwind_rows *rows, uint64_t address)
{
	uint32_t length;

	if (!read_at(rows, address, &length, sizeof length) || length < 4 || length > INT32_MAX)
		return address;
	return address + sizeof length + length;
}

/* Looks at one entry after the other, from an address on. */
static enum finding search_from(struct hs_unwind_rows *rows, uint64_t start, uint64_t pc)
{
	uint64_t address = start, last = start - 1;

	while (address != last && address - start < SEARCHED_BYTES) {
		last = address;
		/* False of a CIE, too, of a long entry, and at the end, whose address stays. */
		if (read_fde(rows, &address) && pc - rows->fde.start < rows->fde.bytes)
			return FOUND;
		if (address == last)
			address = pass_entry(rows, address);
	}
	return address == last ? NOTHING : UNREADABLE;
}

static enum finding search_section(struct hs_unwind_rows *rows, const struct hs_mapping *mapping,
				   uint64_t pc)
{
	uint64_t start = hs_eh_frame_hdr_without_table(rows->memory, mapping);

	return start != 0 ? search_from(rows, start, pc) : UNREADABLE;
}

/*
 * An empty function has the address of the next one.  Of their entries mold's table has all, in any
 * order, and lld's only the section's first; the others are behind that, not always next to it.
 */
static enum finding find_entries(struct hs_unwind_rows *rows, const struct hs_search_table *table,
				 uint64_t pc)
{
	struct hs_eh_frame_wide_entry entry;
	uint64_t number, address, fde = 0;
	int64_t start = 0;
	enum finding finding = find_number(rows, table, pc, &number);

	if (finding != FOUND)
		return finding;
	for (unsigned i = 0; i <= number && i < MAX_EMPTY; i++) {
		if (!read_table_entry(rows, table, number - i, &entry))
			return UNREADABLE;
		if (i > 0 && entry.start != start)
			break;
		start = entry.start;
		address = fde = table->base + (uint64_t)entry.fde;
		if (!read_fde(rows, &address))
			return UNREADABLE;
		if (rows->fde.bytes > 0)
			return pc - rows->fde.start < rows->fde.bytes ? FOUND : NOTHING;
	}
	return search_from(rows, fde, pc);
}

/* *shift: see hs_search_table. */
static enum finding find(struct hs_unwind_rows *rows, const struct hs_mapping *mapping, uint64_t pc,
			 uint64_t *shift)
{
	struct hs_search_table table;
	bool is_hinted = (mapping->flags & HS_MAPPING_HINT) != 0;

	*shift = 0;
	rows->cie_address = 0;
	if (is_hinted ? !hs_hint_frames_find(rows->hinted, mapping, &table)
		      : mapping->eh_frame_hdr == 0)
		return NOTHING;
	if (!is_hinted && !hs_eh_frame_hdr_read(rows->memory, mapping, &table))
		return search_section(rows, mapping, pc);
	*shift = table.shift;
	return find_entries(rows, &table, pc + table.shift);
}

static void run_program(const struct hs_unwind_rows *rows, uint64_t pc, struct hs_unwind_row *row,
			uint64_t *end)
{
	struct hs_cfi_rules rules;

	*end = pc + 1;
	if (!rows->cie.is_known || rows->cie.is_signal_frame ||
	    rows->cie.return_register != HS_ARCH_DWARF_RETURN)
		return;
	if (hs_cfi_run(&rows->cie, &rows->fde, pc, &rules, end))
		hs_cfi_row_make(row, &rules, pc);
	else
		*end = pc + 1;
}

void hs_unwind_rows_make(struct hs_unwind_rows *rows, const struct hs_mapping *mapping, uint64_t pc,
			 struct hs_unwind_row *row, uint64_t *end)
{
	static const struct hs_unwind_row none = {.kind = HS_ROW_NONE};
	static const struct hs_unwind_row no_info = {.kind = HS_ROW_NO_INFO};
	uint64_t shift;

	*row = none;
	*end = pc + 1;
	if (mapping == NULL)
		return;
	switch (find(rows, mapping, pc, &shift)) {
	case FOUND:
		run_program(rows, pc + shift, row, end);
		*end -= shift;
		break;
	case NOTHING:
		*row = no_info;
		break;
	case UNREADABLE:
		break;
	}
}

bool hs_unwind_rows_has_start(struct hs_unwind_rows *rows, const struct hs_mapping *mapping,
			      uint64_t pc)
{
	uint64_t shift;

	return find(rows, mapping, pc, &shift) == FOUND && rows->fde.start == pc + shift;
}
