/* SPDX-License-Identifier: BSD-2-Clause */
/* The set of map hints.  Run by the unwinding worker, and by the producer for a set of its own. */
#include "maps/map_hints.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/stats.h"
#include "base/sys.h"
#include "maps/address_range_map.h"
#include "maps/hint_object.h"
#include "maps/hint_setting.h"
#include "maps/map_hint_text.h"

#define FIRST_CAPACITY 16u

/* How long to wait for an object that could not be read. */
#define RETRY_NS HS_SECOND_NS

/* Later layers win. */
enum layer { LAYER_SETTING, LAYER_CALLS, LAYERS };

/* The part of a hint that is in one segment of its object. */
struct piece {
	uint64_t start; /* run-time addresses */
	uint64_t end;
	uint32_t mapping; /* HS_MAPPING_NONE: there was no memory for it */
};

struct hint {
	char *path; /* absolute; NULL: the place is free */
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	bool is_read;    /* the pieces are made */
	bool is_missing; /* in vain: without the object there is one, for all of the hint */
	bool is_marked;  /* see collect() */
	uint32_t piece_count;
	/* The first one is also for what is in none. */
	struct piece pieces[HS_ELF_CODE_SEGMENTS];
};

struct hs_map_hints {
	struct hs_mapping_store *store;
	struct hs_hint_setting setting;
	struct hs_address_range_map layers[LAYERS]; /* the value is an index of hints */
	struct hint *hints;
	uint32_t count;
	uint32_t capacity;
	uint32_t free_count; /* places without a path */
	uint32_t first_free; /* none of them is below this one */
	uint64_t generation;
	bool has_missing;  /* some hint's object is */
	uint64_t retry_ns; /* then: when to look again */
};

struct hs_map_hints *hs_map_hints_create(struct hs_mapping_store *store, const char *setting,
					 bool report)
{
	struct hs_map_hints *hints = hs_arena_zalloc(sizeof *hints);

	if (hints == NULL)
		return NULL;
	hints->store = store;
	if (hs_hint_setting_init(&hints->setting, setting, report) == 0)
		return hints;
	hs_map_hints_destroy(hints);
	return NULL;
}

void hs_map_hints_destroy(struct hs_map_hints *hints)
{
	if (hints == NULL)
		return;
	for (int layer = 0; layer < LAYERS; layer++)
		hs_address_range_map_fini(&hints->layers[layer]);
	for (uint32_t i = 0; i < hints->count; i++)
		hs_arena_free(hints->hints[i].path);
	hs_arena_free(hints->hints);
	hs_hint_setting_fini(&hints->setting);
	hs_arena_free(hints);
}

/* Frees the places of hints that have lost all their addresses. */
static void collect(struct hs_map_hints *hints)
{
	hints->first_free = 0;
	for (int layer = 0; layer < LAYERS; layer++) {
		const struct hs_address_range_map *map = &hints->layers[layer];
		const struct hs_address_range *range = hs_address_range_map_from(map, 0);

		for (; range != NULL; range = hs_address_range_map_from(map, range->end))
			hints->hints[range->value].is_marked = true;
	}
	for (uint32_t i = 0; i < hints->count; i++) {
		struct hint *hint = &hints->hints[i];

		if (!hint->is_marked && hint->path != NULL) {
			hs_arena_free(hint->path);
			hint->path = NULL;
			hints->free_count++;
		}
		hint->is_marked = false;
	}
}

static int make_room(struct hs_map_hints *hints)
{
	uint32_t capacity = hints->capacity == 0 ? FIRST_CAPACITY : hints->capacity * 2;
	struct hint *larger;

	if (hints->free_count > 0 || hints->count < hints->capacity)
		return 0;
	collect(hints);
	/* Do not try again soon. */
	if (hints->free_count > hints->capacity / 2)
		return 0;
	larger = hs_arena_realloc(hints->hints, capacity * sizeof *larger);
	if (larger == NULL)
		return hints->free_count > 0 ? 0 : -ENOMEM;
	hints->hints = larger;
	hints->capacity = capacity;
	return 0;
}

static uint32_t take_place(struct hs_map_hints *hints)
{
	if (hints->count < hints->capacity)
		return hints->count++;
	while (hints->hints[hints->first_free].path != NULL)
		hints->first_free++;
	hints->free_count--;
	return hints->first_free++;
}

static int add(struct hs_map_hints *hints, enum layer layer, const struct hs_map_hint *from)
{
	struct hs_address_range_map *map = &hints->layers[layer];
	uint64_t end = from->start + from->length;
	int error = make_room(hints);
	uint32_t place;
	char *path;

	if (error < 0)
		return error;
	path = hs_hint_setting_absolute(&hints->setting, from->path, from->path_bytes);
	if (path == NULL)
		return -ENOMEM;
	place = take_place(hints);
	hints->hints[place] = (struct hint){
		.path = path,
		.start = from->start,
		.end = end,
		.offset = from->offset,
	};
	hints->generation++;
	/* The set that reports, the producer's, has the worker's hints once more. */
	if (!hints->setting.report)
		hs_stats_add(map_hints, 1);
	/* On failure the place is without addresses: collect() frees it. */
	return hs_address_range_map_trim_overlaps_and_emplace(map, from->start, end, place);
}

