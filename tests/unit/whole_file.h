/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends a file of output/dump_file.h in one call, as session/unlocked_file.h does. */
#ifndef HS_TESTS_WHOLE_FILE_H
#define HS_TESTS_WHOLE_FILE_H

#include "output/dump_file.h"

/* The file is complete: closes and renames it.  0 or -errno, and the file is removed. */
static inline int commit_file(struct hs_dump_file *file)
{
	int error = hs_dump_file_finish(file, hs_dump_file_close(file, 0));

	hs_dump_file_close_other(file);
	return error;
}

/* Gives the file up: closes and removes it.  Does nothing to a file that is closed. */
static inline void discard_file(struct hs_dump_file *file)
{
	if (file->fd < 0)
		return;
	hs_dump_file_finish(file, hs_dump_file_close(file, -1));
	hs_dump_file_close_other(file);
}

#endif
