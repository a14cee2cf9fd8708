/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring: order, wrapping, refusals, abandoned records, dead writers, sleeping. */
#include "sample/ring.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "check.h"
#include "sample_testing.h"

#define DATA_BYTES 4096u
#define UNITS (DATA_BYTES / HS_RING_UNIT)

static struct hs_ring ring;
static _Alignas(4096) unsigned char memory[2 * DATA_BYTES];

static uint64_t open;

/* A reservation as the tests keep it. */
struct place {
	void *data;
	uint32_t ticket;
};

static uint32_t own_tid(void)
{
	return (uint32_t)hs_sys_gettid();
}

static void fresh(void)
{
	CHECK(hs_ring_memory_bytes(DATA_BYTES) <= sizeof memory);
	memset(memory, 0, sizeof memory);
	hs_ring_init(&ring, memory, DATA_BYTES);
}

static bool reserve(size_t bytes, int kind, struct place *out)
{
	out->data = hs_ring_reserve(&ring, bytes, kind, own_tid(), bytes * 3, &open);
	out->ticket = hs_ring_ticket(open);
	return out->data != NULL;
}

/* Reserves, fills with a byte and commits. */
static bool put(size_t bytes, int kind, unsigned char fill)
{
	struct place place;

	if (!reserve(bytes, kind, &place))
		return false;
	memset(place.data, fill, bytes);
	return hs_ring_commit(&ring, place.ticket);
}

static void expect_in(size_t bytes, unsigned char fill, const unsigned char *area,
		      size_t area_bytes)
{
	struct hs_ring_item item;

	hs_ring_read(&ring, &item);
	CHECK_INT(item.state, HS_RING_COMMITTED);
	if (item.state != HS_RING_COMMITTED)
		return;
	CHECK_INT(item.bytes, bytes);
	CHECK_INT(item.cookie, bytes * 3);
	CHECK_INT(item.tid, hs_sys_gettid());
	CHECK_INT((uintptr_t)item.data % HS_RING_UNIT, 0);
	CHECK((unsigned char *)item.data >= area &&
	      (unsigned char *)item.data + bytes <= area + area_bytes);
	for (size_t i = 0; i < bytes; i++)
		CHECK(((unsigned char *)item.data)[i] == fill);
	ring_release(&ring);
}

static void expect(size_t bytes, unsigned char fill)
{
	expect_in(bytes, fill, memory, DATA_BYTES);
}

static enum hs_ring_state state(void)
{
	struct hs_ring_item item;

	hs_ring_read(&ring, &item);
	return item.state;
}

static void test_first_in_first_out(void)
{
	fresh();
	CHECK_INT(state(), HS_RING_EMPTY);
	for (unsigned char i = 1; i <= 10; i++)
		CHECK(put(i * 7u, HS_RING_ORDINARY, i));
	for (unsigned char i = 1; i <= 10; i++)
		expect(i * 7u, i);
	CHECK_INT(state(), HS_RING_EMPTY);
}

static void test_wraps_with_padding(void)
{
	fresh();
	/* 1008 does not divide the data: each lap ends with a gap. */
	for (unsigned i = 0; i < 1000; i++) {
		CHECK(put(1008, HS_RING_ORDINARY, (unsigned char)i));
		CHECK(put(900, HS_RING_ORDINARY, (unsigned char)(i + 1)));
		expect(1008, (unsigned char)i);
		expect(900, (unsigned char)(i + 1));
	}
	CHECK_INT(state(), HS_RING_EMPTY);
}

static void test_exact_fit_and_refusal(void)
{
	fresh();
	for (unsigned char i = 0; i < 16; i++)
		CHECK(put(256, HS_RING_KEPT, i));
	CHECK(!put(1, HS_RING_KEPT, 0));
	CHECK_INT(open, 0);
	expect(256, 0);
	CHECK(put(256, HS_RING_KEPT, 16));
	CHECK(!put(1, HS_RING_KEPT, 0));
	for (unsigned char i = 1; i <= 16; i++)
		expect(256, i);
	CHECK_INT(state(), HS_RING_EMPTY);
	CHECK_INT(atomic_load(&ring.used_units_max), UNITS);
}

