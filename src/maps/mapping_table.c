/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mapping table: reads /proc/self/maps and keeps the index from addresses to
 * mappings.  Run by the unwinding worker.
 */
#include "maps/mapping_table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>

#include "base/arena.h"
#include "base/descriptor.h"
#include "base/libraries.h"
#include "base/stats.h"
#include "base/sys.h"
#include "maps/map_hints.h"
#include "maps/map_scan.h"
#include "maps/mapped_image.h"
#include "maps/mapping_store.h"
#include "maps/proc_maps.h"

#define FIRST_TEXT_BYTES ((size_t)64 << 10)
/* Far above what vm.max_map_count lets a process have; past it something is wrong. */
#define MOST_TEXT_BYTES ((size_t)256 << 20)

/* If there are more pieces of former code, all are forgotten. */
#define MOST_FORMER 4096u

struct hs_mapping_table {
	struct hs_mapping_store store;
	struct hs_map_index index;
	struct hs_map_index spare; /* the next index is built here */
	struct hs_address_range_map former; /* see hs_mapping_table_find_former() */
	uint64_t generation;
	uint32_t closes; /* see hs_mapping_table_closes() */
	uint64_t opens;
	bool is_made_up; /* the index holds one mapping for all that could not be read */
	struct hs_map_hints *hints; /* NULL: none can come */
	struct hs_map_program program;
	char *text; /* /proc/self/maps, kept for the next read */
	size_t text_capacity;
};

struct hs_mapping_table *hs_mapping_table_create(void)
{
	struct hs_mapping_table *table = hs_arena_zalloc(sizeof *table);

	if (table == NULL)
		return NULL;
	hs_mapping_store_init(&table->store);
	return table;
}

void hs_mapping_table_destroy(struct hs_mapping_table *table)
{
	if (table == NULL)
		return;
	hs_map_index_fini(&table->index);
	hs_map_index_fini(&table->spare);
	hs_address_range_map_fini(&table->former);
	hs_map_hints_destroy(table->hints);
	hs_mapping_store_fini(&table->store);
	hs_arena_free(table->text);
	hs_arena_free(table);
}

void hs_mapping_table_set_own(struct hs_mapping_table *table, uintptr_t address)
{
	table->program.own_address = address;
}

static int grow_text(struct hs_mapping_table *table)
{
	size_t capacity = table->text_capacity == 0 ? FIRST_TEXT_BYTES : table->text_capacity * 2;
	char *text;

	if (capacity > MOST_TEXT_BYTES)
		return -EFBIG;
	text = hs_arena_realloc(table->text, capacity);
	if (text == NULL)
		return -ENOMEM;
	table->text = text;
	table->text_capacity = capacity;
	return 0;
}

/* Reads to the end of the file.  Returns the bytes or -errno. */
static ssize_t read_all(struct hs_mapping_table *table, int fd)
{
	size_t used = 0;

	for (;;) {
		ssize_t got;

		if (used == table->text_capacity) {
			int error = grow_text(table);
			if (error < 0)
				return error;
		}
		got = hs_sys_pread(fd, table->text + used, table->text_capacity - used, used);
		if (got < 0)
			return got;
		if (got == 0)
			return (ssize_t)used;
		used += (size_t)got;
	}
}

static ssize_t read_maps(struct hs_mapping_table *table)
{
	/* Not self, which is the main thread's: empty if that has left by pthread_exit(). */
	struct hs_descriptor file;
	ssize_t bytes = hs_descriptor_open(&file, "/proc/thread-self/maps", O_RDONLY, 0, NULL);

	if (bytes != 0)
		return bytes;
	bytes = read_all(table, file.fd);
	if (hs_descriptor_close(&file) == -EBADF)
		return -EBADF;
	return bytes == 0 ? -ENODATA : bytes;
}

static void adopt_index(struct hs_mapping_table *table)
{
	struct hs_map_index old = table->index;

	if (table->generation == 0 || !hs_map_index_equal(&table->spare, &table->index))
		table->generation++;
	table->index = table->spare;
	table->spare = old;
}

/* Generated code that is in the index before this one, and not in this one, or not all of it. */
static void note_former(struct hs_mapping_table *table)
{
	const struct hs_address_range_map *before = &table->spare.code;
	const struct hs_address_range *range;

	if (table->former.count > MOST_FORMER)
		hs_address_range_map_clear(&table->former);
	for (uint64_t from = 0; (range = hs_address_range_map_from(before, from)) != NULL;
	     from = range->end) {
		if (!hs_mapping_table_is_anonymous(table, range->value) ||
		    hs_address_range_map_find_containing(&table->index.code, range->start,
							 range->end) != NULL)
			continue;
		/* Without memory it is left out. */
		hs_address_range_map_trim_overlaps_and_emplace(&table->former, range->start,
							       range->end, range->value);
	}
}

/*
 * Never read yet, and there are records to resolve: one mapping stands for all there may
 * be, so that their addresses are kept.
 */
static void make_up(struct hs_mapping_table *table)
{
	const struct hs_mapping all = {
		.end = UINT64_MAX,
		.path = "[unreadable maps]",
		.flags = HS_MAPPING_ANONYMOUS,
	};
	uint32_t id = hs_mapping_store_intern(&table->store, &all);

	hs_map_index_clear(&table->spare);
	if (id != HS_MAPPING_NONE &&
	    hs_address_range_map_emplace(&table->spare.code, all.start, all.end, id) == 0) {
		table->is_made_up = true;
		hs_stats_add(maps_made_up, 1);
		adopt_index(table);
	}
}

