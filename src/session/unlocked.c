/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that the producer works on with producer_batch released.  See unlocked.h. */
#include "session/unlocked.h"

static void set_at_file(bool is)
{
	atomic_store(&hs_session.is_at_file, is);
}

void hs_unlocked_file_begins(void)
{
	set_at_file(true);
	hs_unlocked_begins();
}

void hs_unlocked_file_ends(void)
{
	hs_unlocked_ends();
	set_at_file(false);
}

void hs_unlocked_at_file(enum hs_at_file what)
{
	switch (what) {
	case HS_AT_FILE_BEGINS:
		hs_unlocked_file_begins();
		break;
	case HS_AT_FILE_OPENS:
		hs_lock_acquire(&hs_session.opening);
		break;
	case HS_AT_FILE_OPENED:
		hs_lock_release(&hs_session.opening);
		break;
	case HS_AT_FILE_ENDS:
		hs_unlocked_file_ends();
		break;
	}
}

void hs_unlocked_opening_begins(void)
{
	hs_lock_acquire(&hs_session.opening);
	hs_unlocked_begins();
}

void hs_unlocked_opening_ends(void)
{
	hs_lock_release(&hs_session.opening);
	hs_unlocked_ends();
}

int hs_unlocked_file_open(struct hs_dump_file *file, const char *path, bool is_new)
{
	int error;

	set_at_file(true);
	hs_unlocked_opening_begins();
	error = hs_dump_file_open(file, path, is_new);
	hs_unlocked_opening_ends();
	set_at_file(false);
	return error;
}

int hs_unlocked_file_end(struct hs_dump_file *file, int error)
{
	set_at_file(true);
	hs_unlocked_begins();
	error = hs_dump_file_close(file, error);
	hs_unlocked_ends();
	hs_unlocked_opening_begins();
	hs_dump_file_open_directory(file);
	hs_unlocked_opening_ends();
	hs_unlocked_begins();
	error = hs_dump_file_finish(file, error);
	hs_unlocked_ends();
	set_at_file(false);
	hs_dump_file_close_other(file);
	return error;
}
