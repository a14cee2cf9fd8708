/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of profiles: files that are whole or absent, and files that grow under their own name.
 *
 * A profile is written under a temporary name in the directory that it will be in (".NAME.tmp",
 * created with O_EXCL, mode 0600), and is renamed when it is complete.  Symbolic links are followed
 * in the directory's path only.  If that path leads to another directory by the time of the
 * renaming, the file is given up.
 *
 * A file that is new replaces nothing, and leaves alone what another process writes: its temporary
 * file keeps the name for that process.  One that a killed process has left is replaced when it is
 * old.  Any other file replaces both the file that has its name and a temporary one.
 *
 * Called on: the producer.  Allocates: never.  Blocks: on the file system.  Descriptors: one while
 * open; for moments another one.
 *
 * A fork may come at any time except while a descriptor is forgotten, after it was closed: the
 * kernel copies memory later than descriptors, so the child might have it and not know of it.
 */
#ifndef HS_OUTPUT_DUMP_FILE_H
#define HS_OUTPUT_DUMP_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/descriptor.h"
#include "output/dump_name.h"

/* All zero: closed. */
struct hs_dump_file {
	struct hs_descriptor own; /* once closed, it still says which file that is */
	bool is_new;    /* it must not replace a file */
	int in_the_way; /* -errno, why what has the temporary name, or the file's, stays; or 0 */
	const char *obstacle; /* and which of these names it has */
	/*
	 * Another descriptor, until hs_dump_file_close_other(): of the directory while the file is
	 * renamed or removed, or the one that the file was opened with before.
	 */
	struct hs_descriptor other;
	char path[HS_PATH_BYTES];
	char temporary[HS_PATH_BYTES];
};

/* A text for messages, of an error of these functions, of a write, or of the log's file. */
const char *hs_dump_error_text(int error);

/*
 * The same for a file that could not be opened or finished, with the name of the temporary file if
 * that is what was in the way.  Valid until the next call.
 */
const char *hs_dump_file_error_text(const struct hs_dump_file *file, int error);

/*
 * What is at path.  -EEXIST: something that a file must not replace (a device, a directory, a
 * link into /proc); 0: a file; otherwise the error of stat(2).  Start-up too.
 */
int hs_dump_file_look(const char *path);

/*
 * Creates the temporary file for path.  0, or -errno, and nothing is left; -EEXIST: as
 * hs_dump_file_look(), or if it is to be new, that the name is taken.
 */
int hs_dump_file_open(struct hs_dump_file *file, const char *path, bool is_new);

/*
 * Creates a file under its own name, to be kept open: its descriptor is moved out of the way of
 * programs that choose theirs.  Replaces a regular file of that name, or a link that leads nowhere,
 * unless it is to be new.  0 or -errno; -EEXIST: as hs_dump_file_open().
 * hs_dump_file_close_other() must follow; hs_dump_file_forget() closes it.
 */
int hs_dump_file_create(struct hs_dump_file *file, const char *path, bool is_new);

/*
 * Whether a file could not be opened or finished because its name is another's, or its temporary
 * name: under another name it may succeed.
 */
bool hs_dump_file_is_taken(const struct hs_dump_file *file, int error);

/*
 * Writes all of it.  0 or -errno; -EBADF: the program has closed the descriptor, and may have
 * opened its own under that number.
 */
int hs_dump_file_write(const struct hs_dump_file *file, const void *bytes, size_t count);

/* Closes the descriptors and leaves the file as it is: in a forked child it is the parent's. */
void hs_dump_file_forget(struct hs_dump_file *file);

/*
 * The end of a file, in four steps.  All but the last may wait for a disk or a server: the caller
 * can let a fork come in the first and the third, and in the second as when a file is opened.  The
 * first and the third take and return 0, or the error for which the file is given up.
 *
 * hs_dump_file_close() closes it, and leaves own as it is; -EBADF: it is not ours any more.
 * hs_dump_file_open_directory() forgets the descriptor, and opens the directory at the path where
 * the file was created, which may be another one by now.  hs_dump_file_finish() renames the file,
 * or removes it if there is an error; -ESTALE: it is not in that directory, -EEXIST: it is new, and
 * its name is taken.  hs_dump_file_close_other() closes the other descriptor; it must also follow
 * hs_dump_file_create().
 */
int hs_dump_file_close(struct hs_dump_file *file, int error);
void hs_dump_file_open_directory(struct hs_dump_file *file);
int hs_dump_file_finish(struct hs_dump_file *file, int error);
void hs_dump_file_close_other(struct hs_dump_file *file);

#endif
