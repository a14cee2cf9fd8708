/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The texts of a profile, each once, numbered in order of first use.  Number 0 is "".
 *
 * A text is stored as a profile may have it: a byte that is not UTF-8 becomes %XX, and what exceeds
 * HS_STRING_BYTES is cut off between two characters.  A text without escapes is not copied: it must
 * outlive the table.
 *
 * Called on: the producer.  Allocates: from the arena.
 */
#ifndef HS_OUTPUT_STRING_TABLE_H
#define HS_OUTPUT_STRING_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/interner.h"

/* The longest text, without NUL: bounds what one mangled name adds to a profile. */
#define HS_STRING_BYTES 4096

/* Strings of equal hash and length are told apart by clash; as good as never are there two. */
struct hs_string {
	uint32_t hash;
	uint32_t length;
	uint32_t clash;    /* the key ends here */
	bool is_owned;     /* bytes belong to the table */
	const char *bytes; /* not NUL-terminated if it was cut */
};

struct hs_string_table {
	struct hs_interner interner;
};

/* Makes a table that has "".  Returns 0 or -ENOMEM; _fini() is allowed after either. */
int hs_string_table_init(struct hs_string_table *table);
void hs_string_table_fini(struct hs_string_table *table);

/* The number of a text, which is added if it is new; NULL is "".  Returns 0 or -ENOMEM. */
int hs_string_table_intern(struct hs_string_table *table, const char *text, uint32_t *number);

static inline const struct hs_string *hs_string_table_get(const struct hs_string_table *table,
							  uint32_t number)
{
	return hs_interner_item(&table->interner, number);
}

#endif
