/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that go into a stream and not into the books: order, times, frees, slots. */
#include "profile_testing.h"

#include "sample/free_times.h"

#define A 0x10000

enum { SAMPLES = 500 };

static struct hs_producer *producer;
static struct {
	uint64_t number;
	struct hs_heap_event event;
} seen[3 * SAMPLES];
static size_t seen_count;
static size_t steps_until_fork; /* 0: none */
static size_t seen_by_child;

static void note(uint64_t number, const struct hs_heap_event *event)
{
	if (seen_count < COUNT(seen)) {
		seen[seen_count].number = number;
		seen[seen_count++].event = *event;
	}
	/* A child that is forked here does not know that the slot has yet to be given back. */
	CHECK(event->kind != HS_HEAP_EVENT_FREE ||
	      hs_live_set_generation(event->slot) != event->generation);
	/* Continues as a forked child would: from a state in the middle of what was taken. */
	if (steps_until_fork != 0 && --steps_until_fork == 0) {
		hs_producer_take_freed(producer);
		seen_by_child = seen_count;
	}
}

static void begin(void)
{
	producer = new_producer_with(&(struct hs_producer_setup){.stream = note});
	seen_count = 0;
}

static union test_record stream_record(uint64_t address, uint64_t size, uint64_t time_ns)
{
	union test_record record = allocate(address, size, 1, 0);

	record.head.frame_count = 0;
	record.head.address = address;
	record.head.time_ns = time_ns;
	return record;
}

static void events_come_in_order(void)
{
	union test_record records[SAMPLES];
	uint64_t before = hs_sys_clock_ns(CLOCK_MONOTONIC_COARSE);

	begin();
	for (uint64_t i = 0; i < SAMPLES; i++)
		records[i] = stream_record(A + 16 * i, 10 + i, 1000 + i);
	for (uint64_t i = 0; i < SAMPLES; i++)
		release(A + 16 * i);
	/* The frees come first, then the allocations from the last to the first. */
	CHECK_INT(hs_producer_take_freed(producer), SAMPLES);
	CHECK_INT(seen_count, 0);
	for (uint64_t i = SAMPLES; i-- > 0;)
		take(producer, &records[i]);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(seen_count, 2 * SAMPLES);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		const struct hs_heap_event *born = &seen[i].event;
		const struct hs_heap_event *died = &seen[SAMPLES + i].event;

		CHECK_INT(seen[i].number, i + 1);
		CHECK_INT(seen[SAMPLES + i].number, SAMPLES + i + 1);
		CHECK(born->kind == HS_HEAP_EVENT_ALLOCATION && born->address == A + 16 * i);
		CHECK(born->size == 10 + i && born->weight == HS_WEIGHT_ONE);
		CHECK_INT(born->time_ns, 1000 + i);
		CHECK(died->kind == HS_HEAP_EVENT_FREE && died->address == A + 16 * i);
		CHECK(died->time_ns >= before &&
		      died->time_ns <= hs_sys_clock_ns(CLOCK_MONOTONIC_COARSE));
	}
	CHECK_INT(hs_live_set_used(), 0);
	check_sums(producer, 0, 0, 0, 0);
}

static void numbers_that_stand_for_nothing_are_passed_over(void)
{
	union test_record lost, record;

	begin();
	lost = stream_record(A, 10, 1);
	lost.head.kind = HS_RECORD_TOMBSTONE;
	record = stream_record(A + 16, 20, 2);
	take(producer, &lost);
	take(producer, &record);
	hs_producer_commit(producer);
	CHECK_INT(seen_count, 1);
	CHECK_INT(seen[0].number, 2);
	CHECK_INT(hs_live_set_used(), 1);
	release(A + 16);
	hs_producer_take_freed(producer);
	CHECK_INT(seen_count, 2);
	CHECK_INT(hs_live_set_used(), 0);
}

/* After a stop or reset samples that are on their way are streamed: their frees will be too. */
static void an_epoch_that_is_over_is_streamed(void)
{
	union test_record records[2];

	begin();
	records[0] = stream_record(A, 10, 1);
	records[1] = stream_record(A + 16, 20, 2);
	CHECK_INT(hs_producer_reset(producer), 0);
	hs_producer_set_epoch(producer, records[0].head.epoch + 1);
	take(producer, &records[0]);
	hs_producer_set_epoch(producer, 0);
	take(producer, &records[1]);
	release(A);
	CHECK_INT(hs_producer_take_freed(producer), 1);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(seen_count, 3);
	CHECK_INT(seen[0].event.kind, HS_HEAP_EVENT_ALLOCATION);
	CHECK(seen[1].event.kind == HS_HEAP_EVENT_ALLOCATION && seen[1].event.address == A + 16);
	CHECK(seen[2].event.kind == HS_HEAP_EVENT_FREE && seen[2].event.address == A);
	CHECK_INT(hs_heap_total(stale), 0);
	release(A + 16);
	CHECK_INT(hs_producer_take_freed(producer), 1);
	CHECK_INT(hs_live_set_used(), 0);
}

/* Wherever another producer takes over, each free is streamed once and its slot given back. */
static void a_fork_in_the_middle_loses_nothing(void)
{
	for (size_t step = 1; step <= 10; step++) {
		begin();
		for (uint64_t i = 0; i < 10; i++) {
			union test_record record = stream_record(A + 16 * i, 10, 1);

			take(producer, &record);
		}
		hs_producer_commit(producer);
		seen_count = 0;
		for (uint64_t i = 0; i < 10; i++)
			release(A + 16 * i);
		steps_until_fork = step;
		hs_producer_take_freed(producer);
		CHECK_INT(seen_by_child, 10);
		CHECK_INT(seen_count, 10);
		for (uint64_t i = 0; i < 10; i++)
			CHECK_INT(seen[i].event.address, A + 16 * i);
		CHECK_INT(hs_live_set_used(), 0);
	}
}

int main(void)
{
	set_up();
	CHECK_INT(hs_free_times_init(), 0);
	RUN(events_come_in_order);
	RUN(numbers_that_stand_for_nothing_are_passed_over);
	RUN(a_fork_in_the_middle_loses_nothing);
	RUN(an_epoch_that_is_over_is_streamed);
	return CHECK_RESULT();
}
