/* SPDX-License-Identifier: BSD-2-Clause */
/* Which file has a name.  See written_file.h. */
#include "output/written_file.h"

#include <fcntl.h>

#include "base/sys.h"

int hs_written_file_note(struct hs_written_file *file, const char *path)
{
	struct stat now = {.st_ino = 0};
	int error = hs_sys_lstat(AT_FDCWD, path, &now);

	*file = (struct hs_written_file){
		.device = now.st_dev,
		.inode = now.st_ino,
		.bytes = (uint64_t)now.st_size,
		.modified = now.st_mtim,
	};
	return error;
}

bool hs_written_file_is_same(const struct hs_written_file *file,
			     const struct hs_written_file *other)
{
	return file->inode != 0 && file->inode == other->inode && file->device == other->device &&
	       file->bytes == other->bytes && file->modified.tv_sec == other->modified.tv_sec &&
	       file->modified.tv_nsec == other->modified.tv_nsec;
}

bool hs_written_file_is_at(const struct hs_written_file *file, const char *path)
{
	struct hs_written_file now;

	return hs_written_file_note(&now, path) == 0 && hs_written_file_is_same(file, &now);
}
