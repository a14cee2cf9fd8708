/* SPDX-License-Identifier: BSD-2-Clause */
/* What the books may use, and what is kept for profiles.  See memory_parts.h. */
#include "session/memory_parts.h"

#include "base/arena.h"
#include "profile/snapshot.h"
#include "session/session_state.h"

/* One part in so many of the memory is kept for writing profiles, whatever they need. */
#define WRITING_SHARE 4
/* A block of the arena may have a quarter more addresses than bytes that count. */
#define ADDRESSES(bytes) ((bytes) / 4 * 5)

static bool is_writing;

/* What the profile under way has taken, at its last pause; 0: there is none. */
static size_t profile_bytes;

/* What was in use without it when writing began, or went on. */
static size_t books_bytes;

static size_t used_without_profile(void)
{
	size_t used = hs_arena_used();

	return used > profile_bytes ? used - profile_bytes : 0;
}

/* 0: the books are still being made. */
static size_t needed_for_profile(void)
{
	return hs_session.producer != NULL ? hs_snapshot_bytes(hs_session.producer) : 0;
}

/* What a profile needs beyond the part that is kept for it. */
static size_t more_for_profile(void)
{
	size_t kept = hs_session_memory_bytes() / WRITING_SHARE, needed = needed_for_profile();

	return needed > kept ? needed - kept : 0;
}

size_t hs_memory_of_books(void)
{
	size_t bytes = hs_session_memory_bytes();

	return bytes - bytes / WRITING_SHARE;
}

size_t hs_memory_used_by_books(void)
{
	return used_without_profile() + more_for_profile();
}

/* Tables may have room that they need not ask for: what is in it would have none in a profile. */
static void note_full_books(void)
{
	bool is_full = used_without_profile() + needed_for_profile() > hs_session_memory_bytes();

	if (hs_session.producer != NULL)
		hs_producer_set_full(hs_session.producer, is_full && !is_writing);
}

/* What the arena may have in use in the books' turn. */
static size_t books_budget(void)
{
	size_t most = hs_session_memory_bytes(), more = more_for_profile();
	size_t budget = hs_memory_of_books() + profile_bytes;

	budget = budget > more ? budget - more : 0;
	return budget < most ? budget : most;
}

/* In a pause the profile has some of it already. */
static size_t room_for_profile(void)
{
	size_t kept = hs_session_memory_bytes() / WRITING_SHARE + more_for_profile();

	if (is_writing || hs_session.producer == NULL)
		return 0;
	return ADDRESSES(kept > profile_bytes ? kept - profile_bytes : 0);
}

void hs_memory_follow(void)
{
	hs_arena_keep_room(room_for_profile());
	hs_arena_set_budget(is_writing ? hs_session_memory_bytes() : books_budget());
	note_full_books();
}

bool hs_memory_turn_to_writing(bool writing)
{
	bool before = is_writing;
	size_t used = hs_arena_used();

	if (writing && !before)
		books_bytes = used_without_profile();
	else if (!writing && before)
		profile_bytes = used > books_bytes ? used - books_bytes : 0;
	is_writing = writing;
	hs_memory_follow();
	return before;
}

void hs_memory_end_writing(void)
{
	is_writing = false;
	profile_bytes = 0;
	hs_memory_follow();
}
