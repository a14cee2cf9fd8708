/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring: no record is lost, read twice, torn or out of order, and the reader does not sleep
 * while there is something to read.
 */

#include "../unit/sample_testing.h"
#include "base/sys.h"
#include "profiler_steps.h"
#include "sample/ring.h"

/* 32 units of 16 bytes and 4 descriptors; an ordinary record has at most 14 units. */
#define DATA_BYTES 512u
#define RECORDS_MOST 8u

static struct hs_ring ring;
static _Alignas(64) unsigned char memory[1024];

/* By a record's number.  The reader writes seen, seen_count and last_ticket, writers the others. */
static bool is_committed[RECORDS_MOST], is_refused[RECORDS_MOST];
static unsigned seen[RECORDS_MOST], seen_count;
static uint32_t ticket_of[RECORDS_MOST], last_ticket;
static _Atomic uint64_t sequence;

static void setup(void)
{
	hs_ring_init(&ring, memory, DATA_BYTES);
	atomic_store(&sequence, 1);
	last_ticket = 0;
	model_ignore(&ring.used_units_max, sizeof ring.used_units_max);
}

static void setup_alone(void)
{
	setup();
	ring.has_one_writer = true;
}

/* The first and the last word of a record say which one it is. */
static void fill(void *data, size_t bytes, uint64_t number)
{
	_Atomic uint64_t *words = data;

	atomic_store_explicit(&words[0], number, memory_order_relaxed);
	atomic_store_explicit(&words[bytes / 8 - 1], ~number, memory_order_relaxed);
}

static bool put_kind(unsigned number, size_t bytes, int kind)
{
	uint64_t open = 0;
	void *data = hs_ring_reserve(&ring, bytes, kind, model_tid(), number + 1, &open);

	is_refused[number] = data == NULL;
	if (data == NULL)
		return false;
	ticket_of[number] = hs_ring_ticket(open);
	fill(data, bytes, number);
	hs_ring_note_sequence(&ring, hs_ring_ticket(open),
			      atomic_fetch_add_explicit(&sequence, 1, memory_order_acq_rel));
	is_committed[number] = hs_ring_commit(&ring, hs_ring_ticket(open));
	MODEL_CHECK(is_committed[number]);
	hs_ring_tell_reader(&ring);
	return true;
}

static bool put(unsigned number, size_t bytes)
{
	return put_kind(number, bytes, HS_RING_ORDINARY);
}

/* Checks what the reader has got. */
static void look_at(const struct hs_ring_item *item)
{
	const _Atomic uint64_t *words = item->data;
	uint64_t number = item->cookie - 1;

	MODEL_CHECK(number < RECORDS_MOST);
	MODEL_CHECK(item->bytes % 16 == 0 && item->bytes > 0 && item->sequence != 0);
	MODEL_CHECK(atomic_load_explicit(&words[0], memory_order_relaxed) == number);
	MODEL_CHECK(atomic_load_explicit(&words[item->bytes / 8 - 1], memory_order_relaxed) ==
		    ~number);
	MODEL_CHECK(seen[number]++ == 0);
	MODEL_CHECK(seen_count == 0 || (int32_t)(ticket_of[number] - last_ticket) > 0);
	last_ticket = ticket_of[number];
	seen_count++;
}

/* HS_RING_COMMITTED: a record was read or skipped; otherwise why not. */
static enum hs_ring_state read_one(void)
{
	struct hs_ring_item item;

	hs_ring_read(&ring, &item);
	if (item.state == HS_RING_EMPTY || item.state == HS_RING_OPEN)
		return item.state;
	if (item.state == HS_RING_COMMITTED)
		look_at(&item);
	ring_release(&ring);
	return HS_RING_COMMITTED;
}

static void read_for_ever(void)
{
	for (;;)
		rest_at(&ring, read_one());
}

static void finish_late(void)
{
	struct hs_ring_item item;

	hs_ring_read(&ring, &item);
	MODEL_CHECK(item.state == HS_RING_EMPTY);
	for (unsigned number = 0; number < RECORDS_MOST; number++)
		MODEL_CHECK(seen[number] == is_committed[number]);
	MODEL_CHECK(ring.tail == *ring.head && ring.tail == ring.next);
}

/* Without deaths and naps no wait may time out. */
static void finish(void)
{
	MODEL_CHECK(model_late_timeouts() == 0);
	finish_late();
}

/* A reader that looks three times and does not sleep; the rest is read at the end. */

static void read_at_times(void)
{
	for (int i = 0; i < 3; i++)
		read_one();
}

static void read_rest(void)
{
	while (read_one() == HS_RING_COMMITTED)
		;
}

/* Two writers, the ring is empty at first. */

static void put_0(void)
{
	put(0, 96);
}

static void put_1(void)
{
	put(1, 112);
}

