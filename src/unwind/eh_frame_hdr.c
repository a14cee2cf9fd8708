/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses .eh_frame_hdr.  Run by the unwinding worker. */
#include "unwind/eh_frame_hdr.h"

#include "unwind/dwarf_cursor.h"

#define HDR_VERSION 1
#define NO_TABLE 0xff

bool hs_eh_frame_hdr_parse(const uint8_t *header, size_t bytes, uint64_t section_bytes,
			   struct hs_search_table *table)
{
	struct hs_dwarf_cursor cursor;
	uint64_t count, entries;
	size_t entry_bytes;
	bool is_wide;

	/* The count is a plain number: no base to add. */
	if (bytes < 4 || header[0] != HDR_VERSION || (header[2] & ~HS_DWARF_FORM) != 0)
		return false;
	is_wide = header[3] == (HS_DWARF_TABLE_RELATIVE | HS_DWARF_SDATA8);
	if (!is_wide && header[3] != (HS_DWARF_TABLE_RELATIVE | HS_DWARF_SDATA4))
		return false;
	entry_bytes = is_wide ? sizeof(struct hs_eh_frame_wide_entry)
			      : sizeof(struct hs_eh_frame_entry);
	cursor = (struct hs_dwarf_cursor){header + 4, header + bytes, false};
	hs_dwarf_take_encoded(&cursor, header[1]); /* where .eh_frame is */
	count = hs_dwarf_take_encoded(&cursor, header[2]);
	entries = (uint64_t)(cursor.next - header);
	if (cursor.is_damaged || entries > section_bytes || count == 0 ||
	    count > (section_bytes - entries) / entry_bytes)
		return false;
	*table = (struct hs_search_table){.entries = entries, .count = count, .is_wide = is_wide};
	return true;
}

/* Returns how many bytes of the mapping's section are in header; 0: none. */
static size_t read_bytes(struct hs_memory_cache *memory, const struct hs_mapping *mapping,
			 uint8_t header[HS_EH_FRAME_HDR_BYTES])
{
	uint64_t bytes = mapping->eh_frame_hdr_bytes;

	if (bytes > HS_EH_FRAME_HDR_BYTES)
		bytes = HS_EH_FRAME_HDR_BYTES;
	if (mapping->eh_frame_hdr == 0 ||
	    hs_memory_cache_read(memory, mapping->eh_frame_hdr, header, bytes) < 0)
		return 0;
	return bytes;
}

bool hs_eh_frame_hdr_read(struct hs_memory_cache *memory, const struct hs_mapping *mapping,
			  struct hs_search_table *table)
{
	uint8_t header[HS_EH_FRAME_HDR_BYTES];
	size_t bytes = read_bytes(memory, mapping, header);

	if (!hs_eh_frame_hdr_parse(header, bytes, mapping->eh_frame_hdr_bytes, table))
		return false;
	table->base = mapping->eh_frame_hdr;
	table->entries += table->base;
	return true;
}

uint64_t hs_eh_frame_hdr_without_table(struct hs_memory_cache *memory,
				       const struct hs_mapping *mapping)
{
	uint8_t header[HS_EH_FRAME_HDR_BYTES];
	size_t bytes = read_bytes(memory, mapping, header);
	struct hs_dwarf_cursor cursor;
	uint64_t distance;

	if (bytes < 4 || header[0] != HDR_VERSION || header[3] != NO_TABLE ||
	    (header[1] & ~HS_DWARF_FORM) != HS_DWARF_RELATIVE)
		return 0;
	cursor = (struct hs_dwarf_cursor){header + 4, header + bytes, false};
	distance = hs_dwarf_take_encoded(&cursor, header[1]);
	return cursor.is_damaged ? 0 : mapping->eh_frame_hdr + 4 + distance;
}
