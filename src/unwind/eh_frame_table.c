/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes search tables for .eh_frame sections.  Run by the unwinding worker. */
#include "unwind/eh_frame_table.h"

#include <stdbool.h>
#include <string.h>

/* Encodings of pointers: form in the lower four bits, what they are relative to above. */
enum {
	ENCODING_ABSOLUTE = 0x00, /* 8 bytes, relative to nothing */
	ENCODING_FORM = 0x0f,
	ENCODING_UNSIGNED = 0x07, /* the form of the same size without sign */
	ENCODING_BASE = 0x70,
	ENCODING_RELATIVE = 0x10, /* to its own address */
};

/* A length of this many says that the real one follows in 8 bytes. */
#define LONG_LENGTH 0xffffffffu

/*
 * Bounds on what a damaged CIE can make us read, once for each FDE that points to it: bits of
 * a LEB128 number, letters of an augmentation.
 */
#define LEB128_BITS 70
#define AUGMENTATION_BYTES 16

/* What is left of an entry; damaged once something did not fit. */
struct cursor {
	const uint8_t *next;
	const uint8_t *end;
	bool is_damaged;
};

static uint64_t take(struct cursor *cursor, size_t bytes)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->next) < bytes) {
		cursor->is_damaged = true;
		cursor->next = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->next, bytes);
	cursor->next += bytes;
	return value;
}

/* A LEB128 number, of which the lowest 64 bits count. */
static uint64_t take_leb128(struct cursor *cursor)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = take(cursor, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
		cursor->is_damaged |= shift > LEB128_BITS;
	} while ((byte & 0x80) != 0 && !cursor->is_damaged);
	return value;
}

/* A number in a form of fixed size, sign-extended if it has a sign. */
static uint64_t take_encoded(struct cursor *cursor, uint8_t encoding)
{
	switch (encoding & ENCODING_FORM) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		return take(cursor, 8);
	case 0x02: /* udata2 */
		return take(cursor, 2);
	case 0x0a: /* sdata2 */
		return (uint64_t)(int16_t)take(cursor, 2);
	case 0x03: /* udata4 */
		return take(cursor, 4);
	case 0x0b: /* sdata4 */
		return (uint64_t)(int32_t)take(cursor, 4);
	default:
		cursor->is_damaged = true;
		return 0;
	}
}

/*
 * Take an entry off the section: *entry is what follows its length, *id_at the place of the
 * number that tells a CIE (0) from an FDE.  Returns false at the end.
 */
static bool take_entry(struct cursor *section, struct cursor *entry)
{
	uint64_t bytes = take(section, 4);

	if (bytes == LONG_LENGTH)
		bytes = take(section, 8);
	if (section->is_damaged || bytes == 0 || bytes > (size_t)(section->end - section->next))
		return false;
	*entry = (struct cursor){section->next, section->next + bytes, false};
	section->next += bytes;
	return true;
}

/* The encoding of pointers in a CIE's FDEs.  Returns false for a CIE that cannot be read. */
static bool read_cie(const struct hs_eh_frame *section, size_t offset, uint8_t *encoding)
{
	struct cursor rest = {section->bytes + offset, section->bytes + section->size, false};
	struct cursor cie;
	const uint8_t *text;
	uint64_t version;

	*encoding = ENCODING_ABSOLUTE;
	if (!take_entry(&rest, &cie) || take(&cie, 4) != 0)
		return false;
	version = take(&cie, 1);
	text = cie.next;
	while (take(&cie, 1) != 0 && cie.next - text < AUGMENTATION_BYTES) {
	}
	if (cie.is_damaged || cie.next[-1] != '\0' || (version != 1 && version != 3) ||
	    (*text != 'z' && *text != '\0'))
		return false;
	take_leb128(&cie); /* alignment of code, of data, return address */
	take_leb128(&cie);
	version == 1 ? take(&cie, 1) : take_leb128(&cie);
	if (*text == 'z')
		take_leb128(&cie);
	for (; *text != '\0'; text++) {
		if (*text == 'R')
			*encoding = (uint8_t)take(&cie, 1);
		else if (*text == 'L')
			take(&cie, 1);
		else if (*text == 'P')
			take_encoded(&cie, (uint8_t)take(&cie, 1));
	}
	return !cie.is_damaged;
}

/* The range of an FDE, whose CIE pointer is at fde->next.  Returns false if it has none. */
static bool read_fde(const struct hs_eh_frame *section, struct cursor *fde, uint64_t *start,
		     uint64_t *bytes)
{
	size_t here = (size_t)(fde->next - section->bytes);
	uint64_t back = take(fde, 4), place;
	uint8_t encoding;

	if (back == 0 || back > here || !read_cie(section, here - back, &encoding))
		return false;
	place = section->address + (uint64_t)(fde->next - section->bytes);
	*start = take_encoded(fde, encoding);
	*bytes = take_encoded(fde, encoding & ENCODING_UNSIGNED);
	if ((encoding & ENCODING_BASE) == ENCODING_RELATIVE)
		*start += place;
	else if ((encoding & ENCODING_BASE) != ENCODING_ABSOLUTE)
		return false;
	return !fde->is_damaged && *bytes > 0;
}

static bool is_before(const struct hs_eh_frame_entry *a, const struct hs_eh_frame_entry *b)
{
	return a->start < b->start || (a->start == b->start && a->fde < b->fde);
}

/* Restore the heap, largest first, below entry i of count. */
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
	struct cursor rest = {section->bytes, section->bytes + section->size, false}, entry;
	uint64_t start, bytes;
	size_t count = 0;

	for (;;) {
		uint64_t fde = (uint64_t)(rest.next - section->bytes);
		int64_t distance;

		if (!take_entry(&rest, &entry))
			break;
		if (!read_fde(section, &entry, &start, &bytes))
			continue;
		distance = (int64_t)(start - section->address);
		if (start < code_start || start >= code_end || distance != (int32_t)distance ||
		    fde > INT32_MAX)
			continue;
		if (count < capacity)
			entries[count] =
				(struct hs_eh_frame_entry){(int32_t)distance, (int32_t)fde};
		count++;
	}
	sort(entries, count < capacity ? count : capacity);
	return count;
}
