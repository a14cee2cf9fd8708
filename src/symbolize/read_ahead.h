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

#include <stdint.h>

#include "base/descriptor.h"
#include "base/pauses.h"
#include "maps/mapping.h"
#include "symbolize/debug_file.h"
#include "symbolize/object_file.h"

/*
 * The files of an object that have been read ahead, in which version, by the numbers of their
 * paths, those of debug files last.  0: none has been.
 */
struct hs_read_ahead_files {
	uint64_t versions[HS_OBJECT_PATHS + HS_DEBUG_PATHS];
};

/* All zero: nothing is open. */
struct hs_read_ahead {
	struct hs_descriptor file;
};

/*
 * Has the kernel read what hs_symbols_load() will: the symbol tables of the object and its debug
 * files.  Tables of names, of which it reads a part only, are not read again as long as a file is
 * the same: files.  Best effort: what cannot be read is left.  Without pauses->at_file nothing is
 * done.
 */
void hs_read_ahead(struct hs_read_ahead *ahead, const struct hs_mapping *object,
		   struct hs_read_ahead_files *files, struct hs_pauses *pauses);

/* In a forked child: closes the file that the parent had open. */
void hs_read_ahead_after_fork(struct hs_read_ahead *ahead);

#endif
