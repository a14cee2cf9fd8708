/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of profiles.  See dump_file.h. */
#include "output/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/path.h"
#include "base/sys.h"

/* A descriptor that is kept is so far below the process's limit, or below 1024 if that is less. */
#define KEPT_BELOW_LIMIT 32
#define KEPT_FD_MAX 1024

/*
 * A temporary file that was not written to for so long is nobody's any more: nobody waits longer
 * for a profile.
 */
#define LEFT_AFTER_S 62

/* -ESTALE is said of names here, as by look_for(), and not of a server that lost a file. */
static int not_stale(int error)
{
	return error == -ESTALE ? -EIO : error;
}

/* 0: our file is in a directory under a name; -ESTALE: it is not; or why nobody can tell. */
static int look_for(const struct hs_dump_file *file, int directory, const char *name)
{
	struct stat now;
	int error = hs_sys_lstat(directory, name, &now);

	if (error != 0)
		return error == -ENOENT || error == -ENOTDIR ? -ESTALE : not_stale(error);
	return now.st_dev == file->own.device && now.st_ino == file->own.inode ? 0 : -ESTALE;
}

/*
 * Creates a file at path, and notes which it is.  replaces: what has that name now may be removed.
 * 0, or -errno, and there is none.
 */
static int create_at(struct hs_dump_file *file, const char *path, bool replaces)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
	int fd = hs_open_to_write(path, flags, 0600), error;

	if (fd == -EEXIST && replaces) {
		file->in_the_way = hs_sys_unlink(AT_FDCWD, path);
		fd = file->in_the_way != 0 ? file->in_the_way : hs_open_to_write(path, flags, 0600);
	}
	if (fd == -EEXIST)
		file->in_the_way = fd;
	file->obstacle = path;
	if (fd < 0)
		return fd;
	error = hs_descriptor_note(&file->own, fd, NULL);
	if (error != 0) {
		if (error != -EBADF)
			hs_sys_close(fd);
		hs_sys_unlink(AT_FDCWD, path);
	}
	return error;
}

