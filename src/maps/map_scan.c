/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds a mapping table's index.  Run by the unwinding worker. */
#include "maps/map_scan.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/file_version.h"
#include "base/hash.h"
#include "base/stats.h"
#include "base/sys.h"
#include "maps/elf_image.h"
#include "maps/line_kind.h"
#include "maps/mapped_image.h"
#include "maps/proc_maps.h"

/*
 * The lines of one object follow each other: anonymous lines (.bss) may lie
 * between them, lines of another file end it.
 */
struct object {
	uint64_t device;
	uint64_t inode;                 /* 0 = no object yet */
	bool has_code;                  /* some line of it is executable */
	struct hs_proc_maps_line first; /* its first line */
	int image_error;                /* 0: there is the next */
	struct hs_elf_image image;
	bool has_version; /* the next has been looked for */
	uint64_t version; /* as in struct hs_mapping */
};

struct scan {
	struct hs_map_index *index;
	const struct hs_map_index *current;
	struct hs_mapping_store *store;
	const struct hs_map_program *program;
	uint32_t closes;
	struct object object;
};

static bool same_file(const struct object *object, const struct hs_proc_maps_line *line)
{
	return object->inode == line->inode && object->device == line->device;
}

/*
 * Whether this line, or a following one of the same object, is executable, or is executable memory
 * in the place of one: then the object goes on behind it.
 */
static bool object_has_code(struct hs_proc_maps rest, struct hs_proc_maps_line line,
			    const struct object *object)
{
	bool has_moved_text = false;

	do {
		if (hs_line_may_be_moved_text(&line) && !same_file(object, &line)) {
			has_moved_text = true;
			continue;
		}
		if (line.inode == 0)
			continue;
		if (!same_file(object, &line))
			return false;
		if (has_moved_text || (line.permissions & HS_PROC_MAPS_EXECUTE) != 0)
			return true;
	} while (hs_proc_maps_next(&rest, &line));
	return false;
}

/*
 * Whether the line is part of the object.  File offset 0 does not always begin another one: the
 * data segment of a small object is mapped from there again.  And another mapping of the same file
 * may lie over the object's .bss.
 */
static bool is_in_image(const struct object *object, const struct hs_proc_maps_line *line)
{
	for (uint32_t i = 0; object->image_error == 0 && i < object->image.segment_count; i++) {
		const struct hs_elf_segment *segment = &object->image.segments[i];

		if (line->start >= segment->start && line->start < segment->end &&
		    line->offset - segment->offset == line->start - segment->start)
			return true;
	}
	return false;
}

/* Follows which object the line belongs to. */
static void enter_line(struct scan *scan, const struct hs_proc_maps *rest,
		       const struct hs_proc_maps_line *line)
{
	struct object *object = &scan->object;

	if (line->inode == 0)
		return;
	if (!same_file(object, line)) {
		object->device = line->device;
		object->inode = line->inode;
		object->first = *line;
		object->image_error = -ENODATA;
		object->has_version = false;
		object->has_code = !hs_line_is_device(scan->index->name) &&
				   object_has_code(*rest, *line, object);
	} else if (is_in_image(object, line)) {
		return;
	}
	if (object->has_code && line->offset == 0)
		object->image_error = hs_mapped_image_read(&object->image, *rest, *line);
}

/*
 * Of an object with code: other files may be many, on file systems that do not answer.  None of a
 * file of another kind: JIT compilers map one for perf, and write to it again and again.
 */
static uint64_t file_version(struct scan *scan)
{
	struct object *object = &scan->object;
	struct stat file;

	if (!object->has_code || object->image_error == -ENOEXEC ||
	    (object->image_error == 0 && object->image.build_id[0] != '\0'))
		return 0;
	/* While it runs nobody can write to its file. */
	if (object->inode == scan->program->inode && object->device == scan->program->device)
		return 0;
	if (!object->has_version) {
		object->has_version = true;
		object->version = 0;
		if (hs_sys_stat(scan->index->name, &file) == 0 && file.st_ino == object->inode)
			object->version = hs_file_version(&file);
	}
	return object->version;
}

/* Turns a line of memory that took the place of the object's code into one of the object. */
static void put_back_text(const struct object *object, struct hs_proc_maps_line *line)
{
	struct hs_proc_maps_line whole = object->first;

	for (uint32_t i = 0; object->image_error == 0 && i < object->image.segment_count; i++) {
		const struct hs_elf_segment *segment = &object->image.segments[i];
		if (!segment->executable || line->start < segment->start ||
		    line->end > segment->end)
			continue;
		whole.start = line->start;
		whole.end = line->end;
		whole.permissions = line->permissions;
		whole.offset = segment->offset + (line->start - segment->start);
		*line = whole;
	}
}

