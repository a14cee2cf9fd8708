/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames in generated code.  See jit_frames.h. */
#include "profile/jit_frames.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/elf_file.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "symbolize/data_symbol.h"
#include "symbolize/gdb_jit.h"
#include "symbolize/perf_map.h"

/* How much of a perf map is read at a time: some 4,000 lines, which take up to 10 ms. */
#define READ_BYTES ((uint64_t)256 << 10)

/* How long objects are searched for descriptors at a time; a single large one may take longer. */
#define SEARCH_NS 5000000u

struct hs_jit_frames {
	const struct hs_mapping_table *table;
	unsigned sources; /* bits of enum hs_jit_source */
	struct hs_jit_map map;
	struct hs_perf_map perf_map;
	struct hs_gdb_jit gdb;
	bool is_read;      /* in this batch of records, and there was no more */
	bool is_all_read;  /* for this profile */
	uint32_t searched; /* mappings below this id were searched for a descriptor, */
	uint32_t again;    /* and from this id on for the next profile too, if a read failed */
};

struct hs_jit_frames *hs_jit_frames_create(const struct hs_mapping_table *table, unsigned sources,
					   size_t most_bytes)
{
	struct hs_jit_frames *jit = hs_arena_zalloc(sizeof *jit);

	if (jit == NULL)
		return NULL;
	jit->table = table;
	jit->sources = sources;
	jit->again = UINT32_MAX;
	jit->perf_map.begun_ns = (int64_t)hs_sys_realtime_ns();
	if (hs_jit_map_init(&jit->map, most_bytes) != 0 || hs_gdb_jit_init(&jit->gdb) != 0) {
		hs_jit_frames_destroy(jit);
		return NULL;
	}
	return jit;
}

void hs_jit_frames_destroy(struct hs_jit_frames *jit)
{
	if (jit == NULL)
		return;
	hs_jit_map_fini(&jit->map);
	hs_perf_map_fini(&jit->perf_map);
	hs_gdb_jit_fini(&jit->gdb);
	hs_arena_free(jit);
}

static bool may_be_generated(const struct hs_jit_frames *jit, uint32_t mapping)
{
	return mapping == HS_MAPPING_UNKNOWN || hs_mapping_table_is_anonymous(jit->table, mapping);
}

static bool is_same_file(const struct hs_mapping *one, const struct hs_mapping *other)
{
	return one->inode == other->inode && one->device == other->device &&
	       one->version == other->version && strcmp(one->build_id, other->build_id) == 0 &&
	       strcmp(one->path, other->path) == 0;
}

static bool may_have_descriptor(const struct hs_mapping *mapping)
{
	const unsigned flags = HS_MAPPING_FILE | HS_MAPPING_OWN | HS_MAPPING_HINT | HS_MAPPING_FLAT;

	return (mapping->flags & flags) == HS_MAPPING_FILE;
}

/*
 * Whether a mapping's object was searched before, by another mapping: its code may be mapped in
 * several pieces.  An object that is loaded twice has two descriptors, if it has any.
 */
static bool was_searched(const struct hs_jit_frames *jit, uint32_t id)
{
	const struct hs_mapping *mapping = hs_mapping_table_get(jit->table, id);

	while (id-- > 0) {
		const struct hs_mapping *before = hs_mapping_table_get(jit->table, id);

		if (may_have_descriptor(before) && is_same_file(before, mapping) &&
		    (before->load_bias == mapping->load_bias || jit->gdb.list_count == 0))
			return true;
	}
	return false;
}

/* Returns 0 or -errno: that of hs_data_symbol_find(). */
static int search_object(struct hs_jit_frames *jit, uint32_t id)
{
	const struct hs_mapping *mapping = hs_mapping_table_get(jit->table, id);
	uint64_t address;
	int result;

	if (!may_have_descriptor(mapping) || was_searched(jit, id))
		return 0;
	result = hs_data_symbol_find(mapping, HS_GDB_JIT_SYMBOL,
				     sizeof(struct hs_gdb_jit_descriptor), &address);
	if (result == 0)
		hs_gdb_jit_add(&jit->gdb, mapping->load_bias + address);
	return result;
}

/*
 * Searches objects that are new for descriptors, each once, by their symbol tables.  The loader is
 * not asked: that would take its lock, or have to be done on a program's thread after each
 * dlopen(), and it does not know what an object does not export.
 *
 * Whether there are more to search now.  If memory or descriptors are short, the next batch of
 * records goes on with the same object.  One that cannot be read is searched again for each
 * profile.
 */