/* Moves the file to a descriptor that a program is not likely to choose, if possible. */
static void move_up(struct hs_dump_file *file)
{
	uint64_t limit = hs_sys_soft_limit(RLIMIT_NOFILE);
	long least = (limit < KEPT_FD_MAX ? (long)limit : KEPT_FD_MAX) - KEPT_BELOW_LIMIT, moved;

	moved = hs_syscall(SYS_fcntl, file->own.fd, F_DUPFD_CLOEXEC, least, 0, 0, 0);
	if (moved < 0)
		return;
	file->other = file->own;
	file->own.fd = (int)moved;
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

static int make_paths(struct hs_dump_file *file, const char *path, bool is_new)
{
	file->own = file->other = (struct hs_descriptor){.fd = -1};
	file->is_new = is_new;
	file->in_the_way = 0;
	return hs_dump_name_complete(path, file->path, file->temporary);
}

int hs_dump_file_create(struct hs_dump_file *file, const char *path, bool is_new)
{
	int error = make_paths(file, path, is_new);

	if (error == 0)
		error = create_at(file, file->path,
				  !is_new && hs_dump_file_look(file->path) != -EEXIST);
	if (error == 0)
		move_up(file);
	return error;
}

/* Whether a process that is not any more, or has stopped for long, has left a file there. */
static bool is_left_behind(const char *temporary)
{
	struct stat file;

	return hs_sys_lstat(AT_FDCWD, temporary, &file) == 0 && S_ISREG(file.st_mode) &&
	       file.st_mtim.tv_sec < (time_t)(hs_sys_realtime_ns() / HS_SECOND_NS) - LEFT_AFTER_S;
}

/*
 * The temporary file keeps the name for us: who finds it there takes another one.  One who had it
 * before may have ended since the name was looked for, so that is done again.
 */
static int open_new(struct hs_dump_file *file)
{
	int error = create_at(file, file->temporary, is_left_behind(file->temporary));
	struct stat taken;

	if (error != 0 || hs_sys_lstat(AT_FDCWD, file->path, &taken) != 0)
		return error;
	(void)hs_dump_file_close(file, 0);
	file->own.is_open = false;
	if (look_for(file, AT_FDCWD, file->temporary) == 0)
		hs_sys_unlink(AT_FDCWD, file->temporary);
	return -EEXIST;
}

int hs_dump_file_open(struct hs_dump_file *file, const char *path, bool is_new)
{
	int error = make_paths(file, path, is_new);

	if (error != 0)
		return error;
	if (is_new)
		return open_new(file);
	if (hs_dump_file_look(file->path) == -EEXIST)
		return -EEXIST;
	return create_at(file, file->temporary, true);
}

bool hs_dump_file_is_taken(const struct hs_dump_file *file, int error)
{
	return error == -EEXIST || error == -ESTALE || (error != 0 && error == file->in_the_way);
}

/* A network file system's fstat() may be what reports that an earlier write failed. */
int hs_dump_file_write(const struct hs_dump_file *file, const void *bytes, size_t count)
{
	int error = hs_descriptor_check(&file->own);

	if (error == 0)
		error = hs_sys_write_all(file->own.fd, bytes, count);
	return not_stale(error);
}

void hs_dump_file_close_other(struct hs_dump_file *file)
{
	(void)hs_descriptor_close(&file->other);
}

void hs_dump_file_forget(struct hs_dump_file *file)
{
	(void)hs_descriptor_close(&file->own);
	hs_dump_file_close_other(file);
}

int hs_dump_file_close(struct hs_dump_file *file, int error)
{
	int checked = hs_descriptor_check(&file->own);
	int closed = checked == -EBADF ? checked : hs_sys_close(file->own.fd);

	if (error == 0)
		error = not_stale(checked != 0 ? checked : closed);
	return error;
}

void hs_dump_file_open_directory(struct hs_dump_file *file)
{
	char *last = file->path + (hs_path_last(file->path) - file->path), first = *last;

	file->own.is_open = false;
	*last = '\0';
	(void)hs_descriptor_open(&file->other, file->path, O_PATH | O_DIRECTORY, 0, NULL);
	*last = first;
}

/*
 * Renames a file if nothing has the new name.  Where the kernel or the file system cannot do that
 * by renaming (NFS), it gets the name beside its own first; and where it cannot have two (FAT), it
 * is renamed if nothing has the name at that moment.  If a server's answer is lost and it is asked
 * again, it says that the name is taken: by our file, if that has two names.
 */
static int rename_new(int directory, const char *from, const char *to)
{
	int error = hs_sys_rename(directory, from, to, RENAME_NOREPLACE);
	struct stat file, taken;

	if (error != -EINVAL && error != -ENOSYS)
		return error;
	error = (int)hs_syscall(SYS_linkat, directory, (long)from, directory, (long)to, 0, 0);
	if (error == -EEXIST && hs_sys_lstat(directory, from, &file) == 0 && file.st_nlink > 1)
		error = 0;
	if (error == 0)
		hs_sys_unlink(directory, from);
	if (error == 0 || error == -EEXIST)
		return error;
	if (hs_sys_lstat(directory, to, &taken) == 0)
		return -EEXIST;
	return hs_sys_rename(directory, from, to, 0);
}

/*
 * Ends the temporary name: renames the file if it is complete, and removes it if not.  Touches
 * nothing in another directory that has come to the path.  If the directory could not be opened,
 * for example because no descriptor is free, whole paths are used: it could be replaced between
 * check and change, but no profile is lost.
 */
static int end_name(const struct hs_dump_file *file, bool is_complete)
{
	bool by_path = !file->other.is_open;
	int directory = by_path ? AT_FDCWD : file->other.fd;
	const char *temporary = by_path ? file->temporary : hs_path_last(file->temporary);
	const char *path = by_path ? file->path : hs_path_last(file->path);
	int error = look_for(file, directory, temporary);

	if (error != 0)
		return error;
	if (!is_complete)
		return hs_sys_unlink(directory, temporary);
	return file->is_new ? rename_new(directory, temporary, path)
			    : hs_sys_rename(directory, temporary, path, 0);
}

int hs_dump_file_finish(struct hs_dump_file *file, int error)
{
	if (error == 0) {
		error = end_name(file, true);
		/* Our own may be renamed: what has the name is another user's. */
		if (error == -EPERM && !file->is_new) {
			file->in_the_way = error;
			file->obstacle = file->path;
		}
	}
	if (error != 0)
		end_name(file, false);
	return error;
}
