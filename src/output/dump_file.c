/* SPDX-License-Identifier: BSD-2-Clause */
/* Names and files of profiles.  See dump_file.h. */
#include "output/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "base/format.h"
#include "base/options.h"
#include "base/path.h"
#include "base/sys.h"

/* A descriptor that is kept is so far below the process's limit, or below 1024 if that is less. */
#define KEPT_BELOW_LIMIT 32
#define KEPT_FD_MAX 1024

static const char temporary_suffix[] = ".tmp";

/* A text that is being made.  full: something did not fit. */
struct text {
	char *bytes;
	size_t capacity;
	size_t length;
	bool full;
};

static void put(struct text *text, const char *bytes, size_t count)
{
	if (text->full || count >= text->capacity - text->length) {
		text->full = true;
		return;
	}
	memcpy(text->bytes + text->length, bytes, count);
	text->length += count;
	text->bytes[text->length] = '\0';
}

static void put_number(struct text *text, uint64_t number, bool four_digits)
{
	char digits[24];
	size_t length = hs_format(digits, sizeof digits, four_digits ? "%04lu" : "%lu",
				  (unsigned long)number);

	put(text, digits, length);
}

/* A text from outside the pattern, which must not leave the directory, or upset a terminal. */
static void put_name(struct text *text, const char *name)
{
	for (; *name != '\0'; name++) {
		unsigned char byte = (unsigned char)*name;
		bool harmless = byte >= 0x20 && byte != 0x7f && byte != '/';

		put(text, harmless ? name : "_", 1);
	}
}

static void put_host(struct text *text)
{
	struct utsname system;

	if (hs_syscall(SYS_uname, (long)&system, 0, 0, 0, 0, 0) == 0)
		put_name(text, system.nodename);
	else
		put_name(text, "unknown");
}

static void put_pid(struct text *text, pid_t pid)
{
	put_number(text, (uint64_t)pid, false);
}

/* letter: one that hs_pattern_is_valid() allows. */
static void put_letter(struct text *text, char letter, const struct hs_dump_name *name)
{
	switch (letter) {
	case 'p':
		put_pid(text, name->pid);
		break;
	case 'e':
		put_name(text, name->program);
		break;
	case 'h':
		put_host(text);
		break;
	case 't':
		put_number(text, name->time_s, false);
		break;
	case 'n':
		if (name->number == 0)
			put_name(text, name->reason);
		else
			put_number(text, name->number, true);
		break;
	case 'r':
		put_name(text, name->reason);
		break;
	default:
		put(text, "%", 1);
		break;
	}
}

static bool has_letter(const char *pattern, char letter)
{
	for (; *pattern != '\0'; pattern++) {
		if (pattern[0] != '%')
			continue;
		if (pattern[1] == letter)
			return true;
		if (pattern[1] != '\0')
			pattern++;
	}
	return false;
}

/* What is missing in the pattern to tell files apart: see struct hs_dump_name. */
static void put_additions(struct text *text, const char *pattern, const struct hs_dump_name *name)
{
	if (name->inherited && !has_letter(pattern, 'p')) {
		put(text, ".", 1);
		put_pid(text, name->pid);
	}
	if (name->number == 0 && !has_letter(pattern, 'n') && !has_letter(pattern, 'r')) {
		put(text, ".", 1);
		put_name(text, name->reason);
	}
}

int hs_dump_name_expand(const char *pattern, const struct hs_dump_name *name, char *path,
			size_t capacity)
{
	struct text text = {.bytes = path, .capacity = capacity};
	const char *last = hs_path_last(pattern), *additions_at = last + strcspn(last, ".");

	if (!hs_pattern_is_valid(pattern))
		return -EINVAL;
	for (const char *next = pattern;; next++) {
		if (next == additions_at)
			put_additions(&text, pattern, name);
		if (*next == '\0')
			break;
		if (*next != '%')
			put(&text, next, 1);
		else
			put_letter(&text, *++next, name);
	}
	return text.full ? -ENAMETOOLONG : 0;
}

int hs_dump_name_expand_free(const char *pattern, struct hs_dump_name *name, char *path,
			     size_t capacity)
{
	static char before[HS_PATH_BYTES];
	const uint32_t wanted = name->number;
	struct stat file;
	int error;

	before[0] = '\0';
	while ((error = hs_dump_name_expand(pattern, name, path, capacity)) == 0 &&
	       strcmp(path, before) != 0 && hs_sys_stat(path, &file) == 0) {
		hs_format(before, sizeof before, "%s", path);
		name->number++;
	}
	if (strcmp(path, before) == 0)
		name->number = wanted; /* it is not in the name */
	return error;
}

/*
 * The directory that a relative path starts from, with a '/' at its end; nothing if it has no name
 * because it was removed, or is outside of the root directory.
 */
static void put_working_directory(struct text *text)
{
	long bytes = hs_syscall(SYS_getcwd, (long)text->bytes, (long)text->capacity, 0, 0, 0, 0);

	if (bytes <= 1 || text->bytes[0] != '/')
		return;
	text->length = (size_t)bytes - 1;
	if (text->bytes[text->length - 1] != '/')
		put(text, "/", 1);
}

static int make_names(struct hs_dump_file *file, const char *path)
{
	struct text full = {.bytes = file->path, .capacity = sizeof file->path};
	struct text temporary = {.bytes = file->temporary, .capacity = sizeof file->temporary};
	const char *last;

	if (path[0] != '/')
		put_working_directory(&full);
	put(&full, path, strlen(path));
	if (full.full)
		return -ENAMETOOLONG;
	last = hs_path_last(file->path);
	if (*last == '\0')
		return -EISDIR;
	put(&temporary, file->path, (size_t)(last - file->path));
	put(&temporary, ".", 1);
	put(&temporary, last, strlen(last));
	put(&temporary, temporary_suffix, sizeof temporary_suffix - 1);
	return temporary.full ? -ENAMETOOLONG : 0;
}

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
	int error = make_names(file, path);

	file->fd = file->other = -1;
	if (error == 0)
		error = create_at(file, file->path, hs_dump_file_look(file->path) == 0);
	if (error == 0)
		move_up(file);
	return error;
}

int hs_dump_file_open(struct hs_dump_file *file, const char *path)
{
	int error = make_names(file, path);

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