static void test_is_full(void)
{
	fresh();
	CHECK(!hs_ring_is_full(&ring, 256));
	while (put(256, HS_RING_ORDINARY, 1))
		CHECK(!hs_ring_is_full(&ring, 256));
	/* There is room for small records still. */
	CHECK(!hs_ring_is_full(&ring, 256));
	while (put(256, HS_RING_KEPT, 1))
		;
	CHECK(hs_ring_is_full(&ring, 1));
	expect(256, 1);
	CHECK(!hs_ring_is_full(&ring, 256));
	CHECK(hs_ring_is_full(&ring, 257));
}

static void test_descriptors_run_out(void)
{
	unsigned count = 0;

	fresh();
	while (put(1, HS_RING_KEPT, 1))
		count++;
	CHECK_INT(count, ring.slot_count);
	CHECK(hs_ring_is_full(&ring, 1));
	CHECK_INT(hs_ring_unread(&ring), count);
	for (unsigned i = 0; i < count; i++)
		expect(1, 1);
	count = 0;
	while (put(1, HS_RING_ORDINARY, 1))
		count++;
	CHECK_INT(count, ring.slot_count - ring.slot_count / 8);
}

static void test_an_eighth_is_kept(void)
{
	unsigned count = 0;

	fresh();
	while (put(256, HS_RING_ORDINARY, 1))
		count++;
	CHECK_INT(count, 14);
	CHECK(put(256, HS_RING_KEPT, 2));
	CHECK(put(256, HS_RING_KEPT, 2));
	CHECK(!put(256, HS_RING_KEPT, 2));
}

static void test_oversize(void)
{
	fresh();
	CHECK(!put(DATA_BYTES / 2 + 1, HS_RING_KEPT, 1));
	CHECK(!put(DATA_BYTES / 16 * 7 + 1, HS_RING_ORDINARY, 1));
	CHECK(!put(SIZE_MAX, HS_RING_KEPT, 1));
	/* Nor is there room for a larger tid in a descriptor. */
	CHECK(hs_ring_reserve(&ring, 1, HS_RING_KEPT, HS_RING_TID_MAX + 1, 0, &open) == NULL);
	/* The largest record fits into an empty ring at whatever place that begins. */
	for (unsigned i = 0; i < UNITS; i++) {
		CHECK(put(DATA_BYTES / 16 * 7, HS_RING_ORDINARY, 7));
		expect(DATA_BYTES / 16 * 7, 7);
		CHECK(put(1, HS_RING_ORDINARY, 1));
		expect(1, 1);
	}
}

static void test_abandon(void)
{
	struct place first, second;
	struct hs_ring_item item;

	fresh();
	CHECK(reserve(100, HS_RING_ORDINARY, &first));
	CHECK(reserve(200, HS_RING_ORDINARY, &second));
	hs_ring_note_sequence(&ring, first.ticket, 4711);
	CHECK(hs_ring_commit(&ring, second.ticket));
	CHECK_INT(state(), HS_RING_OPEN);
	CHECK(hs_ring_abandon(&ring, first.ticket, own_tid()));
	CHECK(!hs_ring_abandon(&ring, first.ticket, own_tid()));
	CHECK(!hs_ring_commit(&ring, first.ticket));
	CHECK(!hs_ring_abandon(&ring, second.ticket, own_tid()));
	hs_ring_read(&ring, &item);
	CHECK_INT(item.state, HS_RING_ABANDONED);
	CHECK_INT(item.sequence, 4711);
	CHECK_INT(item.cookie, 300);
	ring_release(&ring);
	hs_ring_read(&ring, &item);
	CHECK_INT(item.state, HS_RING_COMMITTED);
	CHECK_INT(item.sequence, 0);
	ring_release(&ring);
	CHECK_INT(state(), HS_RING_EMPTY);
	/* A lap later the descriptor must not be taken for that of the old ticket. */
	for (unsigned i = 0; i < ring.slot_count; i++) {
		CHECK(put(1, HS_RING_ORDINARY, 1));
		CHECK(!hs_ring_abandon(&ring, first.ticket, own_tid()));
		expect(1, 1);
	}
}

static void *reserve_and_die(void *out)
{
	reserve(64, HS_RING_ORDINARY, out);
	return NULL;
}

