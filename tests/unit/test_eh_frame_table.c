/* SPDX-License-Identifier: BSD-2-Clause */
/* Search tables made from .eh_frame must be as the linker's of the same sections. */
#include "unwind/eh_frame_table.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>

#include "check.h"
#include "unwind/eh_frame_hdr.h"

/* A loaded object's .eh_frame, and the linker's table of it. */
struct object {
	struct hs_eh_frame section;
	const int32_t *table; /* pairs, relative to the header */
	size_t count;
	intptr_t header_from_section; /* bytes */
};

static int objects;

static uint64_t value_of(const uint8_t *from, uint8_t encoding)
{
	int32_t relative;

	CHECK_INT(encoding, 0x1b); /* pcrel, sdata4 */
	memcpy(&relative, from, sizeof relative);
	return (uintptr_t)from + (uint64_t)(int64_t)relative;
}

/* Fills in object.  False: there is no table, or not in the form that linkers use. */
static bool look_at(const struct dl_phdr_info *info, struct object *object)
{
	const uint8_t *header = NULL, *start;
	struct hs_search_table table;
	uintptr_t end = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) {
			header = (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
			if (!hs_eh_frame_hdr_parse(header, HS_EH_FRAME_HDR_BYTES,
						   info->dlpi_phdr[i].p_memsz, &table))
				return false;
		}
	}
	if (header == NULL)
		return false;
	start = (const uint8_t *)(uintptr_t)value_of(header + 4, header[1]);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t first = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && (uintptr_t)start >= first &&
		    (uintptr_t)start < first + segment->p_memsz)
			end = first + segment->p_memsz;
	}
	CHECK(end > (uintptr_t)start);
	*object = (struct object){
		/* Its own end is marked by a length of 0. */
		.section = {start, end - (uintptr_t)start, (uintptr_t)start},
		.table = (const int32_t *)(const void *)(header + table.entries),
		.count = table.count,
		.header_from_section = (intptr_t)header - (intptr_t)start,
	};
	return true;
}

static int compare(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	struct hs_eh_frame_entry *entries;
	struct object object;
	size_t different = 0;

	(void)bytes, (void)unused;
	if (!look_at(info, &object))
		return 0;
	objects++;
	entries = calloc(object.count + 1, sizeof *entries);
	CHECK_INT(hs_eh_frame_table_make(&object.section, 0, UINT64_MAX, NULL, 0), object.count);
	CHECK_INT(hs_eh_frame_table_make(&object.section, 0, UINT64_MAX, entries, object.count),
		  object.count);
	for (size_t i = 0; i < object.count; i++) {
		if (entries[i].start != object.table[2 * i] + object.header_from_section ||
		    entries[i].fde != object.table[2 * i + 1] + object.header_from_section)
			different++;
	}
	CHECK_INT(different, 0);
	CHECK_INT(entries[object.count].fde, 0);
	printf("%s: %zu entries\n", info->dlpi_name, object.count);
	free(entries);
	return 0;
}

static void test_as_the_linker(void)
{
	dl_iterate_phdr(compare, NULL);
	/* The program and libc, at least. */
	CHECK(objects >= 2);
}

/* One CIE and two FDEs, written by hand. */
static const uint8_t small[] = {
	/* 0: a CIE, "zR", pointers pcrel udata4 */
	0x10, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x13, 0, 0, 0,
	/* 20: an FDE of [0x2000, 0x2010): the place is 0x1000 + 28 */
	0x0d, 0, 0, 0, 24, 0, 0, 0, 0xe4, 0x0f, 0, 0, 0x10, 0, 0, 0, 0,
	/* 37: an FDE of [0x1800, 0x1804): the place is 0x1000 + 45 */
	0x0d, 0, 0, 0, 41, 0, 0, 0, 0xd3, 0x07, 0, 0, 4, 0, 0, 0, 0,
	/* 54: the end */
	0, 0, 0, 0};

static size_t make(const uint8_t *bytes, size_t size, struct hs_eh_frame_entry *entries)
{
	const struct hs_eh_frame section = {bytes, size, 0x1000};

	return hs_eh_frame_table_make(&section, 0x1800, 0x2001, entries, 2);
}

static void test_small(void)
{
	struct hs_eh_frame section = {small, sizeof small, 0x1000};
	struct hs_eh_frame_entry entries[2];

	CHECK_INT(make(small, sizeof small, entries), 2);
	CHECK_INT(entries[0].start, 0x800);
	CHECK_INT(entries[0].fde, 37);
	CHECK_INT(entries[1].start, 0x1000);
	CHECK_INT(entries[1].fde, 20);
	/* A function is in the range if it begins there. */
	CHECK_INT(hs_eh_frame_table_make(&section, 0x1801, 0x2001, entries, 2), 1);
	CHECK_INT(hs_eh_frame_table_make(&section, 0x1800, 0x2000, entries, 2), 1);
	/* The end needs no mark. */
	CHECK_INT(make(small, 54, entries), 2);
	CHECK_INT(make(small, 53, entries), 1);
	CHECK_INT(make(small, 0, entries), 0);
}

/* Whatever is in the section, nothing outside of it is read, and reading ends. */
static void test_damage(void)
{
	uint8_t *copy = malloc(sizeof small);
	struct hs_eh_frame_entry entries[2];
	unsigned left = 0;

	for (size_t i = 0; i < sizeof small; i++) {
		for (unsigned byte = 0; byte < 256; byte++) {
			memcpy(copy, small, sizeof small);
			copy[i] = (uint8_t)byte;
			left += make(copy, sizeof small, entries) == 2;
		}
	}
	CHECK(left > sizeof small && left < 256 * sizeof small);
	free(copy);
}

/* A CIE with a letter after the other: it is not read to its end for each FDE. */
static void test_long_cie(void)
{
	enum { COUNT = 400000, CIE_BYTES = 4 << 20, FDE_BYTES = 20 };
	size_t size = CIE_BYTES + (size_t)COUNT * FDE_BYTES;
	uint8_t *bytes = malloc(size);
	struct hs_eh_frame_entry entries[2];
	const uint32_t cie[2] = {CIE_BYTES - 4, 0}, length = FDE_BYTES - 4;

	memset(bytes, 'z', size);
	memcpy(bytes, cie, sizeof cie);
	bytes[8] = 1;
	for (uint32_t i = 0; i < COUNT; i++) {
		uint8_t *fde = bytes + CIE_BYTES + (size_t)i * FDE_BYTES;
		uint32_t back = CIE_BYTES + i * FDE_BYTES + 4;

		memcpy(fde, &length, 4);
		memcpy(fde + 4, &back, 4);
	}
	CHECK_INT(make(bytes, size, entries), 0);
	free(bytes);
}

int main(void)
{
	RUN(test_as_the_linker);
	RUN(test_small);
	RUN(test_damage);
	RUN(test_long_cie);
	return CHECK_RESULT();
}
