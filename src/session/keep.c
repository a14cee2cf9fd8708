/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_KEEP: of a process's periodic profiles only the last ones are kept.  Runs on the
 * producer's thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/options.h"
#include "base/sys.h"
#include "output/written_file.h"
#include "session/profiles.h"
#include "session/unlocked.h"

/* A periodic profile that is on disk. */
struct kept {
	struct kept *next; /* newer */
	struct hs_written_file file;
	char path[];
};

static struct kept *oldest, **end = &oldest; /* end: where the next one is linked */
static uint64_t kept_files, kept_bytes;

/* Takes the file that a link leads to off the list. */
static void forget(struct kept **link)
{
	struct kept *file = *link;

	*link = file->next;
	if (end == &file->next)
		end = link;
	kept_files--;
	kept_bytes -= file->file.bytes;
	hs_arena_free(file);
}

/*
 * Whether it was removed: another one may have its name by now, if somebody has taken ours away.
 */
static bool remove_oldest(void)
{
	int error = -ENOENT;

	hs_unlocked_file_begins();
	if (hs_written_file_is_at(&oldest->file, oldest->path))
		error = hs_sys_unlink(AT_FDCWD, oldest->path);
	if (error < 0 && error != -ENOENT)
		hs_log(HS_LOG_WARN, "HEAPSAMPLE_KEEP: cannot remove %s (%d)", oldest->path, -error);
	hs_unlocked_file_ends();
	forget(&oldest);
	return error == 0;
}

bool hs_keep_make_room(void)
{
	bool is_removed = false;

	while (kept_files > 1 && !is_removed)
		is_removed = remove_oldest();
	return is_removed;
}

/* A file of this name was replaced by the new profile. */
static void forget_replaced(const char *path)
{
	struct kept **link = &oldest;

	while (*link != NULL && strcmp((*link)->path, path) != 0)
		link = &(*link)->next;
	if (*link != NULL)
		forget(link);
}

static bool are_too_many(void)
{
	return (hs_options.keep_files != 0 && kept_files > hs_options.keep_files) ||
	       (hs_options.keep_bytes != 0 && kept_bytes > hs_options.keep_bytes);
}

static int note_unlocked(struct hs_written_file *file, const char *path)
{
	int error;

	hs_unlocked_file_begins();
	error = hs_written_file_note(file, path);
	hs_unlocked_file_ends();
	return error;
}

void hs_keep_add(const char *path)
{
	size_t bytes = strlen(path) + 1;
	struct kept *file;
	struct hs_written_file written;

	if (hs_options.keep_files == 0 && hs_options.keep_bytes == 0)
		return;
	forget_replaced(path);
	file = hs_arena_alloc(sizeof *file + bytes);
	/* A file that is not noted is never removed. */
	if (file == NULL || note_unlocked(&written, path) < 0) {
		hs_arena_free(file);
		return;
	}
	*file = (struct kept){.file = written};
	memcpy(file->path, path, bytes);
	*end = file;
	end = &file->next;
	kept_files++;
	kept_bytes += file->file.bytes;
	/* The newest is kept, however large. */
	while (oldest != NULL && oldest != file && are_too_many())
		remove_oldest();
}

void hs_keep_after_fork(void)
{
	/* The parent removes them.  This copy of its list is a few bytes, and not freed. */
	oldest = NULL;
	end = &oldest;
	kept_files = kept_bytes = 0;
}
