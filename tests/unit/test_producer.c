/* SPDX-License-Identifier: BSD-2-Clause */
/* The books after known histories, in all orders of arrival, with losses. */
#include "profile_testing.h"

#define A 0x10000
#define B 0x20000
#define C 0x30000

/* An event.  Frees are taken one by one here, as the event that the producer makes of a slot. */
struct step {
	bool is_free;
	uint64_t number;
	union test_record record;
};

static struct hs_producer *producer;
static struct step steps[6];
static size_t freed_count;

/*
 * Three allocations and three frees over two addresses; the block at A moves to B and
 * is allocated anew.
 */
static void make_history(void)
{
	uint64_t sizes[] = { 100, 7, 3000 };

	steps[0] = (struct step){.record = allocate(A, sizes[0], 1, 0)};
	release(A);
	steps[1] = (struct step){.is_free = true};
	steps[2] = (struct step){.record = allocate(B, sizes[1], 1, 1)};
	steps[3] = (struct step){.record = allocate(A, sizes[2], 1, 0)};
	release(B);
	steps[4] = (struct step){.is_free = true};
	release(A);
	steps[5] = (struct step){.is_free = true};
}

/* Collects the slots on the freed list, by the number of their free. */
static void collect_freed(void)
{
	struct hs_freed_slots freed;
	uint32_t slot;

	hs_live_set_take_freed(&freed);
	freed_count = 0;
	while ((slot = hs_live_set_next_freed(&freed)) != HS_SLOT_NONE) {
		struct step *step = &steps[hs_live_set_free_sequence(slot) - 1];

		CHECK(step->is_free);
		step->record.head.slot = slot;
		step->record.head.generation = hs_live_set_generation(slot);
		step->number = hs_live_set_free_sequence(slot);
		freed_count++;
	}
	CHECK_INT(freed_count, 3);
}

/* What hs_producer_take_freed() does for one slot, through the window. */
static void deliver(const struct step *step)
{
	struct hs_heap_event event = {.kind = HS_HEAP_EVENT_FREE};

	if (!step->is_free) {
		take(producer, &step->record);
	} else {
		event.slot = step->record.head.slot;
		event.generation = step->record.head.generation;
		if (hs_commit_order_put(&producer->order, step->number, &event) ==
		    HS_ARRIVAL_LATE)
			hs_heap_tracker_freed(&producer->tracker, &event);
	}
	hs_producer_commit(producer);
}

/* The n-th permutation of 0..5, by the factorial number system. */
static void permute(unsigned n, unsigned permutation[6])
{
	unsigned left[] = { 0, 1, 2, 3, 4, 5 };

	for (unsigned i = 0, count = 6; i < 6; i++, count--) {
		unsigned pick = n % count;

		n /= count;
		permutation[i] = left[pick];
		memmove(&left[pick], &left[pick + 1], (count - pick - 1) * sizeof *left);
	}
}

static void play(unsigned n, bool with_gaps)
{
	unsigned permutation[6];

	producer = new_producer(NULL, HS_LABEL_SIZE);
	make_history();
	collect_freed();
	permute(n, permutation);
	for (int i = 0; i < 6; i++) {
		deliver(&steps[permutation[i]]);
		if (with_gaps)
			hs_producer_skip_gap(producer, UINT64_MAX);
	}
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_producer_next_number(producer), 7);
	check_sums(producer, 3, 3107, 0, 0);
	CHECK_INT(hs_live_set_used(), 0);
}

static void all_orders_of_arrival_are_equal(void)
{
	for (unsigned n = 0; n < 720; n++) {
		play(n, false);
		CHECK_INT(hs_heap_tracker_row_count(&producer->tracker), 3);
		CHECK_INT(hs_heap_tracker_row(&producer->tracker, 0)->key.size, 96 + 4);
		CHECK_INT(hs_heap_tracker_row(&producer->tracker, 2)->key.size, 2560);
	}
	CHECK_INT(hs_stats_get(sequence_gaps), 0);
}

/* Every gap is given up at once, so that most events come late: the totals must still be right. */
static void late_events_are_applied(void)
{
	for (unsigned n = 0; n < 720; n++)
		play(n, true);
	CHECK(hs_stats_get(sequence_gaps) > 0);
}

