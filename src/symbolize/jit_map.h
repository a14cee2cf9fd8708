/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of generated code: which function a JIT compiler has put where.
 *
 * It has the code that is there now.  Added code replaces every older function that it overlaps, as
 * a whole: a compiler reuses memory after it has discarded a function, which perf maps do not
 * record.  Code that has moved is added at its new place.  If two sources disagree, the one read
 * last wins.
 *
 * A sample's frame keeps the number of its function's name, which stays valid when the code is
 * gone.  Only names that were asked for are kept: the table does not grow as code comes and goes.
 *
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_SYMBOLIZE_JIT_MAP_H
#define HS_SYMBOLIZE_JIT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/interner.h"
#include "maps/address_range_map.h"

/* Code of a perf map; other numbers are objects of the GDB JIT interface. */
#define HS_JIT_PERF_MAP 0

/* No function is larger than this: ranges beyond it are refused. */
#define HS_JIT_MAX_BYTES (UINT64_C(1) << 30)

/* All texts live as long as the table. */
struct hs_jit_name {
	const char *name;        /* for people, see jit_name.h */
	const char *system_name; /* as the compiler gave it */
	const char *file;        /* "" = not known */
	uint32_t start_line;     /* 0 = not known */
};

/* Code that is there now. */
struct hs_jit_code {
	char *text; /* its name; NULL: not in use */
	uint64_t start;
	uint64_t end;
	uint32_t object; /* where it was read */
	uint32_t name;   /* number of its name, 0 = nobody asked yet; not in use: next such */
};

struct hs_jit_map {
	struct hs_address_range_map ranges; /* the value is an index into codes */
	struct hs_jit_code *codes;
	uint32_t code_count;
	uint32_t code_capacity;
	uint32_t free_code;       /* index + 1 of the first that is not in use */
	struct hs_interner names; /* see jit_map.c */
	size_t bytes;             /* taken by what is there now */
	size_t most_bytes;
};

/* most_bytes: for the code that is there now, at most.  Returns 0 or -ENOMEM. */
int hs_jit_map_init(struct hs_jit_map *map, size_t most_bytes);
void hs_jit_map_fini(struct hs_jit_map *map);

/*
 * Adds code at [start, end).  The text need not be NUL-terminated and has no NUL in it.
 * Code that is there already, with this name and from this object, stays.
 * Returns 0, -EINVAL (no or absurd range, no text) or -ENOMEM; then the older code is
 * gone all the same.
 */
int hs_jit_map_add(struct hs_jit_map *map, uint64_t start, uint64_t end, const char *text,
		   size_t text_bytes, uint32_t object);

/* Forgets the code of the objects that are gone. */
void hs_jit_map_remove(struct hs_jit_map *map,
		       bool (*is_gone)(const void *context, uint32_t object), const void *context);

/*
 * The number of the name of the code that holds address, and where it was read; 0 if
 * there is none, or no memory.  Equal names have equal numbers.
 */
uint32_t hs_jit_map_find(struct hs_jit_map *map, uint64_t address, uint32_t *object);

/* number: not 0, of hs_jit_map_find(). */
void hs_jit_map_name(const struct hs_jit_map *map, uint32_t number, struct hs_jit_name *out);

#endif
