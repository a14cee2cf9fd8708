/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of the errors that a written file may have.  See dump_file.h. */
#include <errno.h>

#include "base/format.h"
#include "output/dump_file.h"

const char *hs_dump_error_text(int error)
{
	switch (error) {
	case -ENOENT:
		return "no such directory";
	case -EACCES:
	case -EPERM:
		return "permission denied";
	case -EROFS:
		return "read-only file system";
	case -ENOSPC:
		return "no space left on the device";
	case -EDQUOT:
		return "disk quota exceeded";
	case -EFBIG:
		return "file size limit exceeded";
	case -ENAMETOOLONG:
		return "name too long";
	case -EISDIR:
		return "it is a directory";
	case -ELOOP:
		return "it is a symbolic link";
	case -ENXIO:
		return "it is a pipe that nobody reads, a socket, or a device that is not there";
	case -ENOTDIR:
		return "a part of the path is not a directory";
	case -EBADF:
		return "the program closed its descriptor";
	case -EEXIST:
		return "it exists and is not a file";
	case -ESTALE:
		return "another one of this name was written meanwhile, or its directory was "
		       "replaced or removed";
	case -EMFILE:
	case -ENFILE:
		return "too many open files";
	case -EBUSY:
		return "something is mounted there: mount a directory, and name a file in it";
	case -EIO:
		return "input/output error";
	case -ENOMEM:
		return "out of HEAPSAMPLE_MEMORY, or at a limit of memory";
	case -ENOSYS:
		return "a system call is refused";
	default:
		return "error";
	}
}

const char *hs_dump_file_error_text(const struct hs_dump_file *file, int error)
{
	static char text[HS_PATH_BYTES + 128];

	if (error == 0 || error != file->in_the_way)
		return hs_dump_error_text(error);
	hs_format(text, sizeof text, "%s is in the way: %s", file->obstacle,
		  error == -EEXIST ? "another process writes it" : hs_dump_error_text(error));
	return text;
}
