/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GDB JIT interface: a list of ELF objects that JIT compilers keep for debuggers, at
 * __jit_debug_descriptor (GDB manual, "JIT Compilation Interface").
 *
 * The list belongs to the program, which changes it while it is read: it is read with
 * hs_sys_read_memory_all() only, an entry is believed if the one before still points to it
 * when it has been read, and an object's copy if its entry is the same afterwards.  A list
 * that makes no sense is read again later, and nothing is forgotten for it.
 *
 * Unlike a perf map the list says when code went away.
 *
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_SYMBOLIZE_GDB_JIT_H
#define HS_SYMBOLIZE_GDB_JIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/interner.h"
#include "symbolize/jit_map.h"

#define HS_GDB_JIT_SYMBOL "__jit_debug_descriptor"

/* Each object that has a compiler in it may have a list of its own. */
#define HS_GDB_JIT_LISTS 16

/* As it lies in memory. */
struct hs_gdb_jit_descriptor {
	uint32_t version;
	uint32_t action;
	uint64_t relevant_entry;
	uint64_t first_entry;
};

/* struct jit_code_entry, as it lies in memory. */
struct hs_gdb_jit_entry {
	uint64_t next;
	uint64_t previous;
	uint64_t start;
	uint64_t bytes;
};

/*
 * What a list is known by.  New objects come first: one that lies where another was, entry and
 * all, is told by its bytes.  What cannot be read is zeros.
 */
struct hs_gdb_jit_look {
	struct hs_gdb_jit_descriptor descriptor;
	struct hs_gdb_jit_entry first;
	uint64_t hash; /* of the end of the first object, where names are */
};

struct hs_gdb_jit_list {
	uint64_t address;            /* of the descriptor */
	struct hs_gdb_jit_look last; /* before the list was read */
};

/* One reading of all lists, which may go on in the next call. */
struct hs_gdb_jit_reading {
	bool is_under_way;
	bool is_damaged;         /* a list made no sense */
	bool is_outdated;        /* a profile has begun since */
	struct hs_interner seen; /* the objects met */
	uint64_t bytes;          /* of entries and objects */
	uint64_t ns;             /* that it has taken */
	uint32_t list;           /* that is being read, */
	uint64_t link;           /* where it says where the next one is, */
	uint64_t at;             /* and where that is; 0: there are no more */
};

/* All zero but for the interner: no list is known. */
struct hs_gdb_jit {
	struct hs_gdb_jit_list lists[HS_GDB_JIT_LISTS];
	uint32_t list_count;
	uint32_t last_object;    /* numbers are not used twice */
	bool is_stale;           /* a list has changed since it was read, or made no sense */
	uint64_t again_ns;       /* monotonic time before which no list is read */
	struct hs_interner seen; /* objects of the lists: see gdb_jit.c */
	struct hs_gdb_jit_reading reading;
};

/* Returns 0 or -ENOMEM. */
int hs_gdb_jit_init(struct hs_gdb_jit *gdb);
void hs_gdb_jit_fini(struct hs_gdb_jit *gdb);

/* Adds a descriptor, which is at address, unless it is known. */
void hs_gdb_jit_add(struct hs_gdb_jit *gdb, uint64_t address);

/*
 * All lists are read from the next call on, changed or not, and after a reading that is under way:
 * a compiler may put new objects elsewhere, and what it puts in front has been passed.
 */
void hs_gdb_jit_begin_profile(struct hs_gdb_jit *gdb);

/*
 * Brings the map up to date if a list has changed: adds the functions of new objects, and
 * removes those of objects that are in no list any more.  Reading long lists takes at most a
 * twentieth of the time, unless at_once (for a profile).  Counted: jit_skipped.
 *
 * A call takes about 10 ms, or longer for a large object or much to remove.  Returns whether there
 * is more to read at the next call.
 */
bool hs_gdb_jit_read(struct hs_gdb_jit *gdb, struct hs_jit_map *map, bool at_once);

#endif
