/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of locations by symbol tables.  See names.h. */
#include "profile/names.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/elf_file.h"
#include "base/format.h"
#include "base/path.h"
#include "base/stats.h"
#include "symbolize/demangle.h"

enum { OFFSET_BYTES = 3 + 16 + 1 /* "+0x", digits, NUL */ };

static bool is_vdso(const struct hs_mapping *mapping)
{
	return strcmp(mapping->path, "[vdso]") == 0;
}

static bool is_anonymous(const struct hs_mapping *mapping)
{
	return (mapping->flags & HS_MAPPING_ANONYMOUS) != 0;
}

/*
 * Reads the symbols of an object in names->objects; *out stays NULL if there are none.  pauses:
 * NULL: none.
 */
static void load(struct hs_names *names, const struct hs_mapping *mapping, uint32_t id,
		 const struct hs_wanted *wanted, struct hs_pauses *pauses, struct hs_symbols **out)
{
	struct hs_names_object *known;
	int result;

	if (names->objects[id].hopeless)
		return;
	if (is_vdso(mapping))
		result = hs_symbols_load_memory(mapping->start, mapping->end - mapping->start,
						wanted, out);
	else
		result = hs_symbols_load(mapping, wanted, pauses, out);
	known = &names->objects[id]; /* not before: a pause may move it */
	known->hopeless = result == -ENOTRECOVERABLE;
	known->edition += known->is_partial;
	known->is_partial = result == 0 ? hs_symbols_is_partial(*out)
					: hs_elf_file_is_shortage(result);
}

/* Reads names->filling: the symbols that contain the locations of a run. */
static void load_wanted(struct hs_names *names, const struct hs_location_run *run,
			const struct hs_mapping *mapping, uint32_t id, struct hs_pauses *pauses)
{
	uint64_t *addresses = hs_arena_alloc(run->count * sizeof *addresses);
	struct hs_wanted wanted = { addresses, run->count };
	struct hs_read_ahead_files files = names->objects[id].files;

	names->wanted = addresses;
	if (addresses == NULL) {
		names->objects[id].is_partial = true;
		return;
	}
	for (uint32_t i = 0; i < run->count; i++)
		addresses[i] = hs_location_run_get(run, i)->address - mapping->load_bias;
	hs_read_ahead(&names->ahead, mapping, &files, pauses);
	names->objects[id].files = files; /* a pause may have moved it */
	load(names, mapping, id, &wanted, pauses, &names->filling);
}

/* NULL: no memory. */
static struct hs_names_object *get_object(struct hs_names *names, uint32_t id)
{
	struct hs_names_object *larger;

	if (id >= names->count) {
		larger = hs_arena_realloc(names->objects, ((size_t)id + 1) * sizeof *larger);
		if (larger == NULL)
			return NULL;
		memset(larger + names->count, 0, (id + 1 - names->count) * sizeof *larger);
		names->objects = larger;
		names->count = id + 1;
	}
	return &names->objects[id];
}

static uint64_t debug_version(const struct hs_names_object *object,
			      const struct hs_mapping *mapping)
{
	struct hs_debug_key key;

	if (object->debug_key == NULL)
		return 0;
	key = *object->debug_key;
	key.path = mapping->path;
	return hs_debug_file_version(&key);
}

/* Best effort: without memory for debug_key a debug file that comes later is not noticed. */
static void note_object(struct hs_names_object *object, const struct hs_symbols *symbols,
			const struct hs_mapping *mapping)
{
	const struct hs_debug_key *key = hs_symbols_debug_key(symbols);

	object->has_dwarf = !is_vdso(mapping) && hs_symbols_object_has_dwarf(symbols);
	if (key == NULL)
		return;
	if (object->debug_key == NULL)
		object->debug_key = hs_arena_alloc(sizeof *object->debug_key);
	if (object->debug_key == NULL)
		return;
	*object->debug_key = *key;
	object->edition += object->debug_version != hs_symbols_debug_version(symbols);
	object->debug_version = hs_symbols_debug_version(symbols);
}

/* An object out of reach, of which there is no debug file either: that may come. */
static void note_missing(struct hs_names_object *object, const struct hs_mapping *mapping)
{
	if (object->debug_key != NULL || (mapping->flags & HS_MAPPING_FLAT) != 0)
		return;
	object->debug_key = hs_arena_zalloc(sizeof *object->debug_key);
	if (object->debug_key != NULL)
		memcpy(object->debug_key->build_id, mapping->build_id, sizeof mapping->build_id);
}

