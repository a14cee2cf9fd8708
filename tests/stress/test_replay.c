/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One recorded run is handed to the books in 1000 orders of arrival: each must give the same
 * profile, and the same profile of the peak, to the byte.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/sample_testing.h"
#include "../unit/sample_view.h"
#include "profile/snapshot.h"
#include "recorded_run.h"

enum { ORDERS = 1000, ORDERS_PER_CHILD = 50, NAMED_EVERY = 25 };

static struct hs_producer *producer;
static struct memory_sink expected, expected_named;
static uint64_t held[RECORDED_MOST];
static unsigned held_count;

/*
 * A block's address: the recorded one, or (apart) one of its own for each allocation.  When most
 * frees are under way, the live set's index would have no room for all the slots of one address.
 */
static void *address_of(uint64_t number, bool apart)
{
	uint64_t address = recorded[number].unwound.address;

	return (void *)(uintptr_t)(apart ? address ^ number << 44 : address);
}

/* The event happens: an allocation takes a slot, a free the number that it had. */
static void happen(uint64_t number, bool apart)
{
	struct recorded *event = &recorded[number];
	uint64_t next = atomic_exchange(&hs_sequence.next, number);
	struct hs_taken_slot taken;

	if (event->frees != 0) {
		CHECK_INT(hs_live_set_begin_move(address_of(event->frees, apart)),
			  recorded[event->frees].unwound.slot);
	} else if (event->unwound.kind == HS_RECORD_ALLOCATION) {
		CHECK(hs_live_set_take(&taken));
		CHECK(live_insert(taken, address_of(number, apart)));
		event->unwound.slot = taken.slot;
		event->unwound.generation = taken.generation;
	}
	hs_sequence.next = next;
}

static void deliver(uint64_t number)
{
	const struct recorded *event = &recorded[number];

	if (event->frees != 0)
		hs_live_set_end_move(recorded[event->frees].unwound.slot);
	else
		hs_producer_take(producer, &event->unwound);
}

/* The producer prepares for a record, which must change no result. */
static void look_ahead(uint64_t number)
{
	if (recorded[number].frees == 0)
		hs_producer_expect(producer, &recorded[number].unwound);
}

/* Takes all frees that have come. */
static void commit(void)
{
	hs_producer_take_freed(producer);
	hs_producer_commit(producer);
}

/* Delivers all events.  held_most: how many may be under way at a time; 0: they come in order. */
static void arrive(uint64_t *random, unsigned held_most)
{
	uint64_t number = 0;

	while (number < recorded_count || held_count > 0) {
		if (number < recorded_count) {
			happen(++number, held_most > 100);
			held[held_count++] = number;
		}
		while (held_count > (number < recorded_count ? held_most : 0)) {
			unsigned pick = (unsigned)random_below(random, held_count);

			if (random_below(random, 2) == 0)
				look_ahead(held[pick]);
			look_ahead(held[random_below(random, held_count)]);
			deliver(held[pick]);
			held[pick] = held[--held_count];
			if (held_most == 0 || random_below(random, 3) == 0)
				commit();
		}
	}
	commit();
}

/* The sums of all rows must be those of the run.  In use is what no event frees. */
static void check_sums(const struct hs_view *view)
{
	int64_t got[HS_VIEW_VALUES] = {0}, want[HS_VIEW_VALUES] = {0};

	for (uint64_t n = 1; n <= recorded_count; n++) {
		const struct recorded *event = &recorded[n];
		const struct hs_unwound *freed = &recorded[event->frees].unwound;

		if (event->frees != 0) {
			want[2]--;
			want[3] -= (int64_t)freed->size;
		} else if (event->unwound.kind == HS_RECORD_ALLOCATION) {
			want[0]++;
			want[1] += (int64_t)event->unwound.size;
		}
	}
	want[2] += want[0];
	want[3] += want[1];
	for (size_t row = 0; row < view->row_count; row++) {
		for (int value = 0; value < HS_VIEW_VALUES; value++)
			got[value] += view->rows[row].values[value];
	}
	for (int value = 0; value < HS_VIEW_VALUES; value++)
		CHECK_INT(got[value], want[value]);
	CHECK(want[2] > 10 && want[2] < want[0]);
}

static void encode(bool named, bool peak, struct memory_sink *sink)
{
	const struct hs_options options = {
		.symbolize = named ? HS_SYMBOLIZE_NAMES : HS_SYMBOLIZE_NONE,
		.drop_frames = "malloc",
	};
	struct hs_view view = {
		.comments = {"a comment"},
		.period_bytes = 1,
		.time_ns = 1700000000000000001,
		.duration_ns = 2000000000,
	};
	struct hs_snapshot *snapshot =
		hs_snapshot_create(producer, &options, peak, NULL, &view);

	CHECK(snapshot != NULL && view.row_count > 50);
	if (!peak)
		check_sums(&view);
	CHECK_INT(sample_encode(&view, sink), 0);
	hs_snapshot_destroy(snapshot);
}

static void replay(uint64_t seed, unsigned held_most, bool named, struct memory_sink *sink)
{
	uint64_t random = seed;

	producer = hs_producer_create(&(struct hs_producer_setup){
		.mappings = run_table,
		.labels = HS_LABEL_SIZE | HS_LABEL_TID,
		.keeps_peak = true,
	});
	CHECK(producer != NULL);
	arrive(&random, held_most);
	CHECK_INT(hs_producer_next_number(producer), recorded_count + 1);
	sink->length = 0;
	encode(named, false, sink);
	encode(named, true, sink);
	run_forget_slots();
}

static void compare(uint64_t seed)
{
	static const unsigned windows[] = {8, 64, 512, RECORDED_MOST};
	static struct memory_sink got;
	bool named = seed % NAMED_EVERY == 0;
	const struct memory_sink *want = named ? &expected_named : &expected;
	bool equal;

	replay(seed, windows[seed % 4], named, &got);
	equal = got.length == want->length && memcmp(got.bytes, want->bytes, got.length) == 0;
	CHECK(equal);
	if (!equal)
		fprintf(stderr, "with seed %llu\n", (unsigned long long)seed);
}

/* In a process of its own, whose end frees the books of each order. */
static void compare_some(uint64_t first_seed)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		for (uint64_t i = 0; i < ORDERS_PER_CHILD && check_failures == 0; i++)
			compare(first_seed + i);
		_exit(check_failures != 0);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

static void all_orders_give_the_same_bytes(void)
{
	replay(0, 0, false, &expected);
	replay(0, 0, true, &expected_named);
	CHECK(expected.length > 5000 && expected_named.length > expected.length);
	for (uint64_t seed = 1; seed <= ORDERS; seed += ORDERS_PER_CHILD)
		compare_some(seed);
}

int main(void)
{
	record_run();
	RUN(all_orders_give_the_same_bytes);
	printf("%llu events, %zu bytes\n", (unsigned long long)recorded_count, expected.length);
	return CHECK_RESULT();
}
