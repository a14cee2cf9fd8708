/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reader of perf maps.  The input: a byte, the size of the first part in 255ths, then the file,
 * which is written in two parts and read after each.
 */
#include "symbolize/perf_map.h"

#include <fcntl.h>
#include <unistd.h>

#include "fuzz.h"

/* Each piece of code must have a name and its range in the map. */
static void check_map(struct hs_jit_map *map)
{
	uint32_t count = 0, object = 1;

	for (uint32_t i = 0; i < map->code_count; i++) {
		const struct hs_jit_code *code = &map->codes[i];
		struct hs_jit_name name;
		uint32_t number;

		if (code->text == NULL)
			continue;
		MUST(code->start < code->end && code->text[0] != '\0');
		number = hs_jit_map_find(map, code->start, &object);
		MUST(number != 0 && object == HS_JIT_PERF_MAP);
		MUST(hs_jit_map_find(map, code->end - 1, &object) == number);
		hs_jit_map_name(map, number, &name);
		MUST(strcmp(name.system_name, code->text) == 0);
		MUST(name.name[0] != '\0' && strlen(name.name) <= strlen(code->text) + 16);
		MUST(strlen(name.file) < strlen(code->text));
		count++;
	}
	MUST(count == map->ranges.count && map->bytes <= map->most_bytes);
}

static void write_part(const char *path, const uint8_t *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	MUST(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct hs_perf_map perf = {.buffer = NULL};
	struct hs_jit_map map;
	char path[64];
	size_t first, used;

	if (bytes == 0)
		return 0;
	hs_arena_init(FUZZ_BUDGET);
	used = hs_arena_used();
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	MUST(hs_jit_map_init(&map, (size_t)1 << 20) == 0);
	first = (bytes - 1) * data[0] / 255;
	write_part(path, data + 1, first);
	hs_perf_map_read(&perf, &map, UINT64_MAX);
	check_map(&map);
	write_part(path, data + 1 + first, bytes - 1 - first);
	while (hs_perf_map_read(&perf, &map, 1)) {
	}
	check_map(&map);
	unlink(path);
	hs_perf_map_fini(&perf);
	hs_jit_map_fini(&map);
	MUST(hs_arena_used() == used);
	return 0;
}