/*
 * The program's file is that of its program headers, which the loader gives as the program's if
 * it was itself executed (then it is /proc/self/exe).  Code may have been moved to other memory.
 */
static void find_program(struct hs_map_program *program, const char *text, size_t bytes)
{
	uint64_t headers = getauxval(AT_PHDR);
	struct hs_proc_maps_line line;
	struct hs_proc_maps maps;

	hs_proc_maps_begin(&maps, text, bytes);
	while (program->inode == 0 && hs_proc_maps_next(&maps, &line)) {
		hs_mapped_image_put_back_start(&maps, &line);
		if (headers >= line.start && headers < line.end) {
			program->device = line.device;
			program->inode = line.inode;
		}
	}
}

/* Returns 0 or -errno. */
static int read_index(struct hs_mapping_table *table, uint32_t closes)
{
	ssize_t bytes = read_maps(table);
	int error;

	if (bytes < 0)
		return (int)bytes;
	find_program(&table->program, table->text, (size_t)bytes);
	error = hs_map_scan(&table->spare, table->text, (size_t)bytes, &table->index, &table->store,
			    &table->program, closes);
	if (error == 0)
		hs_stats_add(map_reads, 1);
	return error;
}

int hs_mapping_table_refresh(struct hs_mapping_table *table)
{
	/* Before the maps: what is closed or opened meanwhile counts as later. */
	uint32_t closes = hs_closes_over(hs_closes_now());
	uint64_t opens = atomic_load_explicit(&hs_library_opens, memory_order_acquire);
	int error = read_index(table, closes);

	if (error < 0) {
		hs_stats_add(map_read_failures, 1);
		if (table->generation == 0)
			make_up(table);
		return error;
	}
	table->closes = closes;
	table->opens = opens;
	adopt_index(table);
	if (!table->is_made_up)
		note_former(table);
	table->is_made_up = false;
	return 0;
}

uint32_t hs_mapping_table_closes(const struct hs_mapping_table *table)
{
	return table->closes;
}

uint64_t hs_mapping_table_opens(const struct hs_mapping_table *table)
{
	return table->opens;
}

uint32_t hs_mapping_table_since(const struct hs_mapping_table *table, uint32_t id)
{
	return hs_mapping_store_since(&table->store, id);
}

bool hs_mapping_table_is_made_up(const struct hs_mapping_table *table)
{
	return table->is_made_up;
}

uint64_t hs_mapping_table_generation(const struct hs_mapping_table *table)
{
	return table->generation +
	       (table->hints != NULL ? hs_map_hints_generation(table->hints) : 0);
}

struct hs_map_hints *hs_mapping_table_add_hints(struct hs_mapping_table *table,
						const char *setting)
{
	table->hints = hs_map_hints_create(&table->store, setting, false);
	return table->hints;
}

uint32_t hs_mapping_table_find(const struct hs_mapping_table *table, uint64_t pc)
{
	uint32_t id = table->hints != NULL ? hs_map_hints_find(table->hints, pc) : HS_MAPPING_NONE;

	return id != HS_MAPPING_NONE ? id : hs_mapping_table_find_recorded(table, pc);
}

static uint32_t find_in(const struct hs_address_range_map *map, uint64_t pc)
{
	const struct hs_address_range *range = hs_address_range_map_find(map, pc);

	return range != NULL ? range->value : HS_MAPPING_NONE;
}

uint32_t hs_mapping_table_find_recorded(const struct hs_mapping_table *table, uint64_t pc)
{
	return find_in(&table->index.code, pc);
}

uint32_t hs_mapping_table_find_former(const struct hs_mapping_table *table, uint64_t pc)
{
	return find_in(&table->former, pc);
}

bool hs_mapping_table_is_readable(const struct hs_mapping_table *table, uint64_t address,
				  size_t bytes)
{
	/* With too many bytes the end is below the address: an empty range. */
	return hs_address_range_map_find_containing(&table->index.readable, address,
						    address + bytes) != NULL;
}

bool hs_mapping_table_is_constant(const struct hs_mapping_table *table, uint64_t address,
				  size_t bytes)
{
	const struct hs_address_range *writable =
		hs_address_range_map_from(&table->index.writable, address);

	return hs_mapping_table_is_readable(table, address, bytes) &&
	       (writable == NULL || writable->start >= address + bytes);
}

uint32_t hs_mapping_table_page_tag(const struct hs_mapping_table *table, uint64_t address)
{
	const struct hs_address_range *range =
		hs_address_range_map_find(&table->index.readable, address);

	return range != NULL ? range->value : 0;
}

const struct hs_mapping *hs_mapping_table_get(const struct hs_mapping_table *table, uint32_t id)
{
	return hs_mapping_store_get(&table->store, id);
}

bool hs_mapping_table_is_anonymous(const struct hs_mapping_table *table, uint32_t id)
{
	const struct hs_mapping *mapping = hs_mapping_table_get(table, id);

	return mapping != NULL && (mapping->flags & HS_MAPPING_ANONYMOUS) != 0;
}

uint32_t hs_mapping_table_count(const struct hs_mapping_table *table)
{
	/* Pairs with the release store of the mapping store's add(). */
	return atomic_load_explicit(&table->store.count, memory_order_acquire);
}
