/* SPDX-License-Identifier: BSD-2-Clause */
/* What the profiler and its books may use, and what is kept for profiles.  See memory_parts.h. */
#include "session/memory_parts.h"

#include <sys/resource.h>

#include "base/arena.h"
#include "base/format.h"
#include "base/options.h"
#include "base/sys.h"
#include "profile/snapshot.h"
#include "session/memory_cgroup.h"
#include "session/session_state.h"

/* Of what the memory cgroup may use, one part in so many is the most for the profiler. */
#define CGROUP_SHARE 4

/* One part in so many of the memory is kept for writing profiles, whatever they need. */
#define WRITING_SHARE 4
/* A block of the arena may have a quarter more addresses than bytes that count. */
#define ADDRESSES(bytes) ((bytes) / 4 * 5)

/* HEAPSAMPLE_MEMORY, or its part of the memory cgroup's limit.  Set at start-up. */
static uint64_t wanted_bytes;

static bool is_under_way; /* a profile */
static unsigned books_turns; /* meanwhile: the producer's and, in its place, the worker's */
static bool is_writing; /* the turn is the profile's */

/* What the profile under way has taken, at its last pause; 0: there is none. */
static size_t profile_bytes;

/* What was in use without it when writing began, or went on. */
static size_t books_bytes;

int hs_memory_init(void)
{
	uint64_t most;
	int error;

	hs_memory_cgroup_find("");
	most = hs_memory_cgroup_limit() / CGROUP_SHARE;
	if (most < HS_MEMORY_MIN)
		most = HS_MEMORY_MIN;
	wanted_bytes = hs_options.memory_bytes < most ? hs_options.memory_bytes : most;
	error = hs_arena_init(wanted_bytes);
	hs_memory_follow();
	return error;
}

uint64_t hs_memory_most(void)
{
	uint64_t most = hs_arena_most() / 4 * 3;

	return wanted_bytes < most ? wanted_bytes : most;
}

static unsigned to_mib(uint64_t bytes)
{
	return (unsigned)(bytes >> 20);
}

static const char *limit_name(void)
{
	return hs_arena_limit() == RLIMIT_DATA ? "RLIMIT_DATA" : "RLIMIT_AS";
}

const char *hs_memory_bound(void)
{
	static char text[80];
	uint64_t most = hs_memory_most();

	if (most >= hs_options.memory_bytes)
		return "HEAPSAMPLE_MEMORY";
	hs_format(text, sizeof text, "what %s leaves of HEAPSAMPLE_MEMORY (%u of %u MiB)",
		  most >= wanted_bytes ? "the memory cgroup" : limit_name(), to_mib(most),
		  to_mib(hs_options.memory_bytes));
	return text;
}

const char *hs_memory_limits(void)
{
	static char text[80];
	uint64_t limit = hs_sys_soft_limit(hs_arena_limit());
	size_t length = hs_format(text, sizeof text, "HEAPSAMPLE_MEMORY is %u MiB",
				  to_mib(hs_options.memory_bytes));

	if (limit != UINT64_MAX)
		hs_format(text + length, sizeof text - length, ", %s %llu MiB", limit_name(),
			  (unsigned long long)limit >> 20);
	return text;
}

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
	size_t kept = hs_memory_most() / WRITING_SHARE, needed = needed_for_profile();

	return needed > kept ? needed - kept : 0;
}

size_t hs_memory_of_books(void)
{
	size_t bytes = hs_memory_most();

	return bytes - bytes / WRITING_SHARE;
}

size_t hs_memory_used_by_books(void)
{
	return used_without_profile() + more_for_profile();
}

/* Tables may have room that they need not ask for: what is in it would have none in a profile. */
static void note_full_books(void)
{
	bool is_full = used_without_profile() + needed_for_profile() > hs_memory_most();

	if (hs_session.producer != NULL)
		hs_producer_set_full(hs_session.producer, is_full && !is_writing);
}

/* What the arena may have in use in the books' turn. */
static size_t books_budget(void)
{
	size_t most = hs_memory_most(), more = more_for_profile();
	size_t budget = hs_memory_of_books() + profile_bytes;

	budget = budget > more ? budget - more : 0;
	return budget < most ? budget : most;
}

/* In a pause the profile has some of it already. */
static size_t room_for_profile(void)
{
	size_t kept = hs_memory_most() / WRITING_SHARE + more_for_profile();

	if (is_writing || hs_session.producer == NULL)
		return 0;
	return ADDRESSES(kept > profile_bytes ? kept - profile_bytes : 0);
}

void hs_memory_follow(void)
{
	hs_arena_keep_room(room_for_profile());
	hs_arena_set_budget(is_writing ? hs_memory_most() : books_budget());
	note_full_books();
}

static void follow_turns(void)
{
	bool was_writing = is_writing;
	size_t used = hs_arena_used();

	is_writing = is_under_way && books_turns == 0;
	if (is_writing && !was_writing)
		books_bytes = used_without_profile();
	else if (!is_writing && was_writing)
		profile_bytes = used > books_bytes ? used - books_bytes : 0;
	hs_memory_follow();
}

void hs_memory_begin_writing(void)
{
	is_under_way = true;
	follow_turns();
}

bool hs_memory_begin_books_turn(void)
{
	books_turns++;
	follow_turns();
	return is_under_way;
}

void hs_memory_end_books_turn(void)
{
	books_turns--;
	follow_turns();
}

void hs_memory_end_writing(void)
{
	is_under_way = false;
	is_writing = false;
	profile_bytes = 0;
	hs_memory_follow();
}

void hs_memory_after_fork(void)
{
	books_turns = 0;
	hs_memory_end_writing();
}
