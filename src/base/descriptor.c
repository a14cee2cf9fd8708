/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors of ours.  See descriptor.h. */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/sys.h"

int hs_descriptor_note(struct hs_descriptor *descriptor, int fd, struct stat *file)
{
	struct stat now;
	int error = hs_sys_fstat(fd, &now);

	*descriptor = (struct hs_descriptor){.fd = -1};
	if (error != 0)
		return error;
	*descriptor = (struct hs_descriptor){true, fd, now.st_dev, now.st_ino};
	if (file != NULL)
		*file = now;
	return 0;
}

int hs_open_to_write(const char *path, int flags, mode_t mode)
{
	struct hs_descriptor held[STDERR_FILENO + 1];
	int count = 0, fd;

	/* With O_PATH there is nothing to read or write: an error as if they were closed. */
	while (count <= STDERR_FILENO &&
	       hs_descriptor_open(&held[count], "/", O_PATH, 0, NULL) == 0) {
		if (held[count].fd > STDERR_FILENO) {
			(void)hs_descriptor_close(&held[count]);
			break;
		}
		count++;
	}
	fd = hs_sys_open(path, flags, mode);
	/* Unless the program has put a file of its own there. */
	while (count > 0)
		(void)hs_descriptor_close(&held[--count]);
	return fd;
}

int hs_descriptor_open(struct hs_descriptor *descriptor, const char *path, int flags, mode_t mode,
		       struct stat *file)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY;
	int fd = writes ? hs_open_to_write(path, flags, mode) : hs_sys_open(path, flags, mode);
	int error;

	*descriptor = (struct hs_descriptor){.fd = -1};
	if (fd < 0)
		return fd;
	error = hs_descriptor_note(descriptor, fd, file);
	if (error != 0 && error != -EBADF)
		hs_sys_close(fd);
	return error;
}

int hs_descriptor_open_regular(struct hs_descriptor *descriptor, const char *path,
			       struct stat *file)
{
	int error = hs_descriptor_open(descriptor, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, file);

	if (error != 0 || S_ISREG(file->st_mode))
		return error;
	(void)hs_descriptor_close(descriptor);
	return -EINVAL;
}

int hs_descriptor_check(const struct hs_descriptor *descriptor)
{
	struct stat now = {.st_ino = 0};
	int error = descriptor->is_open ? hs_sys_fstat(descriptor->fd, &now) : -EBADF;

	if (error != 0)
		return error;
	return now.st_dev == descriptor->device && now.st_ino == descriptor->inode ? 0 : -EBADF;
}

int hs_descriptor_close(struct hs_descriptor *descriptor)
{
	int error = hs_descriptor_check(descriptor);

	if (error != -EBADF)
		error = hs_sys_close(descriptor->fd);
	*descriptor = (struct hs_descriptor){.fd = -1};
	return error;
}
