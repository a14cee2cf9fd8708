/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a file that was written is still there under its name, and not another one.
 *
 * Called on: the producer.  Allocates: never.  Blocks: on the file system.
 */
#ifndef HS_OUTPUT_WRITTEN_FILE_H
#define HS_OUTPUT_WRITTEN_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* An inode's number alone is soon another file's. */
struct hs_written_file {
	dev_t device;
	ino_t inode; /* 0: there is none */
	uint64_t bytes;
	struct timespec modified;
};

/* Notes which file is at path.  0 or -errno. */
int hs_written_file_note(struct hs_written_file *file, const char *path);

bool hs_written_file_is_at(const struct hs_written_file *file, const char *path);

bool hs_written_file_is_same(const struct hs_written_file *file,
			     const struct hs_written_file *other);

#endif
