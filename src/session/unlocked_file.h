/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens and finishes a whole file with producer_batch released, as it is for each write to the
 * file: all of these may wait for a disk or a server, and a fork must not wait for them.  A child
 * that is forked meanwhile closes what is open, by hs_dump_file_forget().  For that it must know
 * the descriptor, so a fork waits a moment while a file is being opened.
 *
 * Called on: the producer, producer_batch held.  Blocks: on the file system.
 */
#ifndef HS_SESSION_UNLOCKED_FILE_H
#define HS_SESSION_UNLOCKED_FILE_H

#include "base/lock.h"
#include "output/dump_file.h"
#include "session/session_state.h"

/* Around what opens a file and notes it. */
static inline void hs_unlocked_opening_begins(void)
{
	hs_lock_acquire(&hs_session.opening);
	hs_lock_hand_over(&hs_session.producer_batch);
}

static inline void hs_unlocked_opening_ends(void)
{
	hs_lock_release(&hs_session.opening);
	hs_lock_acquire(&hs_session.producer_batch);
}

static inline int hs_unlocked_file_open(struct hs_dump_file *file, const char *path)
{
	int error;

	hs_unlocked_opening_begins();
	error = hs_dump_file_open(file, path);
	hs_unlocked_opening_ends();
	return error;
}

/* The file is complete, or is given up for the error.  Returns that, or an error of its own. */
static inline int hs_unlocked_file_end(struct hs_dump_file *file, int error)
{
	hs_lock_hand_over(&hs_session.producer_batch);
	error = hs_dump_file_close(file, error);
	hs_lock_acquire(&hs_session.producer_batch);
	hs_unlocked_opening_begins();
	hs_dump_file_open_directory(file);
	hs_unlocked_opening_ends();
	hs_lock_hand_over(&hs_session.producer_batch);
	error = hs_dump_file_finish(file, error);
	hs_lock_acquire(&hs_session.producer_batch);
	hs_dump_file_close_other(file);
	return error;
}

#endif