static unsigned flags_of(const struct scan *scan, const struct hs_proc_maps_line *line,
			 const char *path, bool has_image)
{
	const struct hs_map_program *program = scan->program;
	bool is_memory = hs_line_is_memory(line, path);
	unsigned flags = 0;

	if (!is_memory && path[0] == '/' && !hs_line_is_device(path))
		flags |= HS_MAPPING_FILE;
	else if (is_memory && !has_image)
		flags |= HS_MAPPING_ANONYMOUS;
	if (line->inode != 0 && line->inode == program->inode && line->device == program->device)
		flags |= HS_MAPPING_MAIN;
	return flags;
}

/*
 * Code of a file that is mapped a second time elsewhere, as V8 does with its builtins, gets the
 * symbols of the first mapping, which lies where the ELF image says.  Only such mappings are
 * searched: some compilers map thousands of pieces of one file.  False: there is none.
 */
static bool describe_copy(const struct scan *scan, struct hs_mapping *copy)
{
	const struct hs_address_range *range = NULL;
	uint64_t from = 0;

	while ((range = hs_address_range_map_from(&scan->index->images, from)) != NULL) {
		const struct hs_mapping *known = hs_mapping_store_get(scan->store, range->value);

		if (known->inode == copy->inode && known->device == copy->device &&
		    copy->offset >= known->offset &&
		    copy->offset - known->offset < known->end - known->start) {
			copy->load_bias = known->load_bias + (copy->start - known->start) -
					  (copy->offset - known->offset);
			memcpy(copy->build_id, known->build_id, sizeof copy->build_id);
			return true;
		}
		from = range->end;
	}
	return false;
}

/*
 * Fills in the mapping from the line and the object's ELF image.  Returns whether the line lies in
 * the image.
 */
static bool describe(struct scan *scan, const struct hs_proc_maps_line *line,
		     const struct hs_elf_image *image, struct hs_mapping *mapping)
{
	const struct hs_elf_segment *segment = NULL;
	uint64_t own = scan->program->own_address;
	bool is_placed;

	*mapping = (struct hs_mapping){
		.start = line->start,
		.end = line->end,
		.offset = line->offset,
		.load_bias = line->start - line->offset,
		.inode = line->inode,
		.device = line->device,
		.version = line->inode != 0 ? file_version(scan) : 0,
		.path = scan->index->name[0] != '\0' ? scan->index->name : "//anon",
	};
	if (image != NULL)
		segment = hs_elf_image_code_segment(image, line->start, line->end, line->offset);
	if (segment != NULL) {
		if (segment->start < line->start) {
			mapping->start = segment->start;
			mapping->offset = segment->offset;
		}
		if (segment->end > line->end)
			mapping->end = segment->end;
		mapping->load_bias = image->load_bias;
		mapping->eh_frame_hdr = image->eh_frame_hdr;
		mapping->eh_frame_hdr_bytes = image->eh_frame_hdr_bytes;
		memcpy(mapping->build_id, image->build_id, sizeof mapping->build_id);
		is_placed = true;
	} else {
		is_placed = line->inode != 0 && describe_copy(scan, mapping);
	}
	mapping->flags = flags_of(scan, line, mapping->path, segment != NULL);
	if (!is_placed && (mapping->flags & HS_MAPPING_FILE) != 0)
		mapping->flags |= HS_MAPPING_FLAT;
	if (own != 0 && own >= mapping->start && own < mapping->end)
		mapping->flags |= HS_MAPPING_OWN;
	return segment != NULL;
}

/*
 * Adds a line's range, joined with the one below if they are of the same thing, so that changes of
 * protection do not show.  If the maps change while they are read, a later line is the newer one.
 */
static int add_range(struct hs_address_range_map *map, const struct hs_proc_maps_line *line,
		     uint32_t value)
{
	const struct hs_address_range *below = hs_address_range_map_find(map, line->start - 1);
	uint64_t start = line->start;

	if (below != NULL && below->value == value)
		start = below->start;
	return hs_address_range_map_trim_overlaps_and_emplace(map, start, line->end, value);
}

