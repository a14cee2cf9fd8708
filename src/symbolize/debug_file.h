/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The separate debug file of a stripped object.  Looked for, in this order:
 *
 *   ROOT/.build-id/ab/cdef....debug     by build id
 *   DIR/LINK, DIR/.debug/LINK, ROOT/DIR/LINK
 *
 * where LINK is the name in the object's .gnu_debuglink and DIR its directory.  It is taken
 * if it has the object's build id; where either has none, by the checksum in .gnu_debuglink.
 *
 * Threads: profiler threads.  Memory: the arena.
 */
#ifndef HS_SYMBOLIZE_DEBUG_FILE_H
#define HS_SYMBOLIZE_DEBUG_FILE_H

#include <limits.h>

#include "base/build_id.h"
#include "base/elf_file.h"
#include "base/visibility.h"

/* A file name in .gnu_debuglink is not longer (NAME_MAX) and has no slash. */
#define HS_DEBUG_LINK_BYTES 256
#define HS_DEBUG_LINK_MAX_BYTES (HS_DEBUG_LINK_BYTES + 8) /* the section */

/* "/usr/lib/debug".  Set by tests only, before anything is read. */
extern HS_HIDDEN const char *hs_debug_file_root;

/* What a debug file is looked for by. */
struct hs_debug_key {
	const char *path; /* the object's, absolute */
	uint64_t device, inode; /* the object's own: it is not its debug file; 0 = not known */
	char build_id[HS_BUILD_ID_HEX_BYTES]; /* lower-case hex, "" = none */
	char link[HS_DEBUG_LINK_BYTES]; /* "" = none */
	uint32_t checksum; /* of link's file: CRC-32 as in zlib */
};

/* Fills in link and checksum by the object's .gnu_debuglink, or by what is in that. */
void hs_debug_key_read_link(struct hs_debug_key *key, const struct hs_elf_file *object);
void hs_debug_key_set_link(struct hs_debug_key *key, const char *text, size_t bytes);

/* To read a larger file for its checksum takes too long while a profile is written. */
#define HS_DEBUG_CHECKSUM_MAX_BYTES (UINT64_C(256) << 20)

/* The paths above, by number.  false: there is none of this number. */
#define HS_DEBUG_PATHS 4
bool hs_debug_file_path(const struct hs_debug_key *key, unsigned number, char path[PATH_MAX]);

/*
 * Opens the first one that exists and has a symbol table; to be closed with hs_elf_file_close().
 * Returns 0, -ENOENT, or an error if memory or descriptors were short.
 */
int hs_debug_file_open(struct hs_elf_file *file, const struct hs_debug_key *key);

/*
 * A number that stands for which of these files exist, in which version: while it is the same,
 * hs_debug_file_open() finds the same.  0: none exists.  Taken before they are opened: one that
 * comes in between is noticed then.
 */
uint64_t hs_debug_file_version(const struct hs_debug_key *key);

#endif
