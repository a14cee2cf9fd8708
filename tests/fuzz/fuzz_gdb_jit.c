/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of the GDB JIT interface.  The input is memory at MEMORY with the descriptor first and
 * then the list, so pointers in it may lead into the input or nowhere.  The list is read twice; in
 * between the last bytes of the input are written over the descriptor.
 */
#include "symbolize/gdb_jit.h"

#include <sys/mman.h>

#include "fuzz.h"

#define MEMORY ((uintptr_t)0x10000000)
#define MEMORY_BYTES ((size_t)64 << 10)

static unsigned char *memory;

static void check_map(struct hs_jit_map *map)
{
	uint32_t count = 0, object;

	for (uint32_t i = 0; i < map->code_count; i++) {
		const struct hs_jit_code *code = &map->codes[i];

		if (code->text == NULL)
			continue;
		MUST(code->start < code->end && code->text[0] != '\0');
		MUST(hs_jit_map_find(map, code->start, &object) != 0);
		MUST(object != HS_JIT_PERF_MAP);
		count++;
	}
	MUST(count == map->ranges.count && map->bytes <= map->most_bytes);
}

static void set_up(void)
{
	memory = mmap((void *)MEMORY, MEMORY_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	MUST(memory == (void *)MEMORY);
}

static void read_all(struct hs_gdb_jit *gdb, struct hs_jit_map *map)
{
	while (hs_gdb_jit_read(gdb, map, true))
		continue;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const size_t descriptor_bytes = sizeof(struct hs_gdb_jit_descriptor);
	struct hs_gdb_jit gdb;
	struct hs_jit_map map;
	size_t used;

	hs_arena_init(FUZZ_BUDGET);
	if (memory == NULL)
		set_up();
	if (bytes > MEMORY_BYTES)
		bytes = MEMORY_BYTES;
	memset(memory, 0, MEMORY_BYTES);
	if (bytes > 0)
		memcpy(memory, data, bytes);
	used = hs_arena_used();
	MUST(hs_jit_map_init(&map, (size_t)1 << 20) == 0 && hs_gdb_jit_init(&gdb) == 0);
	hs_gdb_jit_add(&gdb, MEMORY);
	hs_gdb_jit_add(&gdb, MEMORY);
	MUST(gdb.list_count == 1);
	read_all(&gdb, &map);
	check_map(&map);
	if (bytes >= 2 * descriptor_bytes) {
		memcpy(memory, data + bytes - descriptor_bytes, descriptor_bytes);
		read_all(&gdb, &map);
		check_map(&map);
	}
	hs_gdb_jit_fini(&gdb);
	hs_jit_map_fini(&map);
	MUST(hs_arena_used() == used);
	return 0;
}
