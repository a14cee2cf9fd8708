/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of generated code.  Runs on the producer. */
#include "symbolize/jit_map.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "symbolize/demangle.h"
#include "symbolize/jit_name.h"

enum { FIRST_CODES = 256 };

/* Texts of equal key are told apart by clash; as good as never are there two. */
struct name {
	uint64_t hash;
	uint32_t bytes;
	uint32_t clash;
	char *text;  /* as the compiler gave it */
	char *shown; /* NULL: as text */
	char *file;  /* NULL: not known */
	uint32_t start_line;
};

int hs_jit_map_init(struct hs_jit_map *map, size_t most_bytes)
{
	*map = (struct hs_jit_map){.most_bytes = most_bytes};
	return hs_interner_init(&map->names, sizeof(struct name), offsetof(struct name, text));
}

static struct name *name_at(const struct hs_jit_map *map, uint32_t index)
{
	return hs_interner_item(&map->names, index);
}

static void free_name(struct name *name)
{
	hs_arena_free(name->text);
	hs_arena_free(name->shown);
	hs_arena_free(name->file);
}

void hs_jit_map_fini(struct hs_jit_map *map)
{
	for (uint32_t i = 0; i < map->code_count; i++)
		hs_arena_free(map->codes[i].text);
	for (uint32_t i = 0; i < map->names.count; i++)
		free_name(name_at(map, i));
	hs_arena_free(map->codes);
	hs_interner_fini(&map->names);
	hs_address_range_map_fini(&map->ranges);
	*map = (struct hs_jit_map){0};
}

static char *copy_text(const char *text, size_t bytes)
{
	char *copy = hs_arena_alloc(bytes + 1);

	if (copy != NULL) {
		memcpy(copy, text, bytes);
		copy[bytes] = '\0';
	}
	return copy;
}

static size_t cost(size_t text_bytes)
{
	return sizeof(struct hs_jit_code) + sizeof(struct hs_address_range_node) + text_bytes;
}

/* Its range is not in the map any more. */
static void release_code(void *context, const struct hs_address_range *range)
{
	struct hs_jit_map *map = context;
	struct hs_jit_code *code = &map->codes[range->value];

	map->bytes -= cost(strlen(code->text));
	hs_arena_free(code->text);
	code->text = NULL;
	code->name = map->free_code;
	map->free_code = range->value + 1;
}

/* Index of a code that is not in use; UINT32_MAX: out of memory. */
static uint32_t unused_code(struct hs_jit_map *map)
{
	uint32_t capacity = map->code_capacity == 0 ? FIRST_CODES : map->code_capacity * 2;
	struct hs_jit_code *larger;

	if (map->free_code != 0)
		return map->free_code - 1;
	if (map->code_count == map->code_capacity) {
		larger = hs_arena_realloc(map->codes, (size_t)capacity * sizeof *larger);
		if (larger == NULL)
			return UINT32_MAX;
		map->codes = larger;
		map->code_capacity = capacity;
	}
	return map->code_count;
}

static void use_code(struct hs_jit_map *map, uint32_t index, const struct hs_jit_code *code)
{
	if (index == map->code_count)
		map->code_count++;
	else
		map->free_code = map->codes[index].name;
	map->codes[index] = *code;
	map->bytes += cost(strlen(code->text));
}

static bool is_there(const struct hs_jit_map *map, uint64_t start, uint64_t end, const char *text,
		     size_t text_bytes, uint32_t object)
{
	const struct hs_address_range *range = hs_address_range_map_find(&map->ranges, start);
	const struct hs_jit_code *code;

	if (range == NULL || range->start != start || range->end != end)
		return false;
	code = &map->codes[range->value];
	return code->object == object && strlen(code->text) == text_bytes &&
	       memcmp(code->text, text, text_bytes) == 0;
}

/* What was at [start, end) is not there any more, whatever has come instead. */
static void drop_overlaps(struct hs_jit_map *map, uint64_t start, uint64_t end)
{
	hs_address_range_map_delete_overlaps(&map->ranges, start, end, release_code, map);
}

