/* SPDX-License-Identifier: BSD-2-Clause */
/* See build_id.h. */
#include "base/build_id.h"

#include <elf.h>
#include <string.h>

void hs_build_id_format(char hex[HS_BUILD_ID_HEX_BYTES], const unsigned char *id, size_t bytes)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < bytes && 2 * i + 2 < HS_BUILD_ID_HEX_BYTES; i++) {
		hex[2 * i] = digits[id[i] >> 4];
		hex[2 * i + 1] = digits[id[i] & 15];
	}
	hex[2 * i] = '\0';
}

bool hs_note_read(struct hs_note *note, const char head[HS_NOTE_HEAD_BYTES], uint64_t room,
		  uint64_t align)
{
	const uint64_t mask = align == 8 ? 7 : 3;
	Elf64_Nhdr header;

	memcpy(&header, head, sizeof header);
	note->contents = (sizeof header + header.n_namesz + mask) & ~mask;
	note->bytes = header.n_descsz;
	/* Linkers leave out the padding of the last one. */
	note->next = (note->contents + note->bytes + mask) & ~mask;
	note->is_build_id = header.n_type == NT_GNU_BUILD_ID && header.n_descsz > 0 &&
			    header.n_namesz == sizeof ELF_NOTE_GNU &&
			    memcmp(head + sizeof header, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0;
	return note->contents <= room && note->bytes <= room - note->contents;
}

bool hs_build_id_find(const char *notes, size_t bytes, uint64_t align,
		      char hex[HS_BUILD_ID_HEX_BYTES])
{
	struct hs_note note;

	for (uint64_t at = 0; at + HS_NOTE_HEAD_BYTES <= bytes; at += note.next) {
		if (!hs_note_read(&note, notes + at, bytes - at, align))
			return false;
		if (note.is_build_id) {
			hs_build_id_format(hex, (const unsigned char *)notes + at + note.contents,
					   note.bytes);
			return true;
		}
	}
	return false;
}