/*
 * Names a location "FILE+0xADDRESS", with the address of the object's own tables; in memory without
 * a file, with its own.  symbols: NULL: there are none.
 */
static void name_by_address(const struct hs_symbols *symbols, const struct hs_mapping *mapping,
			    struct hs_location *location)
{
	bool anonymous = is_anonymous(mapping);
	uint64_t address = location->address - (anonymous ? 0 : mapping->load_bias);
	const char *path = anonymous ? mapping->path : hs_path_last(mapping->path);
	struct hs_shared_name *name = NULL;
	size_t capacity;
	char *text;

	capacity = strlen(path) + OFFSET_BYTES;
	text = hs_arena_alloc(capacity);
	if (text != NULL) {
		if (symbols != NULL)
			address = hs_symbols_address(symbols, address);
		hs_format(text, capacity, "%s+0x%llx", path, (unsigned long long)address);
		name = hs_shared_name_create(text, NULL);
	}
	hs_arena_free(text);
	hs_location_set_name(location, name);
	hs_shared_name_release(name);
}

/*
 * Names a location by the symbol that contains it.  Whether there is one.  *last: the name given
 * before, held; locations of one function follow one another, and share it.
 */
static bool name_by_symbol(const struct hs_symbols *symbols, const struct hs_mapping *mapping,
			   struct hs_location *location, struct hs_shared_name **last)
{
	const char *found = hs_symbols_find(symbols, location->address - mapping->load_bias);
	char text[HS_DEMANGLED_BYTES], cut[HS_DEMANGLED_BYTES];
	const char *system_name;

	if (found == NULL)
		return false;
	system_name = hs_cut_linkage_name(found, cut);
	if (*last == NULL || strcmp((*last)->system_name, system_name) != 0) {
		hs_shared_name_release(*last);
		*last = hs_shared_name_create(hs_demangle(found, text) > 0 ? text : system_name,
					      system_name);
	}
	if (*last != NULL)
		hs_location_set_name(location, *last);
	return true;
}

static void free_kept(struct hs_names *names, struct hs_names_object *object)
{
	if (object->kept == NULL)
		return;
	names->kept_bytes -= hs_symbols_bytes(object->kept);
	hs_symbols_free(object->kept);
	object->kept = NULL;
}

/* Frees the kept symbols that were not used for longest, but not those of `last`. */
static void bound_kept(struct hs_names *names, struct hs_names_object *last)
{
	while (names->kept_bytes > names->kept_most) {
		struct hs_names_object *oldest = NULL;

		for (uint32_t i = 0; i < names->count; i++) {
			struct hs_names_object *object = &names->objects[i];

			if (object->kept != NULL && object != last &&
			    (oldest == NULL || object->used < oldest->used))
				oldest = object;
		}
		if (oldest == NULL)
			return;
		oldest->is_large = true;
		free_kept(names, oldest);
	}
}

/* Reads the object for this location only.  Whether a symbol names it. */
static bool find_once(struct hs_names *names, struct hs_names_object *object,
		      struct hs_location *location, const struct hs_mapping *mapping, uint32_t id)
{
	uint64_t address = location->address - mapping->load_bias;
	const struct hs_wanted wanted = {&address, 1};
	struct hs_symbols *symbols = NULL;
	bool is_named;

	load(names, mapping, id, &wanted, NULL, &symbols);
	object->missing = symbols == NULL;
	is_named = symbols != NULL && name_by_symbol(symbols, mapping, location, &names->last);
	hs_symbols_free(symbols);
	return is_named;
}

/* Has the object's symbols in memory, reading them if need be.  Whether there are any. */
static bool keep(struct hs_names *names, struct hs_names_object *object,
		 const struct hs_mapping *mapping, uint32_t id)
{
	if (object->kept == NULL && !object->missing) {
		load(names, mapping, id, NULL, NULL, &object->kept);
		object->missing = object->kept == NULL;
		if (object->missing)
			return false;
		note_object(object, object->kept, mapping);
		names->kept_bytes += hs_symbols_bytes(object->kept);
		bound_kept(names, object);
	}
	object->used = ++names->uses;
	return object->kept != NULL;
}

bool hs_names_find(struct hs_names *names, struct hs_location *location,
		   const struct hs_mapping *mapping, uint32_t id)
{
	struct hs_names_object *object = is_anonymous(mapping) ? NULL : get_object(names, id);

	if (object == NULL)
		return false;
	if (object->is_large && !object->missing)
		return find_once(names, object, location, mapping, id);
	return keep(names, object, mapping, id) &&
	       name_by_symbol(object->kept, mapping, location, &names->last);
}

