/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses entries of .eh_frame.  Run by the unwinding worker. */
#include "unwind/eh_frame_entry.h"

/* A length of this many says that the real one follows in 8 bytes. */
#define LONG_LENGTH 0xffffffffu

/* A bound on what a damaged CIE can make us read, once for each FDE that points to it. */
#define AUGMENTATION_BYTES 16

bool hs_eh_frame_take_entry(struct hs_dwarf_cursor *section, struct hs_dwarf_cursor *entry)
{
	uint64_t bytes = hs_dwarf_take(section, 4);

	if (bytes == LONG_LENGTH)
		bytes = hs_dwarf_take(section, 8);
	if (section->is_damaged || bytes == 0 || bytes > (size_t)(section->end - section->next))
		return false;
	*entry = (struct hs_dwarf_cursor){section->next, section->next + bytes, false};
	section->next += bytes;
	return true;
}

/* What the letters of the augmentation after the z say; data is what they are about. */
static void read_augmentation(const uint8_t *letters, struct hs_dwarf_cursor *data,
			      struct hs_eh_cie *cie)
{
	for (; *letters != '\0' && cie->is_known; letters++) {
		switch (*letters) {
		case 'R':
			cie->encoding = (uint8_t)hs_dwarf_take(data, 1);
			break;
		case 'L':
			hs_dwarf_take(data, 1);
			break;
		case 'P':
			hs_dwarf_take_encoded(data, (uint8_t)hs_dwarf_take(data, 1));
			break;
		case 'S':
			cie->is_signal_frame = true;
			break;
		default:
			cie->is_known = false;
		}
	}
}

bool hs_eh_cie_read(struct hs_dwarf_cursor *entry, struct hs_eh_cie *cie)
{
	const uint8_t *letters;
	uint64_t version;

	*cie = (struct hs_eh_cie){.encoding = HS_DWARF_ABSOLUTE, .is_known = true};
	if (hs_dwarf_take(entry, 4) != 0)
		return false;
	version = hs_dwarf_take(entry, 1);
	letters = entry->next;
	while (hs_dwarf_take(entry, 1) != 0 && entry->next - letters < AUGMENTATION_BYTES) {
	}
	if (entry->is_damaged || entry->next[-1] != '\0' || (version != 1 && version != 3) ||
	    (*letters != 'z' && *letters != '\0'))
		return false;
	cie->code_align = hs_dwarf_take_uleb128(entry);
	cie->data_align = hs_dwarf_take_sleb128(entry);
	cie->return_register =
		version == 1 ? hs_dwarf_take(entry, 1) : hs_dwarf_take_uleb128(entry);
	if (*letters == 'z') {
		uint64_t bytes = hs_dwarf_take_uleb128(entry);
		struct hs_dwarf_cursor data = {.next = hs_dwarf_skip(entry, bytes)};

		data.end = entry->next;
		cie->has_augmentation = true;
		read_augmentation(letters + 1, &data, cie);
		entry->is_damaged |= data.is_damaged;
	}
	cie->program = (struct hs_cfi_program){entry->next, (size_t)(entry->end - entry->next)};
	return !entry->is_damaged;
}

bool hs_eh_fde_read(struct hs_dwarf_cursor *entry, uint64_t place, const struct hs_eh_cie *cie,
		    struct hs_eh_fde *fde)
{
	uint8_t base = cie->encoding & (HS_DWARF_BASE | HS_DWARF_INDIRECT);

	fde->start = hs_dwarf_take_encoded(entry, cie->encoding);
	fde->bytes = hs_dwarf_take_encoded(entry, cie->encoding & HS_DWARF_UNSIGNED);
	if (base == HS_DWARF_RELATIVE)
		fde->start += place;
	else if (base != HS_DWARF_ABSOLUTE)
		return false;
	if (cie->has_augmentation)
		hs_dwarf_skip(entry, hs_dwarf_take_uleb128(entry));
	fde->program = (struct hs_cfi_program){entry->next, (size_t)(entry->end - entry->next)};
	return !entry->is_damaged;
}
