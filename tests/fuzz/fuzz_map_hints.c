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
#include "unwind/hint_frames.h"

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
static void check_tables(const struct hs_hint_frames *frames, const struct hs_mapping *mapping,
			 const struct hs_hint_tables *tables)
{
	int64_t before = INT64_MIN;

	MUST(tables->count > 0);
	for (uint64_t i = 0; i < tables->count; i++) {
		struct {
			int32_t start, fde;
		} entry;
		uint64_t word, start;

		MUST(hs_hint_frames_read(frames, tables->table + i * sizeof word, &word));
		memcpy(&entry, &word, sizeof entry);
		start = tables->base + (uint64_t)(int64_t)entry.start - tables->shift;
		MUST(entry.start >= before && entry.fde >= 0);
		MUST(start >= mapping->start && start < mapping->end);
		/* An FDE is not empty. */
		MUST(hs_hint_frames_read(frames, tables->base + (uint64_t)entry.fde, &word));
		MUST((uint32_t)word != 0);
		before = entry.start;
	}
}

static void read_object(const char *path, uint64_t offset)
{
	struct hs_mapping_store store;
	struct hs_map_hints *hints;
	struct hs_hint_frames *frames = hs_hint_frames_create();
	struct hs_hint_tables tables;

	hs_mapping_store_init(&store);
	hints = hs_map_hints_create(&store, "", false);
	MUST(hs_map_hints_add(hints, path, CODE, CODE_BYTES, offset) == 0);
	for (uint64_t address = CODE; address < CODE + CODE_BYTES; address += 0x800) {
		uint32_t id = hs_map_hints_find(hints, address);
		const struct hs_mapping *mapping = hs_mapping_store_get(&store, id);

		MUST(mapping != NULL && mapping->start == CODE);
		MUST(mapping->end == CODE + CODE_BYTES);
		if (hs_hint_frames_find(frames, id, mapping, &tables))
			check_tables(frames, mapping, &tables);
	}
	hs_hint_frames_destroy(frames);
	hs_map_hints_destroy(hints);
	hs_mapping_store_fini(&store);
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
