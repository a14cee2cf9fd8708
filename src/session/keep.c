/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_KEEP: of a process's periodic profiles only the last ones are kept.  Runs on the
 * producer's thread.
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/options.h"
#include "base/sys.h"
#include "session/profiles.h"
#include "session/session_state.h"

/* A periodic profile that is on disk. */
struct kept {
	struct kept *next; /* newer */
	uint64_t bytes;    /* of the file */
	char path[];
};

static struct kept *oldest, *newest;
static uint64_t kept_files, kept_bytes;

static void remove_oldest(void)
{
	struct kept *file = oldest;
	int error;

	/* It may wait for a disk. */
	hs_lock_hand_over(&hs_session.producer_batch);
	error = hs_sys_unlink(file->path);
	hs_lock_acquire(&hs_session.producer_batch);
	if (error < 0 && error != -ENOENT)
		hs_log(HS_LOG_WARN, "HEAPSAMPLE_KEEP: cannot remove %s (%d)", file->path, -error);
	oldest = file->next;
	if (oldest == NULL)
		newest = NULL;
	kept_files--;
	kept_bytes -= file->bytes;
	hs_arena_free(file);
}

/* A file of this name was replaced by the new profile. */
static void forget_replaced(const char *path)
{
	struct kept **link = &oldest, *before = NULL;

	while (*link != NULL && strcmp((*link)->path, path) != 0) {
		before = *link;
		link = &before->next;
	}
	if (*link != NULL) {
		struct kept *file = *link;

		*link = file->next;
		if (newest == file)
			newest = before;
		kept_files--;
		kept_bytes -= file->bytes;
		hs_arena_free(file);
	}
}

static bool are_too_many(void)
{
	return (hs_options.keep_files != 0 && kept_files > hs_options.keep_files) ||
	       (hs_options.keep_bytes != 0 && kept_bytes > hs_options.keep_bytes);
}

/* As remove_oldest(). */
static int stat_unlocked(const char *path, struct stat *status)
{
	int error;

	hs_lock_hand_over(&hs_session.producer_batch);
	error = hs_sys_stat(path, status);
	hs_lock_acquire(&hs_session.producer_batch);
	return error;
}

void hs_keep_add(const char *path)
{
	size_t bytes = strlen(path) + 1;
	struct kept *file;
	struct stat status;

	if (hs_options.keep_files == 0 && hs_options.keep_bytes == 0)
		return;
	forget_replaced(path);
	file = hs_arena_alloc(sizeof *file + bytes);
	/* A file that is not noted is never removed. */
	if (file == NULL || stat_unlocked(path, &status) < 0) {
		hs_arena_free(file);
		return;
	}
	*file = (struct kept){.bytes = (uint64_t)status.st_size};
	memcpy(file->path, path, bytes);
	if (newest != NULL)
		newest->next = file;
	else
		oldest = file;
	newest = file;
	kept_files++;
	kept_bytes += file->bytes;
	/* The newest is kept, however large. */
	while (oldest != NULL && oldest != newest && are_too_many())
		remove_oldest();
}

void hs_keep_after_fork(void)
{
	/* The parent removes them.  This copy of its list is a few bytes, and not freed. */
	oldest = newest = NULL;
	kept_files = kept_bytes = 0;
}