static void test_close_dead(void)
{
	struct place place;
	pthread_t thread;

	fresh();
	CHECK(!hs_ring_close_dead(&ring)); /* empty */
	CHECK(reserve(64, HS_RING_ORDINARY, &place));
	CHECK(!hs_ring_close_dead(&ring)); /* we live */
	CHECK(hs_ring_commit(&ring, place.ticket));
	CHECK(!hs_ring_close_dead(&ring)); /* committed */
	ring_release(&ring);

	CHECK_INT(pthread_create(&thread, NULL, reserve_and_die, &place), 0);
	pthread_join(thread, NULL);
	/* The kernel's part of the thread may outlive the join a little. */
	while (!hs_ring_close_dead(&ring))
		CHECK_INT(state(), HS_RING_OPEN);
	CHECK_INT(state(), HS_RING_ABANDONED);
}

/*
 * A writer stops for good between claiming a descriptor and moving the head on: others go on
 * behind it, and its record can be closed for it.
 */
static void test_stopped_writer(void)
{
	const uint32_t tid = HS_RING_TID_MAX;
	struct place place;
	struct hs_ring_item item;
	uint32_t ticket;

	fresh();
	/* Nothing of a lap before is left in its descriptor. */
	for (unsigned i = 0; i < ring.slot_count; i++) {
		CHECK(reserve(16, HS_RING_ORDINARY, &place));
		hs_ring_note_sequence(&ring, place.ticket, 4711);
		CHECK(hs_ring_abandon(&ring, place.ticket, own_tid()));
		CHECK_INT(state(), HS_RING_ABANDONED);
		ring_release(&ring);
	}
	CHECK(put(40, HS_RING_ORDINARY, 1));
	ticket = hs_ring_head_ticket(&ring);
	/* The word as claim() leaves it, with 3 units; the head still has its ticket. */
	ring.slots[ticket & (ring.slot_count - 1)].word = (uint64_t)(ticket >> ring.slot_lg) << 41 |
							  3 << 24 | (uint64_t)tid << 2 |
							  HS_RING_OPEN;
	CHECK_INT(hs_ring_head_ticket(&ring), ticket);
	CHECK(reserve(50, HS_RING_ORDINARY, &place));
	CHECK_INT(place.ticket, ticket + 1);
	CHECK_INT(open, (uint64_t)place.ticket + 1);
	memset(place.data, 2, 50);
	CHECK(hs_ring_commit(&ring, place.ticket));
	expect(40, 1);
	CHECK_INT(state(), HS_RING_OPEN);
	CHECK(!hs_ring_abandon(&ring, ticket, own_tid()));
	CHECK(hs_ring_abandon(&ring, ticket, tid));
	hs_ring_read(&ring, &item);
	CHECK_INT(item.state, HS_RING_ABANDONED);
	CHECK_INT(item.cookie, 0);
	CHECK_INT(item.sequence, 0);
	ring_release(&ring);
	expect(50, 2);
	CHECK_INT(state(), HS_RING_EMPTY);
}

/* The same without a writer behind it: the reader moves the head on. */
static void test_stopped_last_writer(void)
{
	uint32_t ticket;

	fresh();
	ticket = hs_ring_head_ticket(&ring);
	ring.slots[ticket & (ring.slot_count - 1)].word =
		(uint64_t)(ticket >> ring.slot_lg) << 41 | 3 << 24 | 7 << 2 | HS_RING_OPEN;
	CHECK_INT(state(), HS_RING_OPEN);
	CHECK_INT(hs_ring_head_ticket(&ring), ticket + 1);
	CHECK(hs_ring_abandon(&ring, ticket, 7));
	ring_release(&ring);
	CHECK_INT(state(), HS_RING_EMPTY);
	CHECK(put(10, HS_RING_ORDINARY, 9));
	expect(10, 9);
}

/* The same where its record begins anew, in the next lap: the ring counts as empty. */
static void test_stopped_writer_that_begins_anew(void)
{
	uint32_t ticket;

	fresh();
	CHECK(put(512, HS_RING_ORDINARY, 1));
	expect(512, 1);
	ticket = hs_ring_head_ticket(&ring);
	CHECK_INT(atomic_load(&ring.anew), ticket);
	ring.slots[ticket & (ring.slot_count - 1)].word =
		(uint64_t)(ticket >> ring.slot_lg) << 41 | (uint64_t)1 << 40 | 3 << 24 | 7 << 2 |
		HS_RING_OPEN;
	CHECK(!hs_ring_is_filling(&ring));
	CHECK(!hs_ring_is_full(&ring, 1));
	CHECK(put(10, HS_RING_ORDINARY, 9));
	CHECK(hs_ring_abandon(&ring, ticket, 7));
	CHECK_INT(state(), HS_RING_ABANDONED);
	ring_release(&ring);
	expect(10, 9);
}