static bool find_descriptors(struct hs_jit_frames *jit)
{
	uint32_t count = hs_mapping_table_count(jit->table);
	uint64_t end_ns;

	if (jit->searched == count)
		return false;
	end_ns = hs_sys_monotonic_ns() + SEARCH_NS;
	do {
		int result = search_object(jit, jit->searched);

		if (result == -EIO && jit->searched < jit->again)
			jit->again = jit->searched;
		else if (result != -EIO && hs_elf_file_is_shortage(result))
			return false;
		jit->searched++;
	} while (jit->searched < count && hs_sys_monotonic_ns() < end_ns);
	return jit->searched < count;
}

/* Whether there is more to read.  at_once: of the GDB interface all is read, for a profile. */
static bool read_sources(struct hs_jit_frames *jit, bool at_once)
{
	bool more = false;

	if ((jit->sources & HS_JIT_SOURCE_PERF_MAP) != 0)
		more = hs_perf_map_read(&jit->perf_map, &jit->map, READ_BYTES);
	if ((jit->sources & HS_JIT_SOURCE_GDB) != 0) {
		more = find_descriptors(jit) || more;
		more = hs_gdb_jit_read(&jit->gdb, &jit->map, at_once) || more;
	}
	return more;
}

bool hs_jit_frames_has_code(const struct hs_jit_frames *jit)
{
	return jit->map.code_count > 0;
}

void hs_jit_frames_begin_batch(struct hs_jit_frames *jit)
{
	jit->is_read = false;
}

void hs_jit_frames_begin_profile(struct hs_jit_frames *jit)
{
	jit->is_all_read = false;
	hs_gdb_jit_begin_profile(&jit->gdb);
	if (jit->again < jit->searched)
		jit->searched = jit->again;
	jit->again = UINT32_MAX;
}

bool hs_jit_frames_may_be_in(const struct hs_jit_frames *jit, const struct hs_frame *frames,
			     uint32_t count)
{
	uint32_t last = HS_MAPPING_NONE; /* not generated */

	for (uint32_t i = 0; i < count; i++) {
		if (frames[i].mapping == last)
			continue;
		last = frames[i].mapping;
		if (may_be_generated(jit, last))
			return true;
	}
	return false;
}

bool hs_jit_frames_follow(struct hs_jit_frames *jit, const struct hs_frame *frames, uint32_t count)
{
	if (!hs_jit_frames_may_be_in(jit, frames, count))
		return false;
	if (!jit->is_read)
		jit->is_read = !read_sources(jit, false) && !jit->gdb.is_stale;
	return true;
}

uint32_t hs_jit_frames_code(struct hs_jit_frames *jit, struct hs_frame *frame)
{
	uint32_t object, code;

	if (!may_be_generated(jit, frame->mapping))
		return 0;
	code = hs_jit_map_find(&jit->map, frame->address, &object);
	if (code != 0 && frame->mapping == HS_MAPPING_UNKNOWN)
		frame->mapping =
			object == HS_JIT_PERF_MAP ? HS_MAPPING_JIT_PERF_MAP : HS_MAPPING_JIT_GDB;
	return code;
}

static uint32_t code_of(const struct hs_location *location)
{
	return location->code != 0 ? location->code : location->later_code;
}

/* Looks a location's code up if need be.  Whether it is known. */
static bool find_code(struct hs_jit_frames *jit, struct hs_location *location)
{
	uint32_t object;

	if (code_of(location) == 0)
		location->later_code = hs_jit_map_find(&jit->map, location->address, &object);
	return code_of(location) != 0;
}

void hs_jit_frames_name(struct hs_jit_frames *jit, const struct hs_location_run *run,
			struct hs_pauses *pauses)
{
	uint32_t mapping = hs_location_run_get(run, 0)->mapping;
	struct hs_jit_name name;

	if (!may_be_generated(jit, mapping) && hs_jit_frames_path(mapping) == NULL)
		return;
	while (!jit->is_all_read && read_sources(jit, true))
		hs_pauses_take(pauses);
	jit->is_all_read = true;
	for (uint32_t i = 0; i < run->count; i++) {
		/* A pause may move the table: looked up each time. */
		struct hs_location *location = hs_location_run_get(run, i);

		if (find_code(jit, location) && hs_jit_frames_name_of(jit, location, &name))
			hs_location_set_lasting_name(location, name.name);
		else if (location->name == NULL)
			hs_stats_add(jit_unknown_frames, 1);
		hs_pauses_count(pauses);
	}
}

bool hs_jit_frames_name_of(const struct hs_jit_frames *jit, const struct hs_location *location,
			   struct hs_jit_name *out)
{
	uint32_t code = code_of(location);

	if (code != 0)
		hs_jit_map_name(&jit->map, code, out);
	return code != 0;
}

const char *hs_jit_frames_path(uint32_t mapping)
{
	if (mapping == HS_MAPPING_JIT_PERF_MAP)
		return "[jit: perf-map]";
	return mapping == HS_MAPPING_JIT_GDB ? "[jit: gdb]" : NULL;
}