static void put_0_and_2(void)
{
	put(0, 16);
	put(2, 16);
}

/*
 * The end of the data is near, and one record before it is not read yet: writers go on at the
 * beginning of the data.
 */
static void setup_near_end(void)
{
	setup();
	put(5, 224);
	put(6, 176);
	read_one();
}

/*
 * When the only record has been read the ring starts again from its beginning.  At the same time a
 * writer begins the next record, at the old place or the new one, and then more: one for each
 * descriptor.  Together they need more room than there is.
 */

static void setup_one_record(void)
{
	setup();
	put(5, 48);
}

static void setup_one_record_alone(void)
{
	setup_one_record();
	ring.has_one_writer = true;
}

static void put_over_the_end(void)
{
	put_kind(0, 176, HS_RING_KEPT);
	put_kind(1, 256, HS_RING_KEPT);
	put_kind(2, 32, HS_RING_KEPT);
	/* Would end where the first one does. */
	put_kind(3, 224, HS_RING_KEPT);
}

/* The same, but with less room to the end of the lap than from there to the tail. */

static void setup_two_records(void)
{
	setup();
	put_kind(5, 256, HS_RING_KEPT);
	put(6, 32);
	read_one();
}

static void put_past_the_end(void)
{
	put_kind(0, 192, HS_RING_KEPT);
	put_kind(1, 64, HS_RING_KEPT);
	put_kind(2, 160, HS_RING_KEPT);
	/* Would end where the first one does. */
	put_kind(3, 256, HS_RING_KEPT);
}

static void finish_anew(void)
{
	read_rest();
	MODEL_CHECK(seen[5] == 1 && is_committed[0]);
	finish();
}

static void finish_at_times(void)
{
	read_rest();
	MODEL_CHECK(is_committed[0] && is_committed[1]);
	finish();
}

static void finish_both(void)
{
	MODEL_CHECK(is_committed[0] && is_committed[1]);
	finish();
}

static void finish_two(void)
{
	MODEL_CHECK(is_committed[2]);
	finish_both();
}

/* The ring gets full: only two of three records fit, unless the reader has read one. */

static void setup_full(void)
{
	setup();
	put(5, 224);
}

static void put_large_0(void)
{
	put(0, 224);
}

static void put_large_1(void)
{
	if (!put(1, 224))
		put_kind(2, 16, HS_RING_KEPT);
}

static void finish_full(void)
{
	read_rest();
	MODEL_CHECK(is_committed[0] || is_committed[1]);
	/* The part that is kept has room for a small one. */
	MODEL_CHECK(is_committed[1] || is_committed[2]);
	finish();
}

/* A writer waits for room, and must not go on waiting when there is some. */

static void put_when_there_is_room(void)
{
	for (;;) {
		uint32_t space = hs_ring_space_counter(&ring);

		if (put(0, 224))
			return;
		hs_ring_wait_for_space(&ring, space, -1);
	}
}

static void setup_no_room(void)
{
	setup();
	put(5, 224);
	put(6, 224);
}

static void finish_room(void)
{
	MODEL_CHECK(is_committed[0]);
	finish();
}

/* A writer dies at any step: the reader still gets what the other writes. */

static void read_and_close_dead(void)
{
	for (;;) {
		enum hs_ring_state state = read_one();

		if (state == HS_RING_OPEN)
			hs_ring_close_dead(&ring);
		rest_at(&ring, state);
	}
}

/* As a thread that waits for the reader: it wakes it, even if others have died while doing so. */
static void put_1_and_wake(void)
{
	put(1, 112);
	hs_ring_wake_reader(&ring);
}

static void finish_dead(void)
{
	struct hs_ring_item item;

	MODEL_CHECK(is_committed[1] && seen[1] == 1 && seen[0] <= 1);
	/* Nothing reports a death: what the thread left may stay until the reader is woken next. */
	hs_ring_read(&ring, &item);
	MODEL_CHECK(item.state == HS_RING_EMPTY || item.tid == 1);
}

/* A writer is slow while another uses each of the four descriptors. */

static void put_many(void)
{
	for (unsigned number = 1; number < 6; number++) {
		uint32_t space = hs_ring_space_counter(&ring);

		while (!put(number, 16)) {
			hs_ring_wait_for_space(&ring, space, -1);
			space = hs_ring_space_counter(&ring);
		}
	}
}

static void put_0_small(void)
{
	put(0, 16);
}

/* A nap ends when the ring fills up, or by itself. */

static void read_and_nap(void)
{
	bool is_first = true;

	for (;;) {
		enum hs_ring_state state;
		bool worked = false;

		while ((state = read_one()) == HS_RING_COMMITTED)
			worked = true;
		if (state == HS_RING_EMPTY && (worked || is_first))
			hs_ring_reader_nap(&ring, 10000000);
		else
			rest_at(&ring, state);
		is_first = false;
	}
}