static void expect_ahead(uint32_t most, unsigned char fill)
{
	const unsigned char *data = hs_ring_look_ahead(&ring, most);

	CHECK(data != NULL);
	if (data != NULL)
		CHECK_INT(data[0], fill);
}

/* Records are shown ahead once each, in their order, as far as they are committed. */
static void test_look_ahead(void)
{
	struct place place;

	fresh();
	CHECK(hs_ring_look_ahead(&ring, 2) == NULL);
	for (unsigned char i = 1; i <= 5; i++)
		CHECK(put(i * 7u, HS_RING_ORDINARY, i));
	CHECK(reserve(100, HS_RING_ORDINARY, &place));
	expect_ahead(2, 1);
	expect_ahead(2, 2);
	expect_ahead(2, 3);
	CHECK(hs_ring_look_ahead(&ring, 2) == NULL);
	expect(7, 1);
	expect_ahead(2, 4);
	CHECK(hs_ring_look_ahead(&ring, 2) == NULL);
	/* These are passed without having been shown ahead. */
	for (unsigned char i = 2; i <= 5; i++)
		expect(i * 7u, i);
	CHECK(hs_ring_look_ahead(&ring, 2) == NULL); /* open */
	memset(place.data, 9, 100);
	CHECK(hs_ring_commit(&ring, place.ticket));
	expect_ahead(2, 9);
	CHECK(hs_ring_look_ahead(&ring, 2) == NULL);
	expect(100, 9);
	CHECK(put(1, HS_RING_ORDINARY, 10));
	expect_ahead(0, 10);
}

/* Looks ahead over the gap at the end of a lap. */
static void test_look_ahead_wraps(void)
{
	fresh();
	for (unsigned i = 0; i < 1000; i++) {
		CHECK(put(1008, HS_RING_ORDINARY, (unsigned char)i));
		CHECK(put(900, HS_RING_ORDINARY, (unsigned char)(i + 1)));
		expect_ahead(1, (unsigned char)i);
		expect_ahead(1, (unsigned char)(i + 1));
		expect(1008, (unsigned char)i);
		expect(900, (unsigned char)(i + 1));
	}
}

static void test_unread_before(void)
{
	uint32_t fence;

	fresh();
	CHECK_INT(hs_ring_unread_before(&ring, hs_ring_head_ticket(&ring)), 0);
	for (unsigned i = 0; i < 3; i++)
		CHECK(put(16, HS_RING_ORDINARY, 1));
	fence = hs_ring_head_ticket(&ring);
	CHECK(put(16, HS_RING_ORDINARY, 1));
	for (unsigned left = 3; left > 0; left--) {
		CHECK_INT(hs_ring_unread_before(&ring, fence), left);
		expect(16, 1);
	}
	CHECK_INT(hs_ring_unread_before(&ring, fence), 0);
	expect(16, 1);
	CHECK_INT(hs_ring_unread_before(&ring, fence), 0);
}

/* The reader need not say so: what comes together is given back, a 64th of the ring at a time. */
static void test_passed_records_are_given_back(void)
{
	enum { SHARE = UNITS / 64 };

	fresh();
	for (unsigned i = 0; i < 2 * (SHARE + 1); i++)
		CHECK(put(HS_RING_UNIT, HS_RING_ORDINARY, 1));
	for (unsigned passed = 1; passed <= 2 * (SHARE + 1); passed++) {
		CHECK_INT(state(), HS_RING_COMMITTED);
		hs_ring_pass(&ring);
		CHECK_INT(hs_ring_unread(&ring),
			  (2 - passed / (SHARE + 1)) * (SHARE + 1));
	}
}

/* Tickets and positions wrap at 32 bits. */
static void test_counters_wrap(void)
{
	fresh();
	/* Each descriptor as its last reader has left it: closed, with the last ticket before. */
	for (uint32_t n = 6; n < 6 + ring.slot_count; n++)
		ring.slots[(0u - n) & (ring.slot_count - 1)].word =
			(uint64_t)((0u - n) >> ring.slot_lg & 0x7fffff) << 41;
	atomic_store(ring.head, (uint64_t)(0u - 5) << 32 | (0u - 48u));
	atomic_store(&ring.tail, (uint64_t)(0u - 5) << 32 | (0u - 48u));
	ring.next = ring.tail;
	ring.ahead = ring.next;
	for (unsigned i = 0; i < 40; i++) {
		CHECK(put(500, HS_RING_ORDINARY, (unsigned char)i));
		CHECK(put(100, HS_RING_ORDINARY, (unsigned char)i));
		expect_ahead(1, (unsigned char)i);
		expect_ahead(1, (unsigned char)i);
		CHECK_INT(hs_ring_unread_before(&ring, hs_ring_head_ticket(&ring)), 2);
		expect(500, (unsigned char)i);
		expect(100, (unsigned char)i);
	}
	CHECK(hs_ring_head_ticket(&ring) < 100);
}

