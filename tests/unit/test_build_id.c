/* SPDX-License-Identifier: BSD-2-Clause */
/* The build id among the notes of a buffer, wherever the buffer ends. */
#include "base/build_id.h"

#include <elf.h>

#include "check.h"

#define ROOM 256

static char notes[ROOM];
static size_t used;

static void add_note(unsigned type, const char *name, unsigned bytes, uint64_t align)
{
	Elf64_Nhdr note = { (unsigned)strlen(name) + 1, bytes, type };

	memcpy(notes + used, &note, sizeof note);
	memcpy(notes + used + sizeof note, name, note.n_namesz);
	used = (used + sizeof note + note.n_namesz + align - 1) & ~(align - 1);
	for (unsigned i = 0; i < bytes; i++)
		notes[used + i] = (char)(0xa0 + i);
	used = (used + bytes + align - 1) & ~(align - 1);
}

/* In a block of that size, so that sanitizers see what is read past it. */
static bool finds(size_t bytes, uint64_t align, const char *wanted)
{
	char *copy = malloc(bytes), hex[HS_BUILD_ID_HEX_BYTES];
	bool found;

	CHECK(copy != NULL);
	memcpy(copy, notes, bytes);
	found = hs_build_id_find(copy, bytes, align, hex);
	free(copy);
	if (found)
		CHECK_STR(hex, wanted);
	return found;
}

static void check_alignment(uint64_t align)
{
	size_t end;

	memset(notes, 0, sizeof notes);
	used = 0;
	add_note(NT_GNU_ABI_TAG, "GNU", 16, align);
	add_note(NT_GNU_BUILD_ID, "Go", 3, align);
	add_note(NT_GNU_BUILD_ID, "GNU", 0, align);
	add_note(NT_GNU_PROPERTY_TYPE_0, "GNU", 5, align);
	end = used + 12 + sizeof "GNU" + 3;
	add_note(NT_GNU_BUILD_ID, "GNU", 3, align);
	CHECK(used > end);
	for (size_t bytes = 1; bytes <= used; bytes++)
		CHECK(finds(bytes, align, "a0a1a2") == (bytes >= end));
}

static void finds_it_once_all_of_it_is_there(void)
{
	check_alignment(4);
	check_alignment(8);
}

static void other_alignments_are_of_four_bytes(void)
{
	memset(notes, 0, sizeof notes);
	used = 0;
	add_note(NT_GNU_ABI_TAG, "GNU", 4, 4);
	add_note(NT_GNU_BUILD_ID, "GNU", 2, 4);
	CHECK(finds(used, 0, "a0a1"));
	CHECK(finds(used, 1, "a0a1"));
	CHECK(finds(used, UINT64_MAX, "a0a1"));
	CHECK(!finds(used, 8, ""));
}

int main(void)
{
	RUN(finds_it_once_all_of_it_is_there);
	RUN(other_alignments_are_of_four_bytes);
	return CHECK_RESULT();
}