static void a_lost_allocation_leaves_no_slot(void)
{
	union test_record lost, kept;
	uint64_t gaps = hs_stats_get(sequence_gaps);

	producer = new_producer(NULL, 0);
	lost = allocate(A, 10, 1, 0);
	kept = allocate(B, 20, 1, 0);
	release(A);
	take(producer, &kept);
	CHECK_INT(hs_producer_take_freed(producer), 1);
	CHECK(hs_producer_commit(producer));
	check_sums(producer, 0, 0, 0, 0);
	hs_producer_skip_gap(producer, UINT64_MAX);
	CHECK_INT(hs_stats_get(sequence_gaps), gaps + 1);
	check_sums(producer, 1, 20, 1, 20);
	CHECK_INT(hs_live_set_used(), 1);
	take(producer, &lost);
	check_sums(producer, 2, 30, 1, 20);
	hs_producer_skip_gap(producer, UINT64_MAX);
	CHECK_INT(hs_producer_next_number(producer), 4);
	release(B);
	CHECK_INT(hs_producer_take_freed(producer), 1);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_live_set_used(), 0);
	check_sums(producer, 2, 30, 0, 0);
}

/* For a profile numbers are given up, but not those that the running program has just taken. */
static void what_is_missing_is_given_up_to_a_number(void)
{
	union test_record first, second, fourth;
	uint64_t gaps = hs_stats_get(sequence_gaps);

	producer = new_producer(NULL, 0);
	first = allocate(A, 10, 1, 0);
	second = allocate(B, 20, 1, 0);
	release(A);
	fourth = allocate(C, 40, 1, 0);
	take(producer, &second);
	take(producer, &fourth);
	hs_producer_commit_before(producer, 2);
	CHECK_INT(hs_producer_next_number(producer), 1);
	hs_producer_commit_before(producer, 4);
	CHECK_INT(hs_producer_next_number(producer), 5); /* the free was found */
	CHECK_INT(hs_stats_get(sequence_gaps), gaps + 1);
	take(producer, &first);
	check_sums(producer, 3, 70, 2, 60);
	release(B);
	release(C);
	CHECK_INT(hs_producer_take_freed(producer), 2);
	CHECK_INT(hs_live_set_used(), 0);
}

static void a_record_that_comes_twice_counts_once(void)
{
	union test_record record;

	producer = new_producer(NULL, 0);
	record = allocate(A, 10, 1, 0);
	take(producer, &record);
	take(producer, &record);
	hs_producer_commit(producer);
	take(producer, &record);
	check_sums(producer, 1, 10, 1, 10);
	release(A);
	hs_producer_take_freed(producer);
	hs_producer_commit(producer);
	check_sums(producer, 1, 10, 0, 0);
	/* Also after its free, when nothing else shows that it has been there. */
	take(producer, &record);
	hs_producer_commit(producer);
	check_sums(producer, 1, 10, 0, 0);
	check_holders(producer);
}

static void abandoned_records_give_their_slots_back(void)
{
	union test_record numbered, unnumbered, failed_move = {.head = {
		.kind = HS_RECORD_TOMBSTONE,
		.slot = HS_SLOT_NONE,
	}};

	producer = new_producer(NULL, 0);
	numbered = allocate(A, 10, 1, 0);
	unnumbered = allocate(B, 10, 1, 0);
	numbered.head.kind = HS_RECORD_TOMBSTONE;
	unnumbered.head.sequence = 0;
	failed_move.head.sequence = 2;
	take(producer, &unnumbered);
	CHECK_INT(hs_live_set_used(), 1);
	take(producer, &failed_move);
	CHECK(hs_producer_commit(producer));
	take(producer, &numbered);
	CHECK_INT(hs_live_set_used(), 0);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_producer_next_number(producer), 3);
	check_sums(producer, 0, 0, 0, 0);
}

/* The slot is on the list of freed ones: it must not get onto the free list as well. */
static void an_abandoned_record_whose_sample_was_freed_comes_back_once(void)
{
	union test_record record, other;

	producer = new_producer(NULL, 0);
	record = allocate(A, 10, 1, 0);
	other = allocate(B, 10, 1, 0);
	release(B);
	release(A);
	record.head.kind = HS_RECORD_TOMBSTONE;
	take(producer, &record);
	take(producer, &other);
	CHECK_INT(hs_producer_take_freed(producer), 2);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_live_set_used(), 0);
	check_sums(producer, 1, 10, 0, 0);
}

/* The window cannot hold both: waiting for the first one ends, and nothing is lost. */
static void a_number_too_far_ahead_forces_progress(void)
{
	union test_record first, second, third;

	producer = new_producer(NULL, 0);
	first = allocate(A, 1, 1, 0);
	second = allocate(B, 2, 1, 0);
	hs_sequence.next = 3 * (uint64_t)HS_COMMIT_WINDOW_MAX;
	third = allocate(A + B, 4, 1, 0);
	take(producer, &second);
	take(producer, &third);
	CHECK_INT(hs_producer_next_number(producer), hs_sequence.next - 1);
	CHECK(!hs_producer_commit(producer));
	take(producer, &first);
	check_sums(producer, 3, 7, 3, 7);
	third.head.sequence = UINT64_MAX; /* never given out: makes no gap */
	take(producer, &third);
	CHECK_INT(hs_producer_next_number(producer), hs_sequence.next);
	release(A);
	release(B);
	release(A + B);
	hs_producer_take_freed(producer);
	CHECK(!hs_producer_commit(producer));
	check_sums(producer, 3, 7, 0, 0);
}