static unsigned futex_calls;

static long count_futex(long number)
{
	futex_calls += number == SYS_futex;
	return 0;
}

static void test_sleep_ends_at_the_timeout(void)
{
	struct place place;

	fresh();
	hs_sys_fault = count_futex;
	futex_calls = 0;
	hs_ring_reader_sleep(&ring, 1000000);
	CHECK_INT(futex_calls, 1);
	/* While a record is open too, but not for ever: its writer may have died. */
	CHECK(reserve(16, HS_RING_ORDINARY, &place));
	hs_ring_reader_sleep(&ring, 1000000);
	CHECK_INT(futex_calls, 2);
	hs_ring_reader_sleep(&ring, -1);
	CHECK_INT(futex_calls, 2);
	CHECK(hs_ring_abandon(&ring, place.ticket, own_tid()));
	ring_release(&ring);
	futex_calls = 1;
	CHECK(put(16, HS_RING_ORDINARY, 1));
	hs_ring_reader_sleep(&ring, -1); /* there is something: no sleep */
	CHECK_INT(futex_calls, 1);
	hs_ring_wake_reader(&ring); /* nobody sleeps: no call */
	CHECK_INT(futex_calls, 1);
	CHECK(!hs_ring_wait_for_space(&ring, hs_ring_space_counter(&ring), 1000000));
	CHECK(hs_ring_wait_for_space(&ring, hs_ring_space_counter(&ring) - 1, -1));
	hs_sys_fault = NULL;
}

/* Whether a commit now makes a system call, with the reader in that state. */
static bool tell_wakes(enum hs_ring_sleep asleep)
{
	futex_calls = 0;
	atomic_store(&ring.reader_asleep, asleep);
	hs_ring_tell_reader(&ring);
	return futex_calls > 0 && atomic_load(&ring.reader_asleep) == HS_RING_WOKEN;
}

static void test_nap_ends_early_only_when_the_ring_fills(void)
{
	struct hs_ring_item item;
	int woken = 0;

	fresh();
	hs_sys_fault = count_futex;
	CHECK(put(1024, HS_RING_ORDINARY, 1));
	CHECK(!tell_wakes(HS_RING_AWAKE));
	CHECK(tell_wakes(HS_RING_ASLEEP));
	CHECK(!tell_wakes(HS_RING_NAPPING));
	CHECK(!tell_wakes(HS_RING_WOKEN));
	/* The thread that was to wake it may have died: one that waits for it wakes it again. */
	futex_calls = 0;
	hs_ring_wake_reader(&ring);
	CHECK_INT(futex_calls, 1);
	futex_calls = 0;
	CHECK(!hs_ring_reader_nap(&ring, 1000000));
	CHECK_INT(futex_calls, 1);
	CHECK_INT(atomic_load(&ring.reader_asleep), HS_RING_AWAKE);

	CHECK(put(16, HS_RING_ORDINARY, 1));
	CHECK(hs_ring_is_filling(&ring));
	CHECK(tell_wakes(HS_RING_NAPPING));
	/* While the woken reader waits for a processor it is not woken with each record. */
	for (int i = 0; i < 6; i++)
		CHECK(put(256, HS_RING_ORDINARY, 1));
	for (int i = 0; i < 128; i++) {
		woken += tell_wakes(HS_RING_WOKEN);
		CHECK(put(256, HS_RING_ORDINARY, 1));
		hs_ring_read(&ring, &item);
		ring_release(&ring);
	}
	CHECK_INT(woken, 2);
	CHECK(hs_ring_is_filling(&ring));
	futex_calls = 0;
	hs_ring_reader_nap(&ring, 1000000); /* there is much to read: no sleep */
	CHECK_INT(futex_calls, 0);
	hs_sys_fault = NULL;
}

static void *nap(void *unused)
{
	(void)unused;
	while (!hs_ring_reader_nap(&ring, -1))
		;
	return NULL;
}

