/* SPDX-License-Identifier: BSD-2-Clause */
/* Start-up: makes the rings and the live set, sized by the interval and the memory budget. */
#include <errno.h>

#include "base/arena.h"
#include "base/hot.h"
#include "base/options.h"
#include "sample/free_journal.h"
#include "sample/live_map.h"
#include "sample/live_set.h"
#include "session/memory_parts.h"
#include "session/session_state.h"

/* Below this interval there may be tens of thousands of samples a second, in bursts. */
#define SPARSE_INTERVAL_BYTES 524288

/* Below this interval samples come all the time. */
#define DENSE_INTERVAL_BYTES 4096

/* Up to this interval most allocations are sampled, and most frees are of samples. */
#define UNFILTERED_INTERVAL_BYTES 16

/* There the live set's map gets at most this part of the memory, less of a small budget. */
#define MAP_SHARE 4
#define SMALL_MAP_SHARE 16

/*
 * Entries of the journal of frees.  From SPARSE_INTERVAL_BYTES on there is no journal: frees of
 * samples are so few that lists of slots do as well.
 */
#define JOURNAL ((uint64_t)128 << 10)
#define SMALL_JOURNAL ((uint64_t)16 << 10)

/*
 * The memory that a live sample needs in all, by which the number of slots is chosen; if it is in
 * the map, where memory should run out first.  Not where addresses are limited: slots take theirs
 * from everything else.
 */
#define BYTES_PER_SAMPLE 168
#define BYTES_PER_MAPPED_SAMPLE 112

/* Live samples expected at first, besides those in the map: the size of the first index. */
#define SPARSE_EXPECTED 512
#define EXPECTED 4096 /* or the producer would come too late where memory is filled fast */
#define SMALL_DENSE_EXPECTED 16384
#define DENSE_EXPECTED 65536

/* The ring's part of the budget, descriptors included, unless stacks need more. */
#define RING_SHARE 8

#define SPARSE_RING_BYTES ((size_t)2 << 20)
#define RING_BYTES ((size_t)4 << 20)
#define DENSE_RING_BYTES ((size_t)16 << 20)

/* Of the queue between worker and producer. */
#define QUEUE_BYTES ((size_t)1 << 20)

/* Below this budget the queue, and the live set's first index, are a quarter as large. */
#define SMALL_MEMORY_BYTES ((uint64_t)64 << 20)

static bool is_memory_small(void)
{
	return hs_memory_most() < SMALL_MEMORY_BYTES;
}

static size_t ring_bytes(void)
{
	size_t bytes = hs_options.ring_bytes;

	if (bytes == 0) {
		uint64_t interval = hs_options_least_interval(&hs_options);

		if (interval >= SPARSE_INTERVAL_BYTES)
			bytes = SPARSE_RING_BYTES;
		else
			bytes = interval >= DENSE_INTERVAL_BYTES ? RING_BYTES : DENSE_RING_BYTES;
	}
	/* But at least four of the largest stacks fit. */
	while (hs_ring_memory_bytes(bytes) > hs_memory_most() / RING_SHARE)
		bytes /= 2;
	while (bytes / 4 < hs_options.stack_bytes)
		bytes *= 2;
	return bytes;
}

/* The ring's head: in the cache line that each sample writes. */
static HS_EACH_SAMPLE _Atomic uint64_t ring_head;

static int make_ring(struct hs_ring *ring, size_t data_bytes)
{
	size_t bytes = hs_ring_memory_bytes(data_bytes);
	void *memory = hs_arena_reserve(bytes);
	int error = memory == NULL ? -ENOMEM : hs_arena_commit(memory, bytes);

	if (error == 0)
		hs_ring_init(ring, memory, data_bytes);
	return error;
}

/* A stream has no journal: it needs the time of each free, which is kept by slot. */
static void make_journal(uint64_t entries)
{
	if (!hs_options_streams(&hs_options))
		hs_free_journal_init(entries);
}

/*
 * If there is no memory for the map, samples go into the index's table; if there is none for the
 * journal, their frees are noted in the slots.
 */
static void make_live_map(void)
{
	uint64_t share = is_memory_small() ? SMALL_MAP_SHARE : MAP_SHARE;

	if (hs_live_map_init(hs_memory_most() / share) == 0)
		make_journal(is_memory_small() ? SMALL_JOURNAL : JOURNAL);
}

static uint32_t most_samples(void)
{
	uint64_t samples = hs_memory_most() / BYTES_PER_SAMPLE;

	if (hs_live_map_is_used() && hs_memory_most() == hs_options.memory_bytes)
		samples = hs_options.memory_bytes / BYTES_PER_MAPPED_SAMPLE;
	return samples < UINT32_MAX / 2 ? (uint32_t)samples : UINT32_MAX / 2;
}

static uint32_t expected_samples(void)
{
	uint64_t interval = hs_options_least_interval(&hs_options);

	if (interval >= SPARSE_INTERVAL_BYTES)
		return SPARSE_EXPECTED;
	if (interval >= DENSE_INTERVAL_BYTES)
		return EXPECTED;
	return hs_live_map_is_used() || is_memory_small() ? SMALL_DENSE_EXPECTED : DENSE_EXPECTED;
}

static int make_live_set(void)
{
	bool has_filter = hs_options.interval_bytes > UNFILTERED_INTERVAL_BYTES;
	struct hs_live_setup setup;

	if (!has_filter)
		make_live_map();
	else if (hs_options.interval_bytes < SPARSE_INTERVAL_BYTES)
		make_journal(SMALL_JOURNAL);
	setup = (struct hs_live_setup){
		.slots = most_samples(),
		.expected = expected_samples(),
		.has_filter = has_filter,
		.interval_bytes = hs_options.interval_bytes,
		.keeps_few_ahead =
			hs_options_least_interval(&hs_options) >= SPARSE_INTERVAL_BYTES,
	};
	return hs_live_set_init(&setup);
}

int hs_session_make_buffers(void)
{
	struct hs_session *session = &hs_session;
	int error = make_ring(&session->ring, ring_bytes());

	if (error == 0) {
		hs_ring_keep_head(&session->ring, &ring_head);
		error = make_ring(&session->queue,
				  is_memory_small() ? QUEUE_BYTES / 4 : QUEUE_BYTES);
	}
	session->queue.has_one_writer = true;
	return error != 0 ? error : make_live_set();
}
