/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the producer does with producer_batch released: all that may wait for a disk, a server or
 * the reader of a pipe, which a fork must not wait for.  A child that is forked meanwhile closes
 * the file that is open, by hs_dump_file_forget() or hs_names_after_fork().  For that it must know
 * the descriptor, so a fork waits a moment while a file is being opened.
 *
 * Called on: the producer, producer_batch held.  Blocks: on the file system, and on the log.
 */
#ifndef HS_SESSION_UNLOCKED_H
#define HS_SESSION_UNLOCKED_H

#include "base/lock.h"
#include "base/log.h"
#include "base/pauses.h"
#include "output/dump_file.h"
#include "session/session_state.h"

static inline void hs_unlocked_begins(void)
{
	hs_lock_hand_over(&hs_session.producer_batch);
}

static inline void hs_unlocked_ends(void)
{
	hs_lock_acquire(&hs_session.producer_batch);
}

/* As hs_log(). */
#define hs_unlocked_log(...)          \
	do {                          \
		hs_unlocked_begins(); \
		hs_log(__VA_ARGS__);  \
		hs_unlocked_ends();   \
	} while (0)

/*
 * Around what waits for a profile's file, or one of symbols, as a pause: meanwhile, if the queue is
 * full, the worker takes the producer's place.  Not for a stream, which is written in the middle of
 * a record.
 */
void hs_unlocked_file_begins(void);
void hs_unlocked_file_ends(void);

/* The same around files of names: hs_pauses.at_file. */
void hs_unlocked_at_file(enum hs_at_file what);

/* Around what opens a file and notes it. */
void hs_unlocked_opening_begins(void);
void hs_unlocked_opening_ends(void);

int hs_unlocked_file_open(struct hs_dump_file *file, const char *path, bool is_new);

/* The file is complete, or is given up for the error.  Returns that, or an error of its own. */
int hs_unlocked_file_end(struct hs_dump_file *file, int error);

#endif
