/* SPDX-License-Identifier: BSD-2-Clause */
/* What the books may use, and what is kept for profiles.  See memory_parts.h. */
#include "session/memory_parts.h"

#include "base/arena.h"
#include "session/session_state.h"

/* One part in so many of the memory is kept for writing profiles. */
#define WRITING_SHARE 4

static bool is_writing;

/* What the profile under way has taken, at its last pause; 0: there is none. */
static size_t profile_bytes;

/* What was in use without it when writing began, or went on. */
static size_t books_bytes;

size_t hs_memory_of_books(void)
{
	size_t bytes = hs_session_memory_bytes();

	return bytes - bytes / WRITING_SHARE;
}

size_t hs_memory_used_by_books(void)
{
	size_t used = hs_arena_used();

	return used > profile_bytes ? used - profile_bytes : 0;
}

void hs_memory_follow(void)
{
	size_t most = hs_session_memory_bytes();
	size_t budget = hs_memory_of_books() + profile_bytes;

	hs_arena_set_budget(is_writing || budget > most ? most : budget);
}

bool hs_memory_turn_to_writing(bool writing)
{
	bool before = is_writing;
	size_t used = hs_arena_used();

	if (writing && !before)
		books_bytes = hs_memory_used_by_books();
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