void hs_names_set_kept(struct hs_names *names, size_t most_bytes)
{
	names->kept_most = most_bytes;
}

void hs_names_end_round(struct hs_names *names)
{
	for (uint32_t i = 0; i < names->count; i++) {
		if (names->objects[i].used <= names->round)
			free_kept(names, &names->objects[i]);
	}
	names->round = names->uses;
}

/* Whether a location has no name, or one that a symbol may replace by now. */
static bool is_worth_reading(const struct hs_names_object *object,
			     const struct hs_location_run *run, const struct hs_mapping *mapping)
{
	bool any = false;

	for (uint32_t i = 0; i < run->count; i++) {
		const struct hs_location *location = hs_location_run_get(run, i);
		bool is_by_symbol = location->system_name != NULL;

		if (location->name == NULL ||
		    (!is_by_symbol && location->edition != object->edition))
			return true;
		any = any || !is_by_symbol;
	}
	return any && (object->is_partial ||
		       debug_version(object, mapping) != object->debug_version);
}

void hs_names_after_fork(struct hs_names *names, bool is_whole)
{
	hs_read_ahead_after_fork(&names->ahead);
	if (is_whole && names->filling != NULL)
		hs_symbols_after_fork(names->filling);
}

void hs_names_end_fill(struct hs_names *names)
{
	hs_symbols_free(names->filling);
	hs_arena_free(names->wanted);
	names->filling = NULL;
	names->wanted = NULL;
}

static void fill_anonymous(const struct hs_location_run *run, const struct hs_mapping *mapping,
			   struct hs_pauses *pauses)
{
	for (uint32_t i = 0; i < run->count; i++) {
		struct hs_location *location = hs_location_run_get(run, i);

		if (location->name == NULL)
			name_by_address(NULL, mapping, location);
		hs_pauses_count(pauses);
	}
}

static void fill_from_object(struct hs_names *names, const struct hs_location_run *run,
			     const struct hs_mapping *mapping, uint32_t id,
			     struct hs_pauses *pauses)
{
	struct hs_names_object *object = get_object(names, id);
	const struct hs_symbols *symbols;
	uint32_t edition;

	if (object == NULL) {
		hs_stats_add(names_missing, run->count);
		return;
	}
	if (object->is_partial) {
		/* hs_names_find() is to read the object again too. */
		object->missing = false;
		free_kept(names, object);
	}
	if (!is_worth_reading(object, run, mapping))
		return;
	free_kept(names, object); /* the object may have more names by now */
	load_wanted(names, run, mapping, id, pauses);
	symbols = names->filling;
	if (symbols != NULL)
		note_object(&names->objects[id], symbols, mapping);
	else
		note_missing(&names->objects[id], mapping);
	edition = names->objects[id].edition;
	for (uint32_t i = 0; i < run->count; i++) {
		/* A pause may move the table: looked up each time. */
		struct hs_location *location = hs_location_run_get(run, i);
		bool named = location->system_name != NULL, is_new = location->name == NULL;

		if (!named && symbols != NULL)
			named = name_by_symbol(symbols, mapping, location, &names->last);
		if (!named)
			location->edition = edition;
		if (!named && location->name == NULL)
			name_by_address(symbols, mapping, location);
		if (is_new && location->system_name == NULL)
			hs_stats_add(names_missing, 1);
		hs_pauses_count(pauses);
	}
	hs_names_end_fill(names);
	hs_pauses_take(pauses);
}

void hs_names_fill(struct hs_names *names, const struct hs_location_run *run,
		   const struct hs_mapping *mapping, uint32_t id, struct hs_pauses *pauses)
{
	if (is_anonymous(mapping))
		fill_anonymous(run, mapping, pauses);
	else
		fill_from_object(names, run, mapping, id, pauses);
}

bool hs_names_has_dwarf(const struct hs_names *names, uint32_t id)
{
	return id < names->count && names->objects[id].has_dwarf;
}

void hs_names_fini(struct hs_names *names)
{
	for (uint32_t id = 0; id < names->count; id++) {
		hs_arena_free(names->objects[id].debug_key);
		hs_symbols_free(names->objects[id].kept);
	}
	hs_arena_free(names->objects);
	hs_names_end_fill(names);
	hs_shared_name_release(names->last);
	*names = (struct hs_names){ 0 };
}
