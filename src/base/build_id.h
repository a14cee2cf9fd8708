/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Build ids: notes of ELF objects, and text.  Threads: any.  Allocates: never.
 * Source: System V ABI, chapter 5, "Note Section"; for notes padded to 8 bytes, the x86-64 psABI.
 */
#ifndef HS_BASE_BUILD_ID_H
#define HS_BASE_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 32 bytes in hex and a NUL.  Longer ids are cut: those of memory and of files alike. */
#define HS_BUILD_ID_HEX_BYTES 65

/* Writes an id in lower-case hex. */
void hs_build_id_format(char hex[HS_BUILD_ID_HEX_BYTES], const unsigned char *id, size_t bytes);

/* The part of a note that tells its kind: its header and a name as long as "GNU". */
#define HS_NOTE_HEAD_BYTES 16

struct hs_note {
	uint64_t contents; /* from the note's start, as next is */
	uint64_t next;
	uint32_t bytes; /* of contents */
	bool is_build_id;
};

/*
 * Reads the head of a note.  room: bytes from the note to the end of its segment or section, whose
 * alignment is align.  Returns false if the note does not end there.
 */
bool hs_note_read(struct hs_note *note, const char head[HS_NOTE_HEAD_BYTES], uint64_t room,
		  uint64_t align);

/* Finds the build id among the notes of a segment or section. */
bool hs_build_id_find(const char *notes, size_t bytes, uint64_t align,
		      char hex[HS_BUILD_ID_HEX_BYTES]);

#endif
