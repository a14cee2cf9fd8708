/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends a file of output/dump_file.h in one call, as session/unlocked.h does. */
#ifndef HS_TESTS_WHOLE_FILE_H
#define HS_TESTS_WHOLE_FILE_H

#include "output/dump_file.h"

static inline int end_file(struct hs_dump_file *file, int error)
{
	error = hs_dump_file_close(file, error);
	hs_dump_file_open_directory(file);
	error = hs_dump_file_finish(file, error);
	hs_dump_file_close_other(file);
	return error;
}

/* The file is complete: closes and renames it.  0 or -errno, and the file is removed. */
static inline int commit_file(struct hs_dump_file *file)
{
	return end_file(file, 0);
}

/* Gives the file up: closes and removes it.  Does nothing to a file that is closed. */
static inline void discard_file(struct hs_dump_file *file)
{
	if (file->own.is_open)
		end_file(file, -1);
}

#endif
