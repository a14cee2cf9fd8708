/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what names are to be read from before that is done: nobody waits for a disk or a server
 * then, as the kernel has it in its cache.
 *
 * Called on: the producer, which is as in a pause meanwhile (base/pauses.h).  Memory: none.
 * Blocks: on the file system.
 */
#ifndef HS_SYMBOLIZE_READ_AHEAD_H
#define HS_SYMBOLIZE_READ_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pauses.h"
#include "maps/mapping.h"

/* All zero: nothing is open. */
struct hs_read_ahead {
	bool is_open;
	int fd;
	uint64_t device, inode;
};

/*
 * Has the kernel read what hs_symbols_load() will: the symbol tables of the object and its debug
 * files.  Best effort: what cannot be read is left.  Without pauses->at_file nothing is done.
 */
void hs_read_ahead(struct hs_read_ahead *ahead, const struct hs_mapping *object,
		   struct hs_pauses *pauses);

/* In a forked child: closes the file that the parent had open. */
void hs_read_ahead_after_fork(struct hs_read_ahead *ahead);

#endif
