/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reader of /proc/self/maps and the scan that makes an index of it.  The input up to its first
 * NUL is the text; the rest is put into memory at IMAGE, for lines that name an object there.
 */
#include "maps/map_scan.h"

#include <sys/mman.h>

#include "fuzz.h"
#include "maps/proc_maps.h"

#define IMAGE ((uintptr_t)0x10000000)
#define IMAGE_BYTES ((size_t)64 << 10)

static void check_line(const struct hs_proc_maps_line *line, const char *text, size_t bytes)
{
	char *name = malloc(line->name_bytes + 1);
	size_t length = hs_proc_maps_copy_name(line, name, line->name_bytes + 1);

	MUST(line->start < line->end);
	MUST(line->offset <= line->offset + (line->end - line->start));
	MUST(line->name >= text && line->name_bytes <= (size_t)(text + bytes - line->name));
	MUST(memchr(line->name, '\n', line->name_bytes) == NULL);
	MUST(length <= line->name_bytes && strlen(name) == length);
	free(name);
}

/* Returns whether the lines are in order, as the kernel writes them in one go. */
static bool read_lines(const char *text, size_t bytes)
{
	struct hs_proc_maps maps;
	struct hs_proc_maps_line line;
	uint64_t lines = 0, newlines = 0, last_end = 0;
	bool in_order = true;

	hs_proc_maps_begin(&maps, text, bytes);
	for (; hs_proc_maps_next(&maps, &line); lines++) {
		check_line(&line, text, bytes);
		in_order = in_order && line.start >= last_end;
		last_end = line.end;
	}
	for (size_t i = 0; i < bytes && text[i] != '\0'; i++)
		newlines += text[i] == '\n';
	MUST(lines + maps.skipped >= newlines && lines + maps.skipped <= newlines + 1);
	MUST(!hs_proc_maps_next(&maps, &line));
	return in_order;
}

/* Each range must lie in the mapping that it belongs to. */
static void check_index(const struct hs_map_index *index, const struct hs_mapping_store *store)
{
	const struct hs_address_range *range = hs_address_range_map_from(&index->code, 0);
	uint32_t count = 0;

	for (; range != NULL; range = hs_address_range_map_from(&index->code, range->end)) {
		const struct hs_mapping *mapping = hs_mapping_store_get(store, range->value);

		MUST(range->start < range->end);
		MUST(mapping != NULL && mapping->path[0] != '\0');
		MUST(mapping->start <= range->start && range->end <= mapping->end);
		count++;
	}
	MUST(count == index->code.count);
}

/* Scans twice: a text in order must give the same index again, and no new mapping. */
static void scan(const char *text, size_t bytes, bool in_order)
{
	static const struct hs_map_program program = {.device = 0x801, .inode = 7};
	struct hs_map_index first = {.code = {.nodes = NULL}}, second = first;
	static struct hs_mapping_store store;
	uint32_t count;

	hs_mapping_store_init(&store);
	MUST(hs_map_scan(&first, text, bytes, &second, &store, &program, 0) == 0);
	check_index(&first, &store);
	count = store.count;
	MUST(hs_map_scan(&second, text, bytes, &first, &store, &program, 0) == 0);
	check_index(&second, &store);
	MUST(!in_order || (store.count == count && hs_map_index_equal(&first, &second)));
	hs_map_index_fini(&first);
	hs_map_index_fini(&second);
	hs_mapping_store_fini(&store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static void *image;
	const uint8_t *end = memchr(data, '\0', bytes);
	size_t image_bytes, used;

	hs_arena_init(FUZZ_BUDGET);
	if (image == NULL)
		image = mmap((void *)IMAGE, IMAGE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	MUST(image == (void *)IMAGE);
	image_bytes = end != NULL ? (size_t)(data + bytes - end - 1) : 0;
	if (image_bytes > IMAGE_BYTES)
		image_bytes = IMAGE_BYTES;
	memset(image, 0, IMAGE_BYTES);
	if (image_bytes > 0)
		memcpy(image, end + 1, image_bytes);
	used = hs_arena_used();
	scan((const char *)data, bytes, read_lines((const char *)data, bytes));
	MUST(hs_arena_used() == used);
	return 0;
}
