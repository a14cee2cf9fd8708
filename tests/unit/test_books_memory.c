/* SPDX-License-Identifier: BSD-2-Clause */
/* What memory the books may take while profiles are written, and after. */
#include "held_session.h"

#include "base/arena.h"
#include "sample/heap.h"
#include "sample/labels.h"
#include "session/budget.h"
#include "session/memory_parts.h"
#include "session/profiles.h"

#define MIB ((size_t)1 << 20)

/* More than there are pieces of work between two pauses. */
#define ROWS 600

/* Makes books of so many rows, and has them written. */
static void write_rows(void)
{
	char value[16];

	for (int i = 0; i < ROWS; i++) {
		snprintf(value, sizeof value, "%d", i);
		CHECK_INT(hs_labels_set(&hs_thread.labels, "row", value), 0);
		sample(1, true);
	}
	CHECK_INT(hs_session_dump(NULL, 0), 0);
}

/* What is kept for writing is not for the books, whose rows are looked through after a profile. */
static void budget_after_differences(void)
{
	start("HEAPSAMPLE_DELTA=1");
	write_rows();
	CHECK_INT(hs_stats_get(dumps), 1);
	CHECK_INT(hs_arena_budget(), hs_memory_most() / 4 * 3);
}

/* Takes so many parts in 64 of the memory; a block of that size is no larger than what it holds. */
static void *take(unsigned share)
{
	void *block = hs_arena_alloc(hs_memory_most() / 64 * share - 16);

	CHECK(block != NULL);
	return block;
}

static uint64_t interval(void)
{
	return atomic_load(&hs_sampler_interval);
}

/* Of the memory 3/4 are for the books, and 9/16 are where the interval rises. */
static void profile_is_not_of_the_books(void)
{
	size_t before;
	void *profile;

	start(NULL);
	hs_lock_acquire(&hs_session.producer_batch);
	take(20);
	before = hs_arena_used();
	hs_memory_begin_writing();
	profile = take(14);
	CHECK(hs_memory_begin_books_turn());
	CHECK_INT(hs_memory_used_by_books(), before);
	hs_budget_follow(false);
	CHECK_INT(interval(), 1);
	/* The books grow in a pause: they have as much room as without a profile. */
	take(12);
	CHECK(hs_arena_alloc(hs_memory_most() / 64 * 12) == NULL);
	hs_budget_follow(false);
	CHECK_INT(interval(), 2);
	before = hs_memory_used_by_books();
	/* It goes on, and takes no more; what it still has counts in the next pause as well. */
	hs_memory_end_books_turn();
	CHECK_INT(hs_arena_budget(), hs_memory_most());
	CHECK(hs_memory_begin_books_turn());
	CHECK_INT(hs_memory_used_by_books(), before);
	hs_memory_end_books_turn();
	hs_arena_free(profile);
	hs_memory_end_writing();
	CHECK_INT(hs_memory_used_by_books(), before);
	CHECK_INT(hs_arena_used(), before);
	CHECK_INT(hs_arena_budget(), hs_memory_most() / 4 * 3);
	hs_lock_release(&hs_session.producer_batch);
}

/* A large profile leaves the books their part, and they leave it the rest. */
static void profile_may_take_all(void)
{
	start(NULL);
	hs_lock_acquire(&hs_session.producer_batch);
	hs_memory_begin_writing();
	take(28);
	hs_memory_begin_books_turn();
	CHECK_INT(hs_arena_budget(), hs_memory_most());
	hs_memory_end_writing();
	hs_memory_end_books_turn();
	hs_lock_release(&hs_session.producer_batch);
}

/* The worker's turn overlaps the beginning of a profile, another turn, and the profile's end. */
static void turns_overlap(void)
{
	size_t parts[2];

	start(NULL);
	hs_lock_acquire(&hs_session.producer_batch);
	parts[false] = hs_arena_budget();
	parts[true] = hs_memory_most();
	CHECK(parts[false] < parts[true]);
	CHECK(!hs_memory_begin_books_turn());
	hs_memory_begin_writing();
	CHECK_INT(hs_arena_budget(), parts[false]);
	hs_memory_end_books_turn();
	CHECK_INT(hs_arena_budget(), parts[true]);
	CHECK(hs_memory_begin_books_turn());
	CHECK(hs_memory_begin_books_turn());
	hs_memory_end_books_turn();
	CHECK_INT(hs_arena_budget(), parts[false]);
	hs_memory_end_books_turn();
	CHECK_INT(hs_arena_budget(), parts[true]);
	CHECK(hs_memory_begin_books_turn());
	hs_memory_end_writing();
	hs_memory_end_books_turn();
	CHECK_INT(hs_arena_budget(), parts[false]);
	hs_lock_release(&hs_session.producer_batch);
}

/* Takes all of the memory, in blocks of which each points to the one before. */
static void **take_all(void)
{
	void **last = NULL, **block;

	while ((block = hs_arena_alloc(64 << 10)) != NULL) {
		*block = last;
		last = block;
	}
	return last;
}

/* In a child that was forked while a profile was written, what that had taken is given back. */
static void first_samples_after_a_profile_was_inherited(void)
{
	void **profile, **next;

	start(NULL);
	hs_lock_acquire(&hs_session.producer_batch);
	hs_memory_begin_writing();
	profile = take_all();
	hs_dump_after_fork(true);
	for (; profile != NULL; profile = next) {
		next = *profile;
		hs_arena_free(profile);
	}
	hs_dump_drop_inherited();
	hs_lock_release(&hs_session.producer_batch);
	sample(1, true);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	CHECK_INT(hs_heap_total(lost_memory), 0);
}

/* Its name is told, although the profile was not begun. */
static void profile_finds_no_memory(void)
{
	char name[32];

	start(NULL);
	sample(1, true);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	hs_lock_acquire(&hs_session.producer_batch);
	hs_memory_begin_writing();
	take_all();
	while (hs_arena_alloc(16) != NULL)
		continue;
	hs_memory_end_writing();
	hs_lock_release(&hs_session.producer_batch);
	CHECK(hs_session_dump(NULL, 0) != 0);
	CHECK_INT(hs_stats_get(dump_failures), 1);
	snprintf(name, sizeof name, "/%d.0002.call", (int)hs_session.process_id);
	CHECK_STR(strrchr(hs_profile_file_path(), '/'), name);
}

static const struct held_case cases[] = {
	{"first_samples_after_a_profile_was_inherited",
	 first_samples_after_a_profile_was_inherited},
	{"profile_is_not_of_the_books", profile_is_not_of_the_books},
	{"profile_may_take_all", profile_may_take_all},
	{"turns_overlap", turns_overlap},
	{"budget_after_differences", budget_after_differences},
	{"profile_finds_no_memory", profile_finds_no_memory},
};

int main(int argc, char **argv)
{
	return run_cases(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
}
