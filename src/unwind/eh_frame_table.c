/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes search tables for .eh_frame sections.  Run by the unwinding worker. */
#include "unwind/eh_frame_table.h"

#include <stdbool.h>

#include "unwind/eh_frame_entry.h"

/* Reads the CIE at an offset of the section. */
static bool read_cie(const struct hs_eh_frame *section, size_t offset, struct hs_eh_cie *cie)
{
	struct hs_dwarf_cursor rest = {section->bytes + offset, section->bytes + section->size,
				       false};
	struct hs_dwarf_cursor entry;

	return hs_eh_frame_take_entry(&rest, &entry) && hs_eh_cie_read(&entry, cie);
}

/* Reads an FDE, whose CIE pointer is at entry->next.  False also for an empty function's. */
static bool read_fde(const struct hs_eh_frame *section, struct hs_dwarf_cursor *entry,
		     struct hs_eh_fde *fde)
{
	size_t here = (size_t)(entry->next - section->bytes);
	uint64_t back = hs_dwarf_take(entry, 4);
	struct hs_eh_cie cie;

	return back != 0 && back <= here && read_cie(section, here - back, &cie) &&
	       hs_eh_fde_read(entry, section->address + here + 4, &cie, fde) && fde->bytes > 0;
}

static bool is_before(const struct hs_eh_frame_entry *a, const struct hs_eh_frame_entry *b)
{
	return a->start < b->start || (a->start == b->start && a->fde < b->fde);
}

/* Restores the heap, largest first, below entry i of count. */
static void sift_down(struct hs_eh_frame_entry *entries, size_t i, size_t count)
{
	struct hs_eh_frame_entry moved = entries[i];
	size_t child;

	while ((child = 2 * i + 1) < count) {
		if (child + 1 < count && is_before(&entries[child], &entries[child + 1]))
			child++;
		if (!is_before(&moved, &entries[child]))
			break;
		entries[i] = entries[child];
		i = child;
	}
	entries[i] = moved;
}

/* In place, and in n log n whatever the input. */
static void sort(struct hs_eh_frame_entry *entries, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift_down(entries, i, count);
	for (size_t last = count; last-- > 1;) {
		struct hs_eh_frame_entry largest = entries[0];

		entries[0] = entries[last];
		entries[last] = largest;
		sift_down(entries, 0, last);
	}
}

size_t hs_eh_frame_table_make(const struct hs_eh_frame *section, uint64_t code_start,
			      uint64_t code_end, struct hs_eh_frame_entry *entries, size_t capacity)
{
	struct hs_dwarf_cursor rest = {section->bytes, section->bytes + section->size, false};
	struct hs_dwarf_cursor entry;
	struct hs_eh_fde found;
	size_t count = 0;

	for (;;) {
		uint64_t fde = (uint64_t)(rest.next - section->bytes);
		int64_t distance;

		if (!hs_eh_frame_take_entry(&rest, &entry))
			break;
		if (!read_fde(section, &entry, &found))
			continue;
		distance = (int64_t)(found.start - section->address);
		if (found.start < code_start || found.start >= code_end ||
		    distance != (int32_t)distance || fde > INT32_MAX)
			continue;
		if (count < capacity)
			entries[count] =
				(struct hs_eh_frame_entry){(int32_t)distance, (int32_t)fde};
		count++;
	}
	sort(entries, count < capacity ? count : capacity);
	return count;
}
