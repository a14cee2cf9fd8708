/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Map hints: the input up to its first NUL is the text of hints; the rest is the object that
 * another hint names, whose segments and unwind tables are read.
 */
#include "maps/map_hints.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "maps/map_hint_text.h"
#include "unwind/unwind_rows.h"

#define CODE ((uint64_t)0x10000000)
#define CODE_BYTES ((uint64_t)0x10000)

static void parse(const char *text)
{
	struct hs_map_hint_problem problem;
	struct hs_map_hint_list list;
	struct hs_map_hint_item item;
	struct hs_map_hint hint;
	const char *end = text + strlen(text), *last = text;

	hs_map_hint_list_begin(&list, text);
	while (hs_map_hint_list_next(&list, &item)) {
		MUST(item.bytes > 0 && item.text >= last && item.text + item.bytes <= end);
		MUST(memchr(item.text, '\n', item.bytes) == NULL);
		last = item.text + item.bytes;
		if (hs_map_hint_parse(&item, &hint, &problem)) {
			MUST(hint.path == item.text && hint.path_bytes > 0);
			MUST(hint.path_bytes < item.bytes);
			MUST(hint.length > 0 && hint.start + hint.length > hint.start);
			MUST(hint.offset + hint.length <= INT64_MAX);
		} else {
			MUST(problem.part != NULL && problem.expected != NULL);
			MUST(problem.text >= item.text &&
			     problem.text + problem.text_bytes <= last);
		}
	}
}

/* The search table must be sorted, and its addresses in the code. */
static void check_table(const struct hs_hint_frames *frames, const struct hs_mapping *mapping,
			const struct hs_search_table *table)
{
	int64_t before = INT64_MIN;

	MUST(table->count > 0);
	for (uint64_t i = 0; i < table->count; i++) {
		struct hs_eh_frame_entry entry;
		uint32_t length;
		uint64_t start;

		MUST(hs_hint_frames_read(frames, table->entries + i * sizeof entry, &entry,
					 sizeof entry));
		start = table->base + (uint64_t)(int64_t)entry.start - table->shift;
		MUST(entry.start >= before && entry.fde >= 0);
		MUST(start >= mapping->start && start < mapping->end);
		/* An FDE is not empty. */
		MUST(hs_hint_frames_read(frames, table->base + (uint64_t)entry.fde, &length,
					 sizeof length));
		MUST(length != 0);
		before = entry.start;
	}
}

static void check_mapping(struct hs_hint_frames *frames, struct hs_unwind_rows *rows,
			  const struct hs_mapping *mapping, uint64_t pc)
{
	struct hs_search_table table;
	struct hs_unwind_row row;
	uint64_t end;
	bool has_table = hs_hint_frames_find(frames, mapping, &table);

	if (has_table)
		check_table(frames, mapping, &table);
	hs_unwind_rows_make(rows, mapping, pc, &row, &end);
	MUST(row.kind <= HS_ROW_END && end != pc);
	MUST(has_table || row.kind == HS_ROW_NO_INFO);
}

static void read_object(const char *path, uint64_t offset)
{
	struct hs_mapping_store store;
	struct hs_map_hints *hints;
	struct hs_mapping_table *nothing = hs_mapping_table_create();
	struct hs_memory_cache *memory = hs_memory_cache_create(nothing);
	struct hs_hint_frames *frames = hs_hint_frames_create();
	struct hs_unwind_rows *rows = hs_unwind_rows_create(memory, frames);

	hs_mapping_store_init(&store);
	hints = hs_map_hints_create(&store, "", false);
	MUST(hs_map_hints_add(hints, path, CODE, CODE_BYTES, offset) == 0);
	for (uint64_t address = CODE; address < CODE + CODE_BYTES; address += 0x800) {
		uint32_t id = hs_map_hints_find(hints, address);
		const struct hs_mapping *mapping = hs_mapping_store_get(&store, id);

		MUST(mapping != NULL && mapping->start == CODE);
		MUST(mapping->end == CODE + CODE_BYTES);
		check_mapping(frames, rows, mapping, address);
	}
	hs_map_hints_destroy(hints);
	hs_mapping_store_fini(&store);
	hs_unwind_rows_destroy(rows);
	hs_hint_frames_destroy(frames);
	hs_memory_cache_destroy(memory);
	hs_mapping_table_destroy(nothing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int fd = -1;
	char *text = malloc(bytes + 1), path[32];
	size_t text_bytes, used;

	hs_arena_init(FUZZ_BUDGET);
	used = hs_arena_used();
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	parse(text);
	text_bytes = strlen(text);
	free(text);
	if (fd < 0)
		fd = memfd_create("object", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (text_bytes < bytes) {
		size_t object_bytes = bytes - text_bytes - 1;

		MUST(ftruncate(fd, 0) == 0);
		MUST(pwrite(fd, data + text_bytes + 1, object_bytes, 0) == (ssize_t)object_bytes);
		read_object(path, 0);
		read_object(path, 0x1000);
	}
	MUST(hs_arena_used() == used);
	return 0;
}
