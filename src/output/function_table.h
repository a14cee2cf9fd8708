/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of a profile: pairs of text numbers (see output/string_table.h), each
 * once, numbered from 1 in order of first use.
 *
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_OUTPUT_FUNCTION_TABLE_H
#define HS_OUTPUT_FUNCTION_TABLE_H

#include <stdint.h>

struct hs_function {
	uint32_t name;
	uint32_t system_name;
};

struct hs_function_table {
	struct hs_function *functions; /* number n is at n - 1 */
	uint32_t count;
	uint32_t capacity;
	uint32_t *slots;     /* open addressing: number of a function, 0 = free */
	uint32_t slot_count; /* power of two */
};

/* Make an empty table.  Returns 0 or -ENOMEM; _fini() is allowed after either. */
int hs_function_table_init(struct hs_function_table *table);
void hs_function_table_fini(struct hs_function_table *table);

/* The number of function, added if it is new.  Returns 0 or -ENOMEM. */
int hs_function_table_intern(struct hs_function_table *table, struct hs_function function,
			     uint32_t *number);

#endif