static void size_buckets(void)
{
	static const uint64_t table[][2] = {
		{ 0, 0 },       { 1, 1 },       { 127, 127 },   { 128, 128 },   { 129, 128 },
		{ 159, 128 },   { 160, 160 },   { 191, 160 },   { 192, 192 },   { 224, 224 },
		{ 255, 224 },   { 256, 256 },   { 319, 256 },   { 320, 320 },   { 4095, 3584 },
		{ 4096, 4096 }, { 5119, 4096 }, { 5120, 5120 }, { UINT64_MAX, 0xe000000000000000u },
	};

	for (size_t i = 0; i < COUNT(table); i++)
		CHECK_INT(hs_heap_tracker_size_bucket(table[i][0]), table[i][1]);
}

static void steady_state_takes_no_memory(void)
{
	size_t used = 0;

	producer = new_producer(NULL, HS_LABEL_SIZE | HS_LABEL_TID);
	for (int i = 0; i < 100000; i++) {
		union test_record record = allocate(A, 64, 512, 0);

		release(A);
		take(producer, &record);
		hs_producer_take_freed(producer);
		CHECK(!hs_producer_commit(producer));
		if (i == 100)
			used = hs_arena_used();
	}
	CHECK_INT(hs_arena_used(), used);
	CHECK_INT(hs_heap_tracker_row_count(&producer->tracker), 1);
	CHECK(sum_rows(producer).inuse_objects == 0 && sum_rows(producer).inuse_bytes == 0);
	CHECK(sum_rows(producer).objects ==
	      (unsigned __int128)hs_sampler_weight(64, 512) * 100000);
}

/* New stacks until no more fit: each sample is in a row or in [lost], in use until its free. */
static void without_memory_samples_go_to_lost(void)
{
	const struct hs_totals *lost_in_use;
	enum { SAMPLES = 3000 };
	uint64_t before = hs_heap_total(lost_memory), lost;
	struct sums sums;

	producer = new_producer(NULL, HS_LABEL_SIZE);
	hs_arena_set_budget(hs_arena_used() + 64 * 1024);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		union test_record record = allocate(A + 16 * i, 10 + i, 1, i);

		take(producer, &record);
		CHECK(!hs_producer_commit(producer));
	}
	lost = hs_heap_total(lost_memory) - before;
	CHECK(lost > 0 && lost < SAMPLES);
	CHECK_INT(hs_heap_lost_weight(HS_HEAP_MALLOC), lost << HS_WEIGHT_SHIFT);
	sums = sum_rows(producer);
	CHECK_INT(sums.objects >> HS_WEIGHT_SHIFT, SAMPLES - lost);
	CHECK_INT((sums.bytes >> HS_WEIGHT_SHIFT) + hs_heaps[HS_HEAP_MALLOC].lost.bytes,
		  SAMPLES * 10 + SAMPLES * (SAMPLES - 1) / 2);
	lost_in_use = &producer->tracker.lost_in_use[HS_HEAP_MALLOC];
	CHECK_INT(lost_in_use->objects >> HS_WEIGHT_SHIFT, lost);
	CHECK_INT(lost_in_use->bytes >> HS_WEIGHT_SHIFT,
		  hs_heaps[HS_HEAP_MALLOC].lost.bytes);
	CHECK_INT(hs_producer_in_use_bytes(producer, HS_HEAP_MALLOC),
		  SAMPLES * 10 + SAMPLES * (SAMPLES - 1) / 2);
	for (uint64_t i = 0; i < SAMPLES; i++)
		release(A + 16 * i);
	CHECK_INT(hs_producer_take_freed(producer), SAMPLES);
	hs_producer_commit(producer);
	hs_arena_set_budget(256 * MIB);
	CHECK_INT(hs_live_set_used(), 0);
	CHECK(lost_in_use->objects == 0 && lost_in_use->bytes == 0);
	CHECK_INT(hs_producer_in_use_bytes(producer, HS_HEAP_MALLOC), 0);
	CHECK_INT(hs_producer_next_number(producer), 2 * SAMPLES + 1);
	check_holders(producer);
	sums = sum_rows(producer);
	CHECK(sums.inuse_objects == 0 && sums.inuse_bytes == 0);
}

