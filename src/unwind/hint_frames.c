/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the unwind tables of hinted objects.  Run by the unwinding worker. */
#include "unwind/hint_frames.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "arch/relocation.h"
#include "base/arena.h"
#include "base/elf_file.h"
#include "base/libelf.h"
#include "base/stats.h"

/* The space: place n is [SPACE + n * PLACE_BYTES, + PLACE_BYTES); n from 1. */
#define SPACE ((uint64_t)1 << 62)
#define PLACE_BYTES ((uint64_t)1 << 40)
#define PLACES ((uint32_t)1 << 20)
/* Within a place the object's own addresses begin at 0, and its search table here. */
#define TABLE_AT ((uint64_t)1 << 39)

/* hs_hint_frames_trim() does nothing below. */
#define TRIM_BYTES ((size_t)16 << 20)

#define BUCKETS 64u

struct object {
	const struct hs_mapping *mapping;
	uint32_t next;              /* object of the same bucket + 1 */
	uint64_t shift;             /* see hs_search_table */
	struct hs_eh_frame section; /* its bytes are the arena's */
	struct hs_eh_frame_entry *table;
	size_t table_count; /* 0: no tables */
};

struct hs_hint_frames {
	struct object *objects; /* in place `first` and those after it */
	uint32_t count;
	uint32_t capacity;
	uint32_t first;
	size_t bytes;              /* of sections and tables */
	uint32_t buckets[BUCKETS]; /* index of an object + 1, by mapping */
};

/* An object file being read. */
struct reading {
	const struct hs_mapping *mapping;
	struct object *object; /* to be filled */
	Elf *elf;
	uint64_t place; /* address of the object's address `low` */
	uint64_t low;   /* the first address of its segments; 0 of an ET_REL object */
	size_t text;    /* ET_REL: index of the text section */
	uint64_t text_bytes;
};

struct hs_hint_frames *hs_hint_frames_create(void)
{
	struct hs_hint_frames *frames = hs_arena_zalloc(sizeof *frames);

	if (frames != NULL)
		frames->first = 1;
	return frames;
}

static void drop(struct hs_hint_frames *frames)
{
	for (uint32_t i = 0; i < frames->count; i++) {
		hs_arena_free((void *)(uintptr_t)frames->objects[i].section.bytes);
		hs_arena_free(frames->objects[i].table);
	}
	/* A place is not used again: an address in it that was kept reads as zero. */
	frames->first += frames->count;
	frames->count = 0;
	frames->bytes = 0;
	memset(frames->buckets, 0, sizeof frames->buckets);
}

void hs_hint_frames_destroy(struct hs_hint_frames *frames)
{
	if (frames == NULL)
		return;
	drop(frames);
	hs_arena_free(frames->objects);
	hs_arena_free(frames);
}

void hs_hint_frames_trim(struct hs_hint_frames *frames)
{
	if (frames->bytes > TRIM_BYTES)
		drop(frames);
}

static bool find_text(struct reading *reading)
{
	GElf_Shdr header;
	Elf_Scn *section = hs_libelf_find_text(reading->elf, &header);

	if (section == NULL)
		return false;
	reading->text = elf_ndxscn(section);
	reading->text_bytes = header.sh_size;
	return true;
}

