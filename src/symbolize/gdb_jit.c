/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows the lists of the GDB JIT interface.  Runs on the producer. */
#include "symbolize/gdb_jit.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/stats.h"
#include "base/sys.h"
#include "symbolize/jit_object.h"

/*
 * After a reading of more objects than this, so many times what it took goes by before the
 * next.  Shorter lists are read at each change, so that no withdrawn name is given.
 */
#define SHORT_BYTES ((uint64_t)256 << 10)
#define REST 20

/* How long a call reads: a fork may wait for it. */
#define READ_NS 10000000u

#define MOST_OBJECT_BYTES ((uint64_t)64 << 20)

/* Of an object, each time that its list is looked at: as a whole, of most functions' objects. */
#define LOOK_BYTES ((uint64_t)16 << 10)

/* The first three are the key.  Another object may come to lie where one was: see hash. */
struct object {
	uint64_t entry;
	uint64_t start;
	uint64_t bytes;
	uint64_t hash;
	uint32_t number; /* 0: it could not be read, or there was no memory */
};

int hs_gdb_jit_init(struct hs_gdb_jit *gdb)
{
	*gdb = (struct hs_gdb_jit){.last_object = HS_JIT_PERF_MAP};
	return hs_interner_init(&gdb->seen, sizeof(struct object), offsetof(struct object, hash));
}

void hs_gdb_jit_fini(struct hs_gdb_jit *gdb)
{
	hs_interner_fini(&gdb->seen);
	hs_interner_fini(&gdb->reading.seen);
}

void hs_gdb_jit_add(struct hs_gdb_jit *gdb, uint64_t address)
{
	for (uint32_t i = 0; i < gdb->list_count; i++) {
		if (gdb->lists[i].address == address)
			return;
	}
	if (gdb->list_count < HS_GDB_JIT_LISTS)
		gdb->lists[gdb->list_count++] = (struct hs_gdb_jit_list){.address = address};
}

/* A copy of an entry's object, or NULL if there is none to be had. */
static char *copy_image(const struct hs_gdb_jit_entry *entry, uint64_t at)
{
	char *image = NULL;
	struct hs_gdb_jit_entry now;

	if (entry->bytes > 0 && entry->bytes <= MOST_OBJECT_BYTES)
		image = hs_arena_alloc((size_t)entry->bytes);
	if (image != NULL &&
	    hs_sys_read_memory_all(entry->start, image, (size_t)entry->bytes) == 0 &&
	    hs_sys_read_memory_all(at, &now, sizeof now) == 0 && now.start == entry->start &&
	    now.bytes == entry->bytes)
		return image;
	hs_arena_free(image);
	return NULL;
}

/* Gives the object its number, and reads its functions if it is new.  image: is given back. */
static void read_image(struct hs_gdb_jit *gdb, struct hs_jit_map *map, struct object *object,
		       char *image)
{
	uint32_t index = hs_interner_find(&gdb->seen, object);
	const struct object *known = NULL;
	int error;

	if (index != HS_INTERNER_NONE)
		known = hs_interner_item(&gdb->seen, index);
	object->hash = hs_hash_bytes(object->bytes, image, (size_t)object->bytes);
	if (known != NULL && known->hash == object->hash && known->number != 0) {
		object->number = known->number;
		hs_arena_free(image);
		return;
	}
	object->number = ++gdb->last_object;
	error = hs_jit_object_read(map, image, (size_t)object->bytes, object->number);
	if (error < 0)
		hs_stats_add(jit_skipped, 1);
	if (error == -ENOMEM)
		object->number = 0; /* what there is of it is gone, and read when a list changes */
}

/*
 * Takes the object of an entry.  Returns false if the entry has been met before, or there is no
 * memory for it; an object that cannot be read is passed over, for it will not be better later.
 */
static bool take_object(struct hs_gdb_jit *gdb, struct hs_jit_map *map,
			const struct hs_gdb_jit_entry *entry, uint64_t at)
{
	struct object object = {.entry = at, .start = entry->start, .bytes = entry->bytes};
	struct hs_gdb_jit_reading *reading = &gdb->reading;
	char *image = copy_image(entry, at);
	uint32_t count = reading->seen.count;

	reading->bytes += sizeof *entry + (image != NULL ? entry->bytes : 0);
	if (image != NULL)
		read_image(gdb, map, &object, image);
	else if (hs_interner_find(&gdb->seen, &object) == HS_INTERNER_NONE)
		hs_stats_add(jit_skipped, 1);
	return hs_interner_add(&reading->seen, &object) == count;
}

/* Hash of the end of an entry's object; 0: it cannot be read. */
static uint64_t hash_end(const struct hs_gdb_jit_entry *entry)
{
	static char end[LOOK_BYTES];
	uint64_t bytes = entry->bytes < LOOK_BYTES ? entry->bytes : LOOK_BYTES;
	uint64_t start = entry->start + (entry->bytes - bytes);

	return hs_sys_read_memory_all(start, end, bytes) < 0 ? 0 : hs_hash_bytes(1, end, bytes);
}

static struct hs_gdb_jit_look look_at(const struct hs_gdb_jit_list *list)
{
	struct hs_gdb_jit_look look = {.hash = 0};
	struct hs_gdb_jit_descriptor *descriptor = &look.descriptor;

	if (hs_sys_read_memory_all(list->address, descriptor, sizeof *descriptor) < 0)
		memset(descriptor, 0, sizeof *descriptor); /* its library is gone */
	/* Of another version it is not ready yet, or of a kind that we do not know. */
	if (descriptor->version == 1 && descriptor->first_entry != 0 &&
	    hs_sys_read_memory_all(descriptor->first_entry, &look.first, sizeof look.first) == 0)
		look.hash = hash_end(&look.first);
	return look;
}