/* As many frees as may come between two looks: the window does not grow. */
/* A number does not come for long.  When it is given up, what waited for it takes no more room. */
static void a_long_wait_leaves_no_room_taken(void)
{
	enum { SAMPLES = 20000 };
	size_t used = 0;

	producer = new_producer(NULL, 0);
	for (uint64_t round = 0; round < 3; round++) {
		hs_sequence.next++;
		for (uint64_t i = 0; i < SAMPLES; i++) {
			union test_record record = allocate(A, 1, 1, 0);

			release(A);
			take(producer, &record);
			hs_producer_take_freed(producer);
		}
		CHECK(producer->order.waiting >= SAMPLES);
		hs_producer_skip_gap(producer, UINT64_MAX);
		CHECK(!hs_producer_commit(producer));
		CHECK_INT(producer->order.capacity, HS_COMMIT_WINDOW_MIN);
		if (round == 0)
			used = hs_arena_used();
		CHECK_INT(hs_arena_used(), used);
		check_sums(producer, (round + 1) * SAMPLES, (round + 1) * SAMPLES, 0, 0);
	}
	CHECK_INT(hs_live_set_used(), 0);
}

static void many_frees_need_no_memory(void)
{
	enum { SAMPLES = 3000 };
	uint64_t gaps = hs_stats_get(sequence_gaps);
	uint32_t capacity;

	producer = new_producer(NULL, 0);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		union test_record record = allocate(A + 16 * i, 10, 1, 0);

		take(producer, &record);
		CHECK(!hs_producer_commit(producer));
	}
	for (uint64_t i = 0; i < SAMPLES; i++)
		release(A + 16 * i);
	capacity = producer->order.capacity;
	hs_arena_set_budget(hs_arena_used());
	CHECK_INT(hs_producer_take_freed(producer), SAMPLES);
	hs_arena_set_budget(256 * MIB);
	CHECK_INT(producer->order.capacity, capacity);
	CHECK_INT(hs_stats_get(sequence_gaps), gaps);
	CHECK_INT(hs_producer_next_number(producer), 2 * SAMPLES + 1);
	CHECK_INT(hs_live_set_used(), 0);
	check_sums(producer, SAMPLES, 10 * SAMPLES, 0, 0);
}

/* Frees need no memory either while they wait for an allocation that takes long. */
static void frees_that_wait_need_no_memory(void)
{
	enum { SAMPLES = 3000 };
	uint64_t gaps = hs_stats_get(sequence_gaps);
	union test_record late;

	producer = new_producer(NULL, 0);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		union test_record record = allocate(A + 16 * i, 10, 1, 0);

		take(producer, &record);
	}
	CHECK(!hs_producer_commit(producer));
	late = allocate(A + 16 * SAMPLES, 20, 1, 0);
	for (uint64_t i = SAMPLES; i > 0; i--)
		release(A + 16 * (i - 1));
	hs_arena_set_budget(hs_arena_used());
	CHECK_INT(hs_producer_take_freed(producer), SAMPLES);
	CHECK(hs_producer_commit(producer));
	CHECK_INT(hs_producer_next_number(producer), SAMPLES + 1);
	check_sums(producer, SAMPLES, 10 * SAMPLES, SAMPLES, 10 * SAMPLES);
	take(producer, &late);
	CHECK(!hs_producer_commit(producer));
	hs_arena_set_budget(256 * MIB);
	CHECK_INT(hs_stats_get(sequence_gaps), gaps);
	CHECK_INT(hs_producer_next_number(producer), 2 * SAMPLES + 2);
	CHECK_INT(hs_live_set_used(), 1);
	check_sums(producer, SAMPLES + 1, 10 * SAMPLES + 20, 1, 20);

	/* If the allocation that they wait for does not come, it is the only gap. */
	late = allocate(A + 16, 20, 1, 0);
	hs_sequence.next += 5000;
	release(A + 16 * SAMPLES);
	CHECK_INT(hs_producer_take_freed(producer), 1);
	CHECK(hs_producer_commit(producer));
	hs_producer_skip_gap(producer, UINT64_MAX);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_stats_get(sequence_gaps), gaps + 5001);
	CHECK_INT(hs_producer_next_number(producer), hs_sequence.next);
	take(producer, &late);
	release(A + 16);
	hs_producer_take_freed(producer);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_live_set_used(), 0);
}

int main(void)
{
	set_up();
	RUN(size_buckets);
	RUN(all_orders_of_arrival_are_equal);
	RUN(late_events_are_applied);
	RUN(a_lost_allocation_leaves_no_slot);
	RUN(what_is_missing_is_given_up_to_a_number);
	RUN(a_record_that_comes_twice_counts_once);
	RUN(abandoned_records_give_their_slots_back);
	RUN(an_abandoned_record_whose_sample_was_freed_comes_back_once);
	RUN(a_number_too_far_ahead_forces_progress);
	RUN(steady_state_takes_no_memory);
	RUN(a_long_wait_leaves_no_room_taken);
	RUN(many_frees_need_no_memory);
	RUN(frees_that_wait_need_no_memory);
	RUN(without_memory_samples_go_to_lost);
	return CHECK_RESULT();
}