int hs_map_hints_add(struct hs_map_hints *hints, const char *path, uint64_t start, uint64_t length,
		     uint64_t offset)
{
	struct hs_map_hint hint = {
		.path = path,
		.path_bytes = strlen(path),
		.start = start,
		.length = length,
		.offset = offset,
	};

	return add(hints, LAYER_CALLS, &hint);
}

int hs_map_hints_remove(struct hs_map_hints *hints, uint64_t start, uint64_t length)
{
	int result = 0;

	hints->generation++;
	for (int layer = 0; layer < LAYERS; layer++) {
		int error = hs_address_range_map_remove_overlaps(&hints->layers[layer], start,
								 start + length);
		if (error < 0)
			result = error;
	}
	return result;
}

static void add_from_setting(void *context, const struct hs_map_hint *hint)
{
	/* Without memory the hint has no effect. */
	(void)add(context, LAYER_SETTING, hint);
}

/*
 * The mapping of a hint for the addresses of one segment: load_bias takes them to that
 * segment's virtual addresses.  Without a segment they are offsets into the file; the symbols of an
 * ET_REL object are relative to its text section.
 */
static uint32_t make_mapping(struct hs_map_hints *hints, const struct hint *hint,
			     const struct hs_hint_object *object,
			     const struct hs_elf_code_segment *segment)
{
	struct hs_mapping mapping = {
		.start = hint->start,
		.end = hint->end,
		.offset = hint->offset,
		.load_bias = hint->start - hint->offset,
		.inode = object->inode,
		.device = object->device,
		.version = object->version,
		.path = hint->path,
		.flags = HS_MAPPING_FILE | HS_MAPPING_HINT,
	};

	memcpy(mapping.build_id, object->build_id, sizeof mapping.build_id);
	if (segment != NULL)
		mapping.load_bias += segment->offset - segment->address;
	else if (!object->is_relocatable)
		mapping.flags |= HS_MAPPING_FLAT;
	return hs_mapping_store_intern(hints->store, &mapping);
}

static void add_piece(struct hs_map_hints *hints, struct hint *hint,
		      const struct hs_hint_object *object,
		      const struct hs_elf_code_segment *segment)
{
	uint64_t first = segment->offset, end = segment->offset + segment->bytes;
	uint64_t hint_end = hint->offset + (hint->end - hint->start);

	if (first < hint->offset)
		first = hint->offset;
	if (end > hint_end)
		end = hint_end;
	if (first >= end)
		return;
	hint->pieces[hint->piece_count++] = (struct piece){
		.start = hint->start + (first - hint->offset),
		.end = hint->start + (end - hint->offset),
		.mapping = make_mapping(hints, hint, object, segment),
	};
}

static void read_object(struct hs_map_hints *hints, struct hint *hint)
{
	struct hs_hint_object object;
	int result = hs_hint_object_read(hint->path, &object);

	/* What cannot be read has no segments: its addresses are named by their offset. */
	hint->piece_count = 0;
	for (unsigned i = 0; i < object.code.count; i++)
		add_piece(hints, hint, &object, &object.code.segments[i]);
	if (hint->piece_count == 0)
		hint->pieces[hint->piece_count++] = (struct piece){
			.mapping = make_mapping(hints, hint, &object, NULL),
		};
	hint->is_read = true;
	/* libelf would fail the assertion again. */
	hint->is_missing = result < 0 && result != -ENOTRECOVERABLE;
	if (hint->is_missing && !hints->has_missing) {
		hints->has_missing = true;
		hints->retry_ns = hs_sys_monotonic_ns() + RETRY_NS;
	}
}

/* Reads objects that could not be read before, which may be there by now. */
static void retry(struct hs_map_hints *hints)
{
	hints->has_missing = false;
	for (uint32_t i = 0; i < hints->count; i++) {
		struct hint *hint = &hints->hints[i];
		uint32_t before = hint->pieces[0].mapping;

		if (hint->path == NULL || !hint->is_missing)
			continue;
		read_object(hints, hint);
		hints->generation += hint->pieces[0].mapping != before;
	}
}

void hs_map_hints_follow(struct hs_map_hints *hints)
{
	if (hints->has_missing && hs_sys_monotonic_ns() >= hints->retry_ns)
		retry(hints);
	if (!hs_hint_setting_refresh(&hints->setting))
		return;
	hs_address_range_map_clear(&hints->layers[LAYER_SETTING]);
	hints->generation++;
	hs_hint_setting_each(&hints->setting, add_from_setting, hints);
}

static struct hint *find_hint(const struct hs_map_hints *hints, uint64_t address)
{
	for (int layer = LAYERS; layer-- > 0;) {
		const struct hs_address_range *range =
			hs_address_range_map_find(&hints->layers[layer], address);

		if (range != NULL)
			return &hints->hints[range->value];
	}
	return NULL;
}

uint32_t hs_map_hints_find(struct hs_map_hints *hints, uint64_t address)
{
	struct hint *hint = find_hint(hints, address);

	if (hint == NULL)
		return HS_MAPPING_NONE;
	if (!hint->is_read)
		read_object(hints, hint);
	for (uint32_t i = 0; i < hint->piece_count; i++) {
		if (address >= hint->pieces[i].start && address < hint->pieces[i].end)
			return hint->pieces[i].mapping;
	}
	return hint->pieces[0].mapping;
}

uint64_t hs_map_hints_generation(const struct hs_map_hints *hints)
{
	return hints->generation;
}