/* A thread that waits for the reader ends its nap. */
static void test_nap_is_ended(void)
{
	pthread_t thread;

	fresh();
	CHECK_INT(pthread_create(&thread, NULL, nap, NULL), 0);
	while (atomic_load(&ring.reader_asleep) != HS_RING_NAPPING)
		;
	hs_ring_wake_reader(&ring);
	pthread_join(thread, NULL);
}

/* Neither the reader that slept nor the writers that waited exist in a forked child. */
static void test_after_fork(void)
{
	struct hs_ring_item item;

	fresh();
	hs_sys_fault = count_futex;
	CHECK(tell_wakes(HS_RING_ASLEEP));
	atomic_store(&ring.space_waiters, 1);
	hs_ring_after_fork(&ring);
	futex_calls = 0;
	CHECK(put(16, HS_RING_ORDINARY, 1));
	hs_ring_wake_reader(&ring);
	hs_ring_read(&ring, &item);
	ring_release(&ring);
	CHECK_INT(futex_calls, 0);
	hs_sys_fault = NULL;
}

static unsigned resident_pages(const unsigned char *data, size_t bytes)
{
	static unsigned char pages[256];
	unsigned count = 0;

	CHECK_INT(mincore((void *)(uintptr_t)data, bytes, pages), 0);
	for (size_t i = 0; i < bytes / 4096; i++)
		count += pages[i] & 1;
	return count;
}

/* Pages are made present ahead of the writers; what is written stays. */
static void test_prepare(void)
{
	const size_t bytes = 1 << 20, slot_bytes = 256 << 10;
	uint64_t reserved;
	char *data;

	hs_ring_init(&ring, hs_sys_map(hs_ring_memory_bytes(bytes), 3), bytes);
	for (unsigned i = 0; i < 2; i++) {
		hs_ring_prepare(&ring);
		CHECK_INT(resident_pages(ring.data, bytes), 16);
		CHECK_INT(resident_pages((const unsigned char *)ring.slots, slot_bytes), 4);
	}
	/* One record is always left, so that the ring does not begin anew. */
	CHECK(put(16, HS_RING_ORDINARY, 1));
	for (unsigned lap = 0; lap < 3; lap++) {
		for (unsigned i = 0; i < 31; i++) {
			data = hs_ring_reserve(&ring, 32768, HS_RING_ORDINARY, 1, 0, &reserved);
			CHECK(data != NULL);
			memset(data, 'x', 32768);
			hs_ring_prepare(&ring);
			for (unsigned at = 0; at < 32768; at += 4096)
				CHECK_INT(data[at], 'x');
			CHECK(resident_pages(ring.data, bytes) >= (i + 1) * 8);
			hs_ring_commit(&ring, hs_ring_ticket(reserved));
			CHECK_INT(state(), HS_RING_COMMITTED);
			ring_release(&ring);
		}
	}
	CHECK_INT(resident_pages(ring.data, bytes), 256);
	/* Small records need many descriptors. */
	for (unsigned i = 0; i < 8192; i++) {
		CHECK(hs_ring_reserve(&ring, 16, HS_RING_ORDINARY, 1, 0, &reserved) != NULL);
		hs_ring_commit(&ring, hs_ring_ticket(reserved));
		CHECK_INT(state(), HS_RING_COMMITTED);
		ring_release(&ring);
		hs_ring_prepare(&ring);
	}
	CHECK_INT(resident_pages((const unsigned char *)ring.slots, slot_bytes), 64);
}

