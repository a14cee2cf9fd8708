/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of profiles: a name from a pattern, and a file that is whole or absent.  And files
 * that grow under their own name.
 *
 * A profile is written under a temporary name in its own directory (".NAME.tmp",
 * created with O_EXCL, mode 0600; one left by a killed process of the same name is
 * replaced) and renamed when it is complete.  Links are not followed, but in the directory's own
 * path; if that leads elsewhere by then, the file is given up.
 *
 * Threads: the producer; names are made at start-up too.  Memory: none.  Descriptors: one while
 * open; one of the directory at the end.
 */
#ifndef HS_OUTPUT_DUMP_FILE_H
#define HS_OUTPUT_DUMP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HS_PATH_BYTES 4096

/*
 * What stands for the letters of a pattern:
 *   %p pid  %e program  %h host  %t seconds since 1970  %n number, 4 digits or more
 *   %r reason  %% a percent sign
 * The number of a peak's profile is its reason, "peak"; without %n and %r in the pattern,
 * ".peak" is put where ".PID" would be, behind it.
 */
struct hs_dump_name {
	const char *program;
	const char *reason;
	pid_t pid;
	uint32_t number; /* 1 for the first profile of a process; 0: that of a peak */
	uint64_t time_s;
	/*
	 * The pattern came from a parent process: without %p in it, ".PID" is put before
	 * the first dot of the pattern's last component, or at its end if it has none.
	 */
	bool inherited;
};

/*
 * Expand pattern into path.  '/' and control bytes in a substituted text become '_'.
 * Returns 0, -ENAMETOOLONG, or -EINVAL for a pattern that hs_pattern_is_valid() of
 * base/options.h refuses, as the options do at start-up.
 */
int hs_dump_name_expand(const char *pattern, const struct hs_dump_name *name, char *path,
			size_t capacity);

/*
 * The same where a program executed in place of another one may have written files of that
 * name: name->number goes up until no file has it, or the pattern has no %n.
 */
int hs_dump_name_expand_free(const char *pattern, struct hs_dump_name *name, char *path,
			     size_t capacity);

struct hs_dump_file {
	int fd;       /* -1: closed */
	int directory; /* it is being given its name in this one, or removed from it; else -1 */
	dev_t device; /* of the file, with inode */
	ino_t inode;
	char path[HS_PATH_BYTES]; /* absolute, so that a chdir() of the program does no harm */
	char temporary[HS_PATH_BYTES];
};

/* What an error of these functions, of a write, or of the log's file means to a person. */
const char *hs_dump_error_text(int error);

/*
 * What is at path: -EEXIST for something that a file must not take the place of, a device, a
 * directory or a link into /proc; 0 for a file; else what stat(2) says.  Start-up too.
 */
int hs_dump_file_look(const char *path);

/*
 * Create the temporary file for path.  Returns 0 or -errno (nothing is left then; -EEXIST:
 * something is there, or behind a link there, that is no regular file, or a link into /proc).
 */
int hs_dump_file_open(struct hs_dump_file *file, const char *path);

/*
 * Create a file under its own name, to be kept open: its descriptor is moved out of the way
 * of programs that choose theirs.  A regular file of that name is replaced.  0 or -errno
 * (-EEXIST: there is something else).  Ended by hs_dump_file_forget().
 */
int hs_dump_file_create(struct hs_dump_file *file, const char *path);

/*
 * Whether fd still is the file: a program may close all descriptors and open its own under
 * the same number.  To be asked before each write; commit and discard ask themselves.
 */
bool hs_dump_file_is_ours(const struct hs_dump_file *file);

/*
 * Let go of the descriptors only: in a forked child, the file is the parent's.  The fork may have
 * come in the middle of any of these functions.
 */
void hs_dump_file_forget(struct hs_dump_file *file);

/*
 * Complete: close and rename.  On failure the temporary file is removed.  0 or -errno
 * (-EBADF: it is not ours any more; -ESTALE: the directory's path leads to another one).
 */
int hs_dump_file_commit(struct hs_dump_file *file);

/* Give up: close and remove the temporary file.  Does nothing to a file that is closed. */
void hs_dump_file_discard(struct hs_dump_file *file);

#endif
