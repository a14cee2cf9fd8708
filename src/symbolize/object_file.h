/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the file of a mapped object, even if its path leads to another file now, or to none.
 *
 * Threads: profiler threads.
 */
#ifndef HS_SYMBOLIZE_OBJECT_FILE_H
#define HS_SYMBOLIZE_OBJECT_FILE_H

#include "symbolize/elf_file.h"

enum hs_object_flags {
	HS_OBJECT_MAIN = 1, /* the program itself */
	HS_OBJECT_FILE = 2, /* path names a file, or did */
	/*
	 * A map hint has named the object: it may be relocatable too, and then has addresses from
	 * the start of its text.
	 */
	HS_OBJECT_HINT = 4,
	HS_OBJECT_FLAT = 8, /* load_bias takes addresses to offsets into the file: elf_code.h */
};

/* As in struct hs_mapping. */
struct hs_object {
	const char *path;
	const char *build_id; /* "" = not known */
	uint64_t inode;       /* 0 = not known */
	uint64_t version;     /* 0 = not known */
	uint64_t start;       /* where it is mapped */
	uint64_t end;
	uint64_t load_bias;
	unsigned flags; /* enum hs_object_flags */
};

/*
 * Opens the first of these that is the object: the file at its path; /proc/self/exe, for the
 * program; /proc/self/map_files, which takes privileges.  Recognised by build id or, if that is not
 * known, by inode and version (not by device: for some file systems the maps show another one than
 * stat()).  To be closed with hs_elf_file_close().  Returns 0, 1 if it is not at its path any more,
 * or -errno of the path: that of hs_elf_file_open(), or -ESTALE: another object is there.
 */
int hs_object_file_open(struct hs_elf_file *file, const struct hs_object *object);

#endif
