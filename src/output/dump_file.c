/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of profiles.  See dump_file.h. */
#include "output/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/path.h"
#include "base/sys.h"

/* A descriptor that is kept is so far below the process's limit, or below 1024 if that is less. */
#define KEPT_BELOW_LIMIT 32
#define KEPT_FD_MAX 1024

/*
 * Creates a file at path, and notes which it is.  replaces: what has that name now may be removed.
 * 0, or -errno, and there is none.
 */
static int create_at(struct hs_dump_file *file, const char *path, bool replaces)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
	struct stat created;
	int fd = hs_sys_open(path, flags, 0600), error;

	if (fd == -EEXIST && replaces && hs_sys_unlink(path) == 0)
		fd = hs_sys_open(path, flags, 0600);
	file->fd = fd;
	error = fd < 0 ? fd : hs_sys_fstat(fd, &created);
	if (error != 0) {
		file->fd = -1;
		if (fd >= 0) {
			hs_sys_close(fd);
			hs_sys_unlink(path);
		}
		return error;
	}
	file->device = created.st_dev;
	file->inode = created.st_ino;
	return 0;
}

/* Moves the file to a descriptor that a program is not likely to choose, if possible. */
static void move_up(struct hs_dump_file *file)
{
	int fd = file->fd;
	struct rlimit most;
	long moved;

	if (hs_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&most, 0, 0) != 0 ||
	    most.rlim_cur <= KEPT_BELOW_LIMIT)
		return;
	moved = most.rlim_cur < KEPT_FD_MAX ? (long)most.rlim_cur : KEPT_FD_MAX;
	moved = hs_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, moved - KEPT_BELOW_LIMIT, 0, 0, 0);
	if (moved < 0)
		return;
	file->other_device = file->device;
	file->other_inode = file->inode;
	file->other = fd;
	file->fd = (int)moved;
}

/* Such as /dev/stdout, whatever it leads to now. */
static bool is_link_into_proc(const char *path)
{
	static const char proc[] = { '/', 'p', 'r', 'o', 'c', '/' };
	char target[sizeof proc];

	return hs_sys_readlink(path, target, sizeof target) == sizeof target &&
	       memcmp(target, proc, sizeof target) == 0;
}

int hs_dump_file_look(const char *path)
{
	struct stat old;
	int error = hs_sys_stat(path, &old);

	return is_link_into_proc(path) || (error == 0 && !S_ISREG(old.st_mode)) ? -EEXIST : error;
}

int hs_dump_file_create(struct hs_dump_file *file, const char *path)
{
	int error = hs_dump_name_complete(path, file->path, file->temporary);

	file->fd = file->other = -1;
	if (error == 0)
		error = create_at(file, file->path, hs_dump_file_look(file->path) == 0);
	if (error == 0)
		move_up(file);
	return error;
}

int hs_dump_file_open(struct hs_dump_file *file, const char *path)
{
	int error = hs_dump_name_complete(path, file->path, file->temporary);

	file->fd = file->other = -1;
	if (error == 0 && hs_dump_file_look(file->path) == -EEXIST)
		error = -EEXIST;
	return error != 0 ? error : create_at(file, file->temporary, true);
}

static bool is_of(int fd, dev_t device, ino_t inode)
{
	struct stat now;

	return fd >= 0 && hs_sys_fstat(fd, &now) == 0 && now.st_dev == device &&
	       now.st_ino == inode;
}

bool hs_dump_file_is_ours(const struct hs_dump_file *file)
{
	return is_of(file->fd, file->device, file->inode);
}

void hs_dump_file_close_other(struct hs_dump_file *file)
{
	if (is_of(file->other, file->other_device, file->other_inode))
		hs_sys_close(file->other);
	file->other = -1;
}

void hs_dump_file_forget(struct hs_dump_file *file)
{
	if (hs_dump_file_is_ours(file))
		hs_sys_close(file->fd);
	file->fd = -1;
	hs_dump_file_close_other(file);
}

int hs_dump_file_close(struct hs_dump_file *file, int error)
{
	int closed = hs_dump_file_is_ours(file) ? hs_sys_close(file->fd) : -EBADF;

	return error != 0 ? error : closed;
}

void hs_dump_file_open_directory(struct hs_dump_file *file)
{
	char *last = file->path + (hs_path_last(file->path) - file->path), first = *last;
	struct stat opened = {.st_ino = 0};
	int fd, error;

	file->fd = -1;
	*last = '\0';
	fd = hs_sys_open(file->path[0] != '\0' ? file->path : ".", O_PATH | O_DIRECTORY, 0);
	*last = first;
	error = fd < 0 ? fd : hs_sys_fstat(fd, &opened);
	if (fd >= 0 && error != 0)
		hs_sys_close(fd);
	file->other = error != 0 ? error : fd;
	file->other_device = opened.st_dev;
	file->other_inode = opened.st_ino;
}

/* Whether our file is in a directory under a name. */
static bool is_in(const struct hs_dump_file *file, int directory, const char *name)
{
	struct stat now;

	return hs_syscall(SYS_newfstatat, directory, (long)name, (long)&now,
			  AT_SYMLINK_NOFOLLOW, 0, 0) == 0 &&
	       now.st_dev == file->device && now.st_ino == file->inode;
}

/*
 * Ends the temporary name: renames the file if it is complete, and removes it if not.  Touches
 * nothing in another directory that has come to the path.  If the directory could not be opened,
 * for example because no descriptor is free, whole paths are used: it could be replaced between
 * check and change, but no profile is lost.
 */
static int end_name(const struct hs_dump_file *file, bool is_complete)
{
	bool by_path = file->other < 0;
	int directory = by_path ? AT_FDCWD : file->other;
	const char *temporary = by_path ? file->temporary : hs_path_last(file->temporary);
	const char *path = by_path ? file->path : hs_path_last(file->path);

	if (!is_in(file, directory, temporary))
		return -ESTALE;
	return is_complete ? hs_sys_rename(directory, temporary, path)
			   : hs_sys_unlink_in(directory, temporary);
}

int hs_dump_file_finish(struct hs_dump_file *file, int error)
{
	if (error == 0)
		error = end_name(file, true);
	if (error != 0)
		end_name(file, false);
	return error;
}
