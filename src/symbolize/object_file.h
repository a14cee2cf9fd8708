/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the file of a mapped object, even if its path leads to another file now, or to none.
 *
 * Threads: profiler threads.
 */
#ifndef HS_SYMBOLIZE_OBJECT_FILE_H
#define HS_SYMBOLIZE_OBJECT_FILE_H

#include "base/elf_file.h"
#include "maps/mapping.h"

/* Where an object may be, by number: at its path first. */
#define HS_OBJECT_PATHS 3
#define HS_OBJECT_PATH_BYTES 64

/* One of these paths, perhaps in room.  NULL: the object has none of this number. */
const char *hs_object_file_path(const struct hs_mapping *object, unsigned number,
				char room[HS_OBJECT_PATH_BYTES]);

/*
 * Opens the first of these that is the object (hs_mapping_is_of_file()): the file at its path;
 * /proc/thread-self/exe, for the program; /proc/self/map_files, which takes privileges.  One that a
 * map hint has named may be relocatable too.  To be closed with hs_elf_file_close().  Returns 0, 1
 * if it is not at its path any more, or -errno of the path: that of hs_elf_file_open(), or -ESTALE:
 * another object is there.
 */
int hs_object_file_open(struct hs_elf_file *file, const struct hs_mapping *object);

#endif
