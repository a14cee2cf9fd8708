/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A descriptor, and which file it is of: the program may close one of ours, as by closefrom(), and
 * perhaps open another file under its number.
 *
 * Errors: a negative errno value.  Called on: any thread.  Errno: preserved.
 */
#ifndef HS_BASE_DESCRIPTOR_H
#define HS_BASE_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* All zero: closed. */
struct hs_descriptor {
	bool is_open;
	int fd; /* once it is closed -1, with which no call meets a file of the program's */
	dev_t device;
	ino_t inode;
};

/*
 * Notes which file fd is of.  0, or the error of fstat(), and *descriptor is closed.  file, here
 * and below: gets what fstat() said; may be NULL.
 */
int hs_descriptor_note(struct hs_descriptor *descriptor, int fd, struct stat *file);

/*
 * open() for writing, with O_CLOEXEC.  Never 0, 1 or 2, not for a moment: a program that has closed
 * these may go on writing to them.  The descriptor, or an error.
 */
int hs_open_to_write(const char *path, int flags, mode_t mode);

/* open(), or hs_open_to_write(), with O_CLOEXEC.  0 or an error, and *descriptor is closed. */
int hs_descriptor_open(struct hs_descriptor *descriptor, const char *path, int flags, mode_t mode,
		       struct stat *file);

/*
 * The same of a regular file, for reading, with file not NULL.  Anything else is -EINVAL.  Does not
 * wait for the writer of a FIFO; opening a device may have an effect.
 */
int hs_descriptor_open_regular(struct hs_descriptor *descriptor, const char *path,
			       struct stat *file);

/* 0: it still is of that file; -EBADF: it is closed, or another's; or the error of fstat(). */
int hs_descriptor_check(const struct hs_descriptor *descriptor);

/*
 * Closes it, unless it is another's: then -EBADF, and what was read may be of that other.  In any
 * case *descriptor is closed.
 */
int hs_descriptor_close(struct hs_descriptor *descriptor);

#endif