#define READER(run_)                                                                               \
	{                                                                                          \
		.run = (run_), .flags = MODEL_DAEMON                                               \
	}

const struct model_scenario model_ring_scenarios[] = {
	{.name = "ring-two-writers",
	 .setup = setup,
	 .finish = finish_both,
	 .threads = {{.run = put_0}, {.run = put_1}, READER(read_for_ever)},
	 .quick_bound = 1,
	 .full_bound = 3},
	{.name = "ring-two-writers-at-times",
	 .setup = setup,
	 .finish = finish_at_times,
	 .threads = {{.run = put_0}, {.run = put_1}, {.run = read_at_times}},
	 .quick_bound = 1,
	 .full_bound = MODEL_COMPLETE},
	{.name = "ring-one-writer",
	 .setup = setup,
	 .finish = finish,
	 .threads = {{.run = put_0_and_2}, READER(read_for_ever)},
	 .quick_bound = MODEL_COMPLETE,
	 .full_bound = MODEL_COMPLETE},
	{.name = "ring-alone",
	 .setup = setup_alone,
	 .finish = finish,
	 .threads = {{.run = put_0_and_2}, READER(read_for_ever)},
	 .quick_bound = MODEL_COMPLETE,
	 .full_bound = MODEL_COMPLETE},
	{.name = "ring-alone-laps",
	 .setup = setup_alone,
	 .finish = finish,
	 .threads = {{.run = put_many}, READER(read_for_ever)},
	 .quick_bound = 1,
	 .full_bound = 3},
	{.name = "ring-anew",
	 .setup = setup_one_record,
	 .finish = finish_anew,
	 .threads = {{.run = put_over_the_end}, {.run = read_at_times}},
	 .quick_bound = 2,
	 .full_bound = MODEL_COMPLETE},
	{.name = "ring-anew-past-the-end",
	 .setup = setup_two_records,
	 .finish = finish_anew,
	 .threads = {{.run = put_past_the_end}, {.run = read_at_times}},
	 .quick_bound = 2,
	 .full_bound = MODEL_COMPLETE},
	{.name = "ring-anew-alone",
	 .setup = setup_one_record_alone,
	 .finish = finish_anew,
	 .threads = {{.run = put_over_the_end}, {.run = read_at_times}},
	 .quick_bound = 2,
	 .full_bound = MODEL_COMPLETE},
	{.name = "ring-anew-two-writers",
	 .setup = setup_one_record,
	 .finish = finish_at_times,
	 .threads = {{.run = put_0}, {.run = put_1}, {.run = read_at_times}},
	 .quick_bound = 1,
	 .full_bound = MODEL_COMPLETE},
	{.name = "ring-wrap",
	 .setup = setup_near_end,
	 .finish = finish_at_times,
	 .threads = {{.run = put_0}, {.run = put_1}, {.run = read_at_times}},
	 .quick_bound = 1,
	 .full_bound = MODEL_COMPLETE},
	{.name = "ring-three-records",
	 .setup = setup_near_end,
	 .finish = finish_two,
	 .threads = {{.run = put_0_and_2}, {.run = put_1}, READER(read_for_ever)},
	 .quick_bound = 1,
	 .full_bound = 2},
	{.name = "ring-full",
	 .setup = setup_full,
	 .finish = finish_full,
	 .threads = {{.run = put_large_0}, {.run = put_large_1}, {.run = read_at_times}},
	 .quick_bound = 1,
	 .full_bound = MODEL_COMPLETE},
	{.name = "ring-wait-for-room",
	 .setup = setup_no_room,
	 .finish = finish_room,
	 .threads = {{.run = put_when_there_is_room}, READER(read_for_ever)},
	 .quick_bound = MODEL_COMPLETE,
	 .full_bound = MODEL_COMPLETE},
	{.name = "ring-dead-writer",
	 .setup = setup,
	 .finish = finish_dead,
	 .threads = {{.run = put_0, .flags = MODEL_MAY_DIE},
		     {.run = put_1_and_wake},
		     {.run = read_and_close_dead, .flags = MODEL_DAEMON, .early_timeouts = 1}},
	 .quick_bound = 1,
	 .full_bound = 2},
	{.name = "ring-slow-by-a-lap",
	 .setup = setup,
	 .finish = finish,
	 .threads = {{.run = put_0_small}, {.run = put_many}, READER(read_for_ever)},
	 .quick_bound = 1,
	 .full_bound = 2},
	{.name = "ring-nap",
	 .setup = setup,
	 .finish = finish_late,
	 .threads = {{.run = put_0_and_2},
		     {.run = read_and_nap, .flags = MODEL_DAEMON, .early_timeouts = 1}},
	 .quick_bound = MODEL_COMPLETE,
	 .full_bound = MODEL_COMPLETE},
	{.name = NULL},
};