static uint32_t find_id(const struct scan *scan, const struct hs_proc_maps_line *line,
			const struct hs_mapping *mapping)
{
	const struct hs_address_range *known =
		hs_address_range_map_find(&scan->current->code, line->start);
	uint32_t id;

	if (known != NULL && hs_mapping_store_goes_on(scan->store, known->value, mapping))
		return known->value;
	id = hs_mapping_store_intern(scan->store, mapping);
	if (id != HS_MAPPING_NONE)
		hs_mapping_store_set_since(scan->store, id, scan->closes);
	return id;
}

static int add_code(struct scan *scan, const struct hs_proc_maps_line *line)
{
	const struct object *object = &scan->object;
	const struct hs_elf_image *image = NULL;
	struct hs_elf_image vdso;
	struct hs_mapping mapping;
	bool is_image;
	uint32_t id;
	int error;

	if (line->inode != 0 && object->image_error == 0)
		image = &object->image;
	else if (strcmp(scan->index->name, "[vdso]") == 0 &&
		 hs_elf_image_read(&vdso, line->start, line->end) == 0)
		image = &vdso;
	is_image = describe(scan, line, image, &mapping);
	id = find_id(scan, line, &mapping);
	/* Without memory this mapping alone is left out. */
	if (id == HS_MAPPING_NONE) {
		hs_stats_add(mappings_skipped, 1);
		return 0;
	}
	error = is_image ? add_range(&scan->index->images, line, id) : 0;
	return error < 0 ? error : add_range(&scan->index->code, line, id);
}

/*
 * Tells an object's pages from another's at the same address.  0: generated code, also in a file of
 * memory, which a compiler may write to by another mapping of it.
 */
static uint32_t page_tag(struct scan *scan, const struct hs_proc_maps_line *line)
{
	const struct object *object = &scan->object;
	const char *id = object->image_error == 0 ? object->image.build_id : "";
	uint64_t hash;

	if (line->inode == 0 ||
	    (object->image_error != 0 && hs_line_is_memory(line, scan->index->name)))
		return 0;
	hash = line->inode * 31 + line->device + (line->offset - line->start) + file_version(scan);
	hash = hs_hash_bytes(hash, id, strlen(id));
	return (uint32_t)((hash * HS_HASH_FACTOR) >> 32) | 1;
}

static bool is_readable(const struct scan *scan, const struct hs_proc_maps_line *line)
{
	if ((line->permissions & HS_PROC_MAPS_READ) == 0)
		return false;
	if (line->inode != 0)
		return scan->object.has_code;
	return (line->permissions & HS_PROC_MAPS_EXECUTE) != 0;
}

static int add_readable(struct scan *scan, const struct hs_proc_maps_line *line)
{
	int error = add_range(&scan->index->readable, line, page_tag(scan, line));

	if (error == 0 && (line->permissions & HS_PROC_MAPS_WRITE) != 0)
		error = add_range(&scan->index->writable, line, 0);
	return error;
}

static int copy_name(struct scan *scan, const struct hs_proc_maps_line *line)
{
	if (line->name_bytes >= scan->index->name_capacity) {
		size_t capacity = line->name_bytes + 4096;
		char *name = hs_arena_realloc(scan->index->name, capacity);
		if (name == NULL)
			return -ENOMEM;
		scan->index->name = name;
		scan->index->name_capacity = capacity;
	}
	hs_proc_maps_copy_name(line, scan->index->name, scan->index->name_capacity);
	return 0;
}

static int scan_line(struct scan *scan, const struct hs_proc_maps *rest,
		     struct hs_proc_maps_line *line)
{
	int error;

	hs_mapped_image_put_back_start(rest, line);
	if (hs_line_may_be_moved_text(line))
		put_back_text(&scan->object, line);
	error = copy_name(scan, line);
	if (error < 0)
		return error;
	enter_line(scan, rest, line);
	if (is_readable(scan, line))
		error = add_readable(scan, line);
	if (error == 0 && (line->permissions & HS_PROC_MAPS_EXECUTE) != 0)
		error = add_code(scan, line);
	return error;
}

int hs_map_scan(struct hs_map_index *index, const char *text, size_t bytes,
		const struct hs_map_index *current, struct hs_mapping_store *store,
		const struct hs_map_program *program, uint32_t closes)
{
	struct scan scan = {.index = index, .current = current, .store = store,
			    .program = program, .closes = closes};
	struct hs_proc_maps_line line;
	struct hs_proc_maps maps;
	int error = 0;

	hs_map_index_clear(index);
	hs_proc_maps_begin(&maps, text, bytes);
	while (error == 0 && hs_proc_maps_next(&maps, &line))
		error = scan_line(&scan, &maps, &line);
	if (error == 0)
		hs_stats_add(map_lines_skipped, maps.skipped);
	return error;
}
