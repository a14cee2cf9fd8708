/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads perf maps.  Runs on the producer. */
#include "symbolize/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/arena.h"
#include "base/descriptor.h"
#include "base/digits.h"
#include "base/format.h"
#include "base/log.h"
#include "base/stats.h"
#include "base/sys.h"

enum { PATH_BYTES = 32 };

/* Clocks of file systems may be behind; and code may have been compiled before ours began. */
#define EARLIER_NS ((int64_t)HS_SECOND_NS)

void hs_perf_map_fini(struct hs_perf_map *perf)
{
	hs_arena_free(perf->buffer);
	*perf = (struct hs_perf_map){0};
}

/* Digits at *next, behind a prefix or none, and the blank behind them. */
static bool parse_number(const char **next, const char *end, uint64_t *value)
{
	const char *behind;

	if (end - *next >= 2 && (*next)[0] == '0' && ((*next)[1] | 0x20) == 'x')
		*next += 2;
	behind = hs_parse_digits(*next, end, 16, value);
	if (behind == NULL || behind == end || *behind != ' ')
		return false;
	*next = behind + 1;
	return true;
}

/* A line without its newline. */
static void take_line(struct hs_jit_map *map, const char *line, const char *end)
{
	uint64_t start, bytes;

	if (!parse_number(&line, end, &start) || !parse_number(&line, end, &bytes) ||
	    bytes > UINT64_MAX - start || memchr(line, '\0', (size_t)(end - line)) != NULL ||
	    hs_jit_map_add(map, start, start + bytes, line, (size_t)(end - line),
			   HS_JIT_PERF_MAP) != 0)
		hs_stats_add(jit_skipped, 1);
}

/* Takes the whole lines of the buffer.  Returns the bytes that they have. */
static size_t take_lines(struct hs_perf_map *perf, struct hs_jit_map *map, size_t bytes)
{
	const char *line = perf->buffer, *end = line + bytes, *newline;

	while ((newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
		if (perf->in_line)
			perf->in_line = false;
		else
			take_line(map, line, newline);
		line = newline + 1;
	}
	if (line == perf->buffer && bytes == HS_PERF_MAP_LINE_BYTES) {
		if (!perf->in_line)
			hs_stats_add(jit_skipped, 1);
		perf->in_line = true;
		line = end;
	}
	return (size_t)(line - perf->buffer);
}

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a pipe";
	case S_IFSOCK:
		return "a socket";
	case S_IFREG:
		return "a file";
	default:
		return "a device";
	}
}

static bool refuse(struct hs_perf_map *perf, const char *path, const char *what, unsigned owner,
		   unsigned user)
{
	if (!perf->refused)
		hs_log(HS_LOG_WARN,
		       "%s is %s of user %u: not used (expected a regular file of user %u)", path,
		       what, owner, user);
	perf->refused = true;
	return false;
}

static bool is_usable(struct hs_perf_map *perf, const char *path, const struct stat *file)
{
	unsigned user = (unsigned)hs_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0);

	if (S_ISREG(file->st_mode) && file->st_uid == user)
		return true;
	return refuse(perf, path, kind_of(file->st_mode), file->st_uid, user);
}

/* A process that reuses an id may find what was left in /tmp by the one that had it before. */
static bool is_left_over(const struct hs_perf_map *perf, const struct stat *file)
{
	return hs_sys_time_ns(file->st_mtim) < perf->begun_ns - EARLIER_NS;
}

static bool is_same_file(const struct hs_perf_map *perf, const struct stat *file)
{
	return file->st_dev == perf->device && file->st_ino == perf->inode;
}

static bool has_same_bytes(const struct hs_perf_map *perf, const struct stat *file)
{
	return (uint64_t)file->st_size == perf->bytes;
}

static bool has_same_time(const struct hs_perf_map *perf, const struct stat *file)
{
	return hs_sys_time_ns(file->st_mtim) == perf->modified_ns;
}