/* A ring whose records are read as they come needs few pages; its records stay whole. */
static void test_begins_anew(void)
{
	const size_t bytes = 1 << 20;
	uint32_t lap = 0;

	hs_ring_init(&ring, hs_sys_map(hs_ring_memory_bytes(bytes), 3), bytes);
	/* The last record gets past that part of the lap after which the next one begins anew. */
	for (unsigned i = 0; i < 1001; i++) {
		hs_ring_prepare(&ring);
		CHECK(put(4096, HS_RING_ORDINARY, (unsigned char)i));
		CHECK(put(1000, HS_RING_ORDINARY, (unsigned char)(i + 1)));
		expect_ahead(1, (unsigned char)i);
		expect_ahead(1, (unsigned char)(i + 1));
		expect_in(4096, (unsigned char)i, ring.data, bytes);
		expect_in(1000, (unsigned char)(i + 1), ring.data, bytes);
		CHECK(!hs_ring_is_filling(&ring));
		lap = (uint32_t)ring.next / ring.units;
	}
	CHECK(lap > 50);
	CHECK(resident_pages(ring.data, bytes) <= 36);
	CHECK(atomic_load(&ring.used_units_max) * HS_RING_UNIT <= 4096 + 1008);
	/* All of the ring can be used when it is needed. */
	CHECK_INT(atomic_load(&ring.anew), hs_ring_head_ticket(&ring));
	CHECK(put(16, HS_RING_ORDINARY, 1));
	CHECK_INT((uint32_t)*ring.head % ring.units, 1);
	for (unsigned i = 1; i <= 13; i++)
		CHECK(put(65536, HS_RING_ORDINARY, (unsigned char)i));
	CHECK(hs_ring_is_filling(&ring));
	CHECK(!put(65536, HS_RING_ORDINARY, 14));
	expect_in(16, 1, ring.data, bytes);
	for (unsigned i = 1; i <= 13; i++)
		expect_in(65536, (unsigned char)i, ring.data, bytes);
	CHECK_INT(state(), HS_RING_EMPTY);
}

/* If the ring is not empty when that ticket comes, the record begins at its usual place. */
static void test_begins_anew_only_if_empty(void)
{
	fresh();
	CHECK(put(1024, HS_RING_KEPT, 1));
	CHECK(put(1024, HS_RING_KEPT, 2));
	atomic_store(&ring.anew, hs_ring_head_ticket(&ring));
	CHECK(put(1024, HS_RING_KEPT, 3));
	CHECK(put(1024, HS_RING_KEPT, 4));
	CHECK(!put(1, HS_RING_KEPT, 5));
	for (unsigned char i = 1; i <= 4; i++)
		expect(1024, i);
}

static void *sleep_until_committed(void *unused)
{
	(void)unused;
	while (state() != HS_RING_COMMITTED)
		hs_ring_reader_sleep(&ring, -1);
	ring_release(&ring);
	return NULL;
}

static void *wait_for_space(void *unused)
{
	uint32_t seen = hs_ring_space_counter(&ring);

	while (!put(1024, HS_RING_ORDINARY, 9)) {
		hs_ring_wait_for_space(&ring, seen, -1);
		seen = hs_ring_space_counter(&ring);
	}
	return unused;
}

/* The waits have no limits: if a wake is missed the test hangs. */
static void test_wakes(void)
{
	pthread_t thread;

	for (unsigned i = 0; i < 200; i++) {
		fresh();
		CHECK_INT(pthread_create(&thread, NULL, sleep_until_committed, NULL), 0);
		while (i % 2 && atomic_load(&ring.reader_asleep) == 0)
			;
		CHECK(put(16, HS_RING_ORDINARY, 1));
		hs_ring_tell_reader(&ring);
		pthread_join(thread, NULL);
	}
	for (unsigned i = 0; i < 200; i++) {
		fresh();
		for (unsigned n = 0; n < 3; n++)
			CHECK(put(1024, HS_RING_ORDINARY, 1));
		CHECK_INT(pthread_create(&thread, NULL, wait_for_space, NULL), 0);
		while (i % 2 && atomic_load(&ring.space_waiters) == 0)
			;
		expect(1024, 1);
		pthread_join(thread, NULL);
	}
}

int main(void)
{
	RUN(test_first_in_first_out);
	RUN(test_wraps_with_padding);
	RUN(test_exact_fit_and_refusal);
	RUN(test_is_full);
	RUN(test_descriptors_run_out);
	RUN(test_an_eighth_is_kept);
	RUN(test_oversize);
	RUN(test_abandon);
	RUN(test_close_dead);
	RUN(test_stopped_writer);
	RUN(test_stopped_last_writer);
	RUN(test_stopped_writer_that_begins_anew);
	RUN(test_look_ahead);
	RUN(test_look_ahead_wraps);
	RUN(test_unread_before);
	RUN(test_passed_records_are_given_back);
	RUN(test_counters_wrap);
	RUN(test_sleep_ends_at_the_timeout);
	RUN(test_nap_ends_early_only_when_the_ring_fills);
	RUN(test_nap_is_ended);
	RUN(test_after_fork);
	RUN(test_prepare);
	RUN(test_begins_anew);
	RUN(test_begins_anew_only_if_empty);
	RUN(test_wakes);
	return CHECK_RESULT();
}