int hs_jit_map_add(struct hs_jit_map *map, uint64_t start, uint64_t end, const char *text,
		   size_t text_bytes, uint32_t object)
{
	struct hs_jit_code code = {.start = start, .end = end, .object = object};
	uint32_t index;

	if (end <= start || end - start > HS_JIT_MAX_BYTES || text_bytes == 0)
		return -EINVAL;
	if (is_there(map, start, end, text, text_bytes, object))
		return 0;
	drop_overlaps(map, start, end);
	if (map->bytes + cost(text_bytes) > map->most_bytes)
		return -ENOMEM;
	index = unused_code(map);
	code.text = copy_text(text, text_bytes);
	if (index == UINT32_MAX || code.text == NULL ||
	    hs_address_range_map_emplace(&map->ranges, start, end, index) != 0) {
		hs_arena_free(code.text);
		return -ENOMEM;
	}
	use_code(map, index, &code);
	return 0;
}

void hs_jit_map_remove(struct hs_jit_map *map,
		       bool (*is_gone)(const void *context, uint32_t object), const void *context)
{
	for (uint32_t i = 0; i < map->code_count; i++) {
		struct hs_jit_code *code = &map->codes[i];

		if (code->text != NULL && is_gone(context, code->object))
			drop_overlaps(map, code->start, code->end);
	}
}

/* Index of the name with this text, or of the key under which it is to be added. */
static uint32_t find_name(const struct hs_jit_map *map, const char *text, struct name *key)
{
	uint32_t index;

	key->bytes = (uint32_t)strlen(text);
	key->hash = hs_hash_bytes(1, text, key->bytes);
	for (key->clash = 0;; key->clash++) {
		index = hs_interner_find(&map->names, key);
		if (index == HS_INTERNER_NONE || strcmp(name_at(map, index)->text, text) == 0)
			return index;
	}
}

static bool copy_parts(struct name *name, const char *text)
{
	static char demangled[HS_DEMANGLED_BYTES];
	struct hs_jit_name_parts parts;
	size_t bytes;
	bool same;

	hs_jit_name_split(text, &parts);
	same = parts.name == text && parts.name_bytes == name->bytes;
	bytes = same ? hs_demangle(text, demangled) : 0;
	if (bytes > 0) {
		parts.name = demangled;
		parts.name_bytes = bytes;
		same = false;
	}
	name->start_line = parts.start_line;
	name->text = copy_text(text, name->bytes);
	name->shown = same ? NULL : copy_text(parts.name, parts.name_bytes);
	name->file = parts.file_bytes == 0 ? NULL : copy_text(parts.file, parts.file_bytes);
	return name->text != NULL && (same || name->shown != NULL) &&
	       (parts.file_bytes == 0 || name->file != NULL);
}

static uint32_t intern_name(struct hs_jit_map *map, const char *text)
{
	struct name name = {0};
	uint32_t index = find_name(map, text, &name);

	if (index != HS_INTERNER_NONE)
		return index;
	if (copy_parts(&name, text))
		index = hs_interner_add(&map->names, &name);
	if (index == HS_INTERNER_NONE)
		free_name(&name);
	return index;
}

uint32_t hs_jit_map_find(struct hs_jit_map *map, uint64_t address, uint32_t *object)
{
	const struct hs_address_range *range = hs_address_range_map_find(&map->ranges, address);
	struct hs_jit_code *code;

	if (range == NULL)
		return 0;
	code = &map->codes[range->value];
	*object = code->object;
	if (code->name == 0)
		code->name = intern_name(map, code->text) + 1; /* HS_INTERNER_NONE becomes 0 */
	return code->name;
}

void hs_jit_map_name(const struct hs_jit_map *map, uint32_t number, struct hs_jit_name *out)
{
	const struct name *name = name_at(map, number - 1);

	*out = (struct hs_jit_name){
		.name = name->shown != NULL ? name->shown : name->text,
		.system_name = name->text,
		.file = name->file != NULL ? name->file : "",
		.start_line = name->start_line,
	};
}