/* Whether what was read last stands where it stood.  The buffer is free. */
static bool has_same_end(struct hs_perf_map *perf, int fd)
{
	return hs_sys_pread_all(fd, perf->buffer, perf->end_bytes,
				perf->offset - perf->end_bytes) == 0 &&
	       memcmp(perf->buffer, perf->end, perf->end_bytes) == 0;
}

/* The last of the bytes that were taken, and of those before them. */
static void keep_end(struct hs_perf_map *perf, size_t used)
{
	size_t most = sizeof perf->end;
	size_t bytes = used < most ? used : most;
	size_t older = perf->end_bytes < most - bytes ? perf->end_bytes : most - bytes;

	memmove(perf->end, perf->end + perf->end_bytes - older, older);
	memcpy(perf->end + older, perf->buffer + used - bytes, bytes);
	perf->end_bytes = (uint32_t)(older + bytes);
}

/*
 * Begins anew if the file is another one than before, or has been written anew.  One that is as
 * long as before at another time has been, though its end may be the same: OpenJDK's begins with
 * what changes and ends with what does not.  A write sets the time before the length: a look in
 * between, which is rare, begins anew in vain.
 */
static void follow_file(struct hs_perf_map *perf, int fd, const struct stat *file)
{
	if (!is_same_file(perf, file) ||
	    (has_same_bytes(perf, file) && !has_same_time(perf, file)) || !has_same_end(perf, fd)) {
		perf->offset = 0;
		perf->end_bytes = 0;
		perf->in_line = false;
	}
	perf->device = file->st_dev;
	perf->inode = file->st_ino;
	perf->bytes = (uint64_t)file->st_size;
	perf->modified_ns = hs_sys_time_ns(file->st_mtim);
}

/* Returns whether most_bytes were the end of it. */
static bool read_lines(struct hs_perf_map *perf, struct hs_jit_map *map, int fd,
		       uint64_t most_bytes)
{
	uint64_t taken = 0;
	ssize_t got;

	while (taken < most_bytes) {
		size_t used;

		got = hs_sys_pread(fd, perf->buffer, HS_PERF_MAP_LINE_BYTES, perf->offset);
		if (got <= 0)
			return false;
		used = take_lines(perf, map, (size_t)got);
		if (used == 0)
			return false; /* a half line: the rest comes later */
		keep_end(perf, used);
		perf->offset += used;
		taken += used;
	}
	return true;
}

/* owner: of what was there a moment ago. */
static bool open_file(struct hs_perf_map *perf, const char *path, uid_t owner,
		      struct hs_descriptor *opened)
{
	struct stat file;
	/* Should it be a pipe by now, the open does not wait for a writer. */
	int error = hs_descriptor_open(opened, path,
				       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, &file);

	if (error == -ELOOP)
		refuse(perf, path, "a symbolic link to a file", owner, owner);
	if (error != 0)
		return false;
	if (!is_usable(perf, path, &file)) {
		(void)hs_descriptor_close(opened);
		return false;
	}
	follow_file(perf, opened->fd, &file);
	return true;
}

bool hs_perf_map_read(struct hs_perf_map *perf, struct hs_jit_map *map, uint64_t most_bytes)
{
	char path[PATH_BYTES];
	struct hs_descriptor opened;
	struct stat file;

	hs_format(path, sizeof path, "/tmp/perf-%d.map", (int)hs_sys_getpid());
	if (hs_sys_stat(path, &file) != 0 || is_left_over(perf, &file))
		return false;
	if (!perf->more && is_same_file(perf, &file) && has_same_bytes(perf, &file) &&
	    has_same_time(perf, &file))
		return false;
	if (perf->buffer == NULL)
		perf->buffer = hs_arena_alloc(HS_PERF_MAP_LINE_BYTES);
	if (perf->buffer == NULL || !is_usable(perf, path, &file) ||
	    !open_file(perf, path, file.st_uid, &opened))
		return false;
	perf->more = read_lines(perf, map, opened.fd, most_bytes);
	(void)hs_descriptor_close(&opened);
	return perf->more;
}