/* The first address of the object's segments. */
static bool find_low(struct reading *reading)
{
	GElf_Phdr header;
	size_t count = 0;

	reading->low = UINT64_MAX;
	if (elf_getphdrnum(reading->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count && gelf_getphdr(reading->elf, (int)i, &header) != NULL; i++) {
		if (header.p_type == PT_LOAD && header.p_vaddr < reading->low)
			reading->low = header.p_vaddr;
	}
	return reading->low != UINT64_MAX;
}

/* Applies the section's relocations against the text; others are not needed. */
static void relocate(const struct reading *reading, Elf_Scn *relocations, const GElf_Shdr *header,
		     uint8_t *bytes, const struct hs_eh_frame *section)
{
	Elf_Data *data = elf_getdata(relocations, NULL);
	Elf_Scn *symbol_section = elf_getscn(reading->elf, header->sh_link);
	Elf_Data *symbols = symbol_section != NULL ? elf_getdata(symbol_section, NULL) : NULL;
	GElf_Rela entry;
	GElf_Sym symbol;

	if (data == NULL || symbols == NULL)
		return;
	for (int i = 0; gelf_getrela(data, i, &entry) != NULL; i++) {
		if (gelf_getsym(symbols, (int)GELF_R_SYM(entry.r_info), &symbol) == NULL ||
		    symbol.st_shndx != reading->text || entry.r_offset >= section->size)
			continue;
		hs_arch_relocate(bytes + entry.r_offset, section->size - entry.r_offset,
				 (uint32_t)GELF_R_TYPE(entry.r_info),
				 reading->place + symbol.st_value + (uint64_t)entry.r_addend,
				 section->address + entry.r_offset);
	}
}

static void relocate_all(const struct reading *reading, size_t index, uint8_t *bytes,
			 const struct hs_eh_frame *section)
{
	Elf_Scn *each = NULL;
	GElf_Shdr header;

	while ((each = elf_nextscn(reading->elf, each)) != NULL) {
		if (gelf_getshdr(each, &header) != NULL && header.sh_type == SHT_RELA &&
		    header.sh_info == index)
			relocate(reading, each, &header, bytes, section);
	}
}

/* Copies .eh_frame, as it is at its place. */
static bool read_section(const struct reading *reading, bool is_relocatable,
			 struct hs_eh_frame *section)
{
	GElf_Shdr header = {0};
	Elf_Scn *found = hs_libelf_find_section(reading->elf, ".eh_frame", &header);
	Elf_Data *data = found != NULL ? elf_rawdata(found, NULL) : NULL;
	uint64_t distance =
		is_relocatable ? (reading->text_bytes | 15) + 1 : header.sh_addr - reading->low;
	uint8_t *bytes;

	if (data == NULL || data->d_buf == NULL || data->d_size == 0 || distance > TABLE_AT / 2 ||
	    data->d_size > TABLE_AT / 4)
		return false;
	bytes = hs_arena_alloc(data->d_size);
	if (bytes == NULL)
		return false;
	memcpy(bytes, data->d_buf, data->d_size);
	*section = (struct hs_eh_frame){bytes, data->d_size, reading->place + distance};
	if (is_relocatable)
		relocate_all(reading, elf_ndxscn(found), bytes, section);
	return true;
}

static void make_table(struct object *object, uint64_t code_start, uint64_t code_end)
{
	size_t count = hs_eh_frame_table_make(&object->section, code_start, code_end, NULL, 0);

	if (count == 0)
		return;
	object->table = hs_arena_alloc(count * sizeof *object->table);
	if (object->table == NULL)
		return;
	object->table_count = hs_eh_frame_table_make(&object->section, code_start, code_end,
						     object->table, count);
}

static int read_object(void *context, struct hs_elf_file *file)
{
	struct reading *reading = context;
	const struct hs_mapping *mapping = reading->mapping;
	struct object *object = reading->object;
	int result = hs_elf_file_open(file, mapping->path);
	bool is_relocatable;

	if (result < 0)
		return result;
	/* It may have been replaced, or written anew, since. */
	if (!hs_mapping_is_of_file(mapping, file))
		return -ESTALE;
	reading->elf = file->elf;
	is_relocatable = file->type == ET_REL;
	/* Its load bias gives offsets; the tables have addresses. */
	if (!is_relocatable && (mapping->flags & HS_MAPPING_FLAT) != 0)
		return -ENOEXEC;
	if (!(is_relocatable ? find_text(reading) : find_low(reading)))
		return -ENOEXEC;
	object->shift = reading->place - reading->low - mapping->load_bias;
	if (read_section(reading, is_relocatable, &object->section))
		make_table(object, mapping->start + object->shift, mapping->end + object->shift);
	return 0;
}

static uint32_t *bucket_of(struct hs_hint_frames *frames, const struct hs_mapping *mapping)
{
	return &frames->buckets[(uintptr_t)mapping / sizeof *mapping % BUCKETS];
}

static struct object *add_object(struct hs_hint_frames *frames, const struct hs_mapping *mapping)
{
	uint32_t *bucket = bucket_of(frames, mapping);
	struct object *larger = frames->objects;

	if (frames->first + frames->count >= PLACES)
		return NULL;
	if (frames->count == frames->capacity) {
		uint32_t capacity = frames->capacity == 0 ? 8 : frames->capacity * 2;

		larger = hs_arena_realloc(larger, capacity * sizeof *larger);
		if (larger == NULL)
			return NULL;
		frames->objects = larger;
		frames->capacity = capacity;
	}
	larger[frames->count] = (struct object){.mapping = mapping, .next = *bucket};
	*bucket = frames->count + 1;
	return &larger[frames->count++];
}

static struct object *find_object(struct hs_hint_frames *frames, const struct hs_mapping *mapping)
{
	struct reading reading;
	struct object *object;

	for (uint32_t i = *bucket_of(frames, mapping); i != 0; i = object->next) {
		object = &frames->objects[i - 1];
		if (object->mapping == mapping)
			return object;
	}
	object = add_object(frames, mapping);
	if (object == NULL)
		return NULL;
	reading = (struct reading){
		.mapping = mapping,
		.object = object,
		.place = SPACE + (frames->first + frames->count - 1) * PLACE_BYTES,
	};
	/* On failure the object has no table. */
	(void)hs_elf_file_use(read_object, &reading);
	frames->bytes += object->section.size + object->table_count * sizeof *object->table;
	if (object->table_count == 0)
		hs_stats_add(hint_tables_missing, 1);
	return object;
}

bool hs_hint_frames_find(struct hs_hint_frames *frames, const struct hs_mapping *mapping,
			 struct hs_search_table *table)
{
	const struct object *object = find_object(frames, mapping);

	if (object == NULL || object->table_count == 0)
		return false;
	*table = (struct hs_search_table){
		.shift = object->shift,
		.base = object->section.address,
		.entries = SPACE + TABLE_AT +
			   (frames->first + (uint64_t)(object - frames->objects)) * PLACE_BYTES,
		.count = object->table_count,
	};
	return true;
}

/* The byte at an offset, 0 outside; offset may be negative, modulo 2^64. */
static uint8_t byte_at(const void *bytes, size_t count, uint64_t offset)
{
	return offset < count ? ((const uint8_t *)bytes)[offset] : 0;
}

bool hs_hint_frames_read(const struct hs_hint_frames *frames, uint64_t address, void *to,
			 size_t bytes)
{
	uint64_t place = (address - SPACE) / PLACE_BYTES, offset;
	const struct object *object;
	uint8_t *out = to;

	if (address < SPACE || place >= PLACES)
		return false;
	memset(to, 0, bytes);
	if (place - frames->first >= frames->count)
		return true;
	object = &frames->objects[place - frames->first];
	offset = address - SPACE - place * PLACE_BYTES;
	for (size_t i = 0; i < bytes; i++) {
		if (offset >= TABLE_AT)
			out[i] = byte_at(object->table, object->table_count * sizeof *object->table,
					 offset + i - TABLE_AT);
		else
			out[i] = byte_at(object->section.bytes, object->section.size,
					 address + i - object->section.address);
	}
	return true;
}