/* Goes to the first entry of a list. */
static void begin_list(struct hs_gdb_jit *gdb, uint32_t number)
{
	struct hs_gdb_jit_reading *reading = &gdb->reading;
	struct hs_gdb_jit_list *list = &gdb->lists[number];

	list->last = look_at(list);
	reading->list = number;
	reading->link = list->address + offsetof(struct hs_gdb_jit_descriptor, first_entry);
	reading->at = list->last.descriptor.version == 1 ? list->last.descriptor.first_entry : 0;
}

/* Takes the next entry.  Returns false if the list makes no sense there. */
static bool read_entry(struct hs_gdb_jit *gdb, struct hs_jit_map *map)
{
	struct hs_gdb_jit_reading *reading = &gdb->reading;
	uint64_t at = reading->at, still;
	struct hs_gdb_jit_entry entry;

	if (hs_sys_read_memory_all(at, &entry, sizeof entry) < 0 ||
	    hs_sys_read_memory_all(reading->link, &still, sizeof still) < 0 || still != at ||
	    !take_object(gdb, map, &entry, at))
		return false;
	reading->link = at + offsetof(struct hs_gdb_jit_entry, next);
	reading->at = entry.next;
	return true;
}

/* Returns whether all lists have been read to their ends, or as far as they make sense. */
static bool read_lists(struct hs_gdb_jit *gdb, struct hs_jit_map *map, uint64_t end_ns)
{
	struct hs_gdb_jit_reading *reading = &gdb->reading;

	for (;;) {
		while (reading->at == 0) {
			if (reading->list + 1 >= gdb->list_count)
				return true;
			begin_list(gdb, reading->list + 1);
		}
		if (!read_entry(gdb, map)) {
			reading->is_damaged = true;
			reading->at = 0;
		}
		if (hs_sys_monotonic_ns() >= end_ns)
			return false;
	}
}

/* A bit for each object number that is in a list. */
static bool is_gone(const void *context, uint32_t object)
{
	const unsigned char *present = context;

	return object != HS_JIT_PERF_MAP && (present[object / 8] >> object % 8 & 1) == 0;
}

static bool remove_gone(const struct hs_gdb_jit *gdb, struct hs_jit_map *map)
{
	const struct hs_interner *seen = &gdb->reading.seen;
	unsigned char *present = hs_arena_zalloc(gdb->last_object / 8 + 1);

	if (present == NULL)
		return false;
	for (uint32_t i = 0; i < seen->count; i++) {
		const struct object *object = hs_interner_item(seen, i);

		present[object->number / 8] |= (unsigned char)(1u << object->number % 8);
	}
	hs_jit_map_remove(map, is_gone, present);
	hs_arena_free(present);
	return true;
}

static bool has_changed(const struct hs_gdb_jit *gdb)
{
	for (uint32_t i = 0; i < gdb->list_count; i++) {
		struct hs_gdb_jit_look now = look_at(&gdb->lists[i]);

		if (memcmp(&now, &gdb->lists[i].last, sizeof now) != 0)
			return true;
	}
	return false;
}

/* Returns false if it is not time, or there is no memory. */
static bool begin_reading(struct hs_gdb_jit *gdb, bool at_once, uint64_t now_ns)
{
	struct hs_gdb_jit_reading *reading = &gdb->reading;

	if (!gdb->is_stale && !has_changed(gdb))
		return false;
	gdb->is_stale = true;
	*reading = (struct hs_gdb_jit_reading){.is_under_way = false};
	if ((now_ns < gdb->again_ns && !at_once) ||
	    hs_interner_init(&reading->seen, gdb->seen.item_bytes, gdb->seen.key_bytes) != 0)
		return false;
	reading->is_under_way = true;
	begin_list(gdb, 0);
	return true;
}

static void end_reading(struct hs_gdb_jit *gdb, struct hs_jit_map *map)
{
	struct hs_gdb_jit_reading *reading = &gdb->reading;
	struct hs_interner old;

	if (!reading->is_damaged && remove_gone(gdb, map)) {
		gdb->is_stale = reading->is_outdated;
		old = gdb->seen;
		gdb->seen = reading->seen;
		reading->seen = old;
	}
	hs_interner_fini(&reading->seen);
	reading->is_under_way = false;
}

void hs_gdb_jit_begin_profile(struct hs_gdb_jit *gdb)
{
	gdb->is_stale = gdb->list_count > 0;
	gdb->reading.is_outdated = true;
}

bool hs_gdb_jit_read(struct hs_gdb_jit *gdb, struct hs_jit_map *map, bool at_once)
{
	struct hs_gdb_jit_reading *reading = &gdb->reading;
	uint64_t start_ns = hs_sys_monotonic_ns(), end_ns;

	if (!reading->is_under_way && !begin_reading(gdb, at_once, start_ns))
		return false;
	if (read_lists(gdb, map, start_ns + READ_NS))
		end_reading(gdb, map);
	end_ns = hs_sys_monotonic_ns();
	reading->ns += end_ns - start_ns;
	/* One that made no sense may do so for long, and each time its objects are read anew. */
	if (!reading->is_under_way && (reading->bytes > SHORT_BYTES || reading->is_damaged))
		gdb->again_ns = end_ns + reading->ns * REST;
	return reading->is_under_way || (at_once && reading->is_outdated);
}
