/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live set: life of a slot, look-ups, growth, colliding addresses, sweeps.
 * Includes the sources, for a thread that dies in the middle of a free.
 */
#include "sample/live_free.c"
#include "sample/live_set.c"

#include <sys/mman.h>

#include "check.h"
#include "random_numbers.h"
#include "sample_testing.h"


static void *pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static struct hs_taken_slot insert(uint64_t address)
{
	struct hs_taken_slot taken = {HS_SLOT_NONE, 0};

	CHECK(hs_live_set_take(&taken));
	CHECK(live_insert(taken, pointer(address)));
	return taken;
}

/* Recycles all that is on the freed list; returns how many. */
static unsigned recycle_freed(void)
{
	unsigned count = 0;
	struct hs_freed_slots slots;
	uint32_t slot;

	hs_live_set_take_freed(&slots);
	while ((slot = hs_live_set_next_freed(&slots)) != HS_SLOT_NONE) {
		CHECK(hs_live_set_recycle(slot, hs_live_set_generation(slot)));
		count++;
	}
	hs_live_set_give_back();
	return count;
}

static unsigned resident_slot_pages(void)
{
	static unsigned char pages[FIRST_SLOTS * sizeof(struct hs_live_slot) / 4096];
	unsigned count = 0;

	CHECK_INT(mincore(hs_live_slots.slots, sizeof pages * 4096, pages), 0);
	for (size_t i = 0; i < sizeof pages; i++)
		count += pages[i] & 1;
	return count;
}

/* Slots have their pages before they are taken for the first time. */
static void test_pages_ahead(void)
{
	/* So few that the index does not grow. */
	enum { TAKEN = 128, AHEAD = 512, PER_PAGE = 4096 / sizeof(struct hs_live_slot) };
	static struct hs_taken_slot taken[TAKEN];
	unsigned pages;

	CHECK_INT(resident_slot_pages(), 0);
	hs_live_set_begin();
	CHECK_INT(resident_slot_pages(), AHEAD / PER_PAGE);
	for (unsigned i = 0; i < TAKEN; i++) {
		pages = resident_slot_pages();
		CHECK(hs_live_set_take(&taken[i]));
		CHECK_INT(resident_slot_pages(), pages);
		CHECK_INT(hs_live_set_maintain(0), 0);
	}
	pages = resident_slot_pages();
	CHECK(pages > AHEAD / PER_PAGE && pages <= (TAKEN + TAKEN / 4 + AHEAD) / PER_PAGE + 1);
	for (unsigned i = 0; i < TAKEN; i++)
		hs_live_set_cancel(taken[i]);
}

static void test_insert_free_recycle(void)
{
	struct hs_taken_slot taken, again;
	uint64_t before = atomic_load(&hs_sequence.next);

	CHECK(!hs_live_set_may_hold(pointer(0x1000)));
	CHECK(!live_free(pointer(0x1000)));
	taken = insert(0x1000);
	CHECK(hs_live_set_may_hold(pointer(0x1000)));
	CHECK_INT(hs_live_set_used(), 1);
	CHECK(!live_free(pointer(0x1010)));
	CHECK(live_free(pointer(0x1000)));
	CHECK(!live_free(pointer(0x1000)));
	CHECK_INT(atomic_load(&hs_sequence.next), before + 1);
	CHECK_INT(hs_live_set_used(), 1);
	CHECK_INT(hs_live_set_free_sequence(taken.slot), before);
	CHECK_INT(recycle_freed(), 1);
	CHECK_INT(hs_live_set_used(), 0);
	CHECK(!hs_live_set_may_hold(pointer(0x1000)));

	/* Generations. */
	CHECK(!hs_live_set_recycle(taken.slot, taken.generation)); /* empty */
	CHECK(hs_live_set_take(&again));
	CHECK_INT(again.slot, taken.slot);
	CHECK_INT(again.generation, taken.generation + 1);
	CHECK(!hs_live_set_recycle(taken.slot, taken.generation));
	CHECK_INT(hs_live_set_used(), 1);
	hs_live_set_cancel(again);
	CHECK_INT(hs_live_set_used(), 0);
}

/* A slot is cancelled so often, with no free in between, that generations of 32 bits wrap. */
static void test_cancelled_often(void)
{
	static const uint64_t rounds[] = {5, 1u << 31, (1u << 31) + 5, UINT32_MAX};
	struct hs_taken_slot taken;

	for (unsigned i = 0; i < sizeof rounds / sizeof *rounds; i++) {
		CHECK(hs_live_set_take(&taken));
		hs_live_set_cancel(taken);
		atomic_fetch_add(&hs_live_slot(taken.slot)->state,
				 rounds[i] << HS_SLOT_STATE_BITS);
		CHECK_INT(insert(0x2000).slot, taken.slot);
		CHECK(live_free(pointer(0x2000)));
		CHECK_INT(recycle_freed(), 1);
		CHECK_INT(hs_live_set_used(), 0);
	}
}

static void test_given_up_sample(void)
{
	struct hs_taken_slot taken = insert(0x2000);

	CHECK(!hs_live_set_give_up(taken.slot, taken.generation + 1));
	CHECK(hs_live_set_give_up(taken.slot, taken.generation));
	hs_live_set_give_back();
	CHECK(!hs_live_set_may_hold(pointer(0x2000)));
	CHECK(!live_free(pointer(0x2000)));
	CHECK_INT(hs_live_set_used(), 0);

	/* Nor must one be left over that was not entered yet. */
	CHECK(hs_live_set_take(&taken));
	CHECK(hs_live_set_give_up(taken.slot, taken.generation));
	hs_live_set_give_back();
	CHECK_INT(hs_live_set_used(), 0);

	/* A slot that the program has begun to free must not get onto two lists. */
	taken = insert(0x2000);
	CHECK(live_free(pointer(0x2000)));
	CHECK(!hs_live_set_give_up(taken.slot, taken.generation));
	CHECK_INT(recycle_freed(), 1);
	taken = insert(0x2000);
	CHECK_INT(hs_live_set_begin_move(pointer(0x2000)), taken.slot);
	CHECK(!hs_live_set_give_up(taken.slot, taken.generation));
	hs_live_set_end_move(taken.slot);
	CHECK_INT(recycle_freed(), 1);
	CHECK_INT(hs_live_set_used(), 0);
}

static void test_move(void)
{
	struct hs_taken_slot old = insert(0x3000), new;
	uint64_t number = atomic_load(&hs_sequence.next);

	CHECK_INT(hs_live_set_begin_move(pointer(0x3010)), HS_SLOT_NONE);
	CHECK_INT(hs_live_set_begin_move(pointer(0x3000)), old.slot);
	CHECK(!live_free(pointer(0x3000))); /* only LIVE is found */
	/* A realloc that failed: the sample lives on, and its free takes another number. */
	CHECK_INT(hs_live_set_cancel_move(old.slot), number);
	CHECK_INT(hs_live_set_begin_move(pointer(0x3000)), old.slot);
	CHECK_INT(hs_live_set_free_sequence(old.slot), number + 1);
	/* A realloc in place: the address is sampled again while the old slot is still in use. */
	new = insert(0x3000);
	CHECK(new.slot != old.slot);
	hs_live_set_end_move(old.slot);
	CHECK(live_free(pointer(0x3000)));
	CHECK_INT(hs_live_set_free_sequence(new.slot), number + 2);
	CHECK(!live_free(pointer(0x3000)));
	CHECK_INT(recycle_freed(), 2);
	CHECK_INT(hs_live_set_used(), 0);
	CHECK(!hs_live_set_may_hold(pointer(0x3000)));
}

/* One free ends all samples of an address, so that nothing stays behind. */
static void test_all_samples_of_an_address_are_freed(void)
{
	uint64_t before = atomic_load(&hs_sequence.next);

	insert(0x5000);
	insert(0x5000);
	insert(0x5000);
	CHECK_INT(live_free(pointer(0x5000)), 3);
	CHECK_INT(atomic_load(&hs_sequence.next), before + 3);
	CHECK_INT(recycle_freed(), 3);
	CHECK(!hs_live_set_may_hold(pointer(0x5000)));
	CHECK_INT(hs_live_set_used(), 0);
}

enum { POOL = HS_HEAP_FIRST_REPORTED, OTHER = HS_HEAP_LIMIT - 1 };

static uint32_t insert_id(uint32_t heap, uint64_t id)
{
	struct hs_taken_slot taken;

	CHECK(hs_live_set_take(&taken));
	CHECK(hs_live_set_insert_id(&taken, heap, id));
	return taken.slot;
}

/* An id may be any 64 bits: also one of another heap, or the number that a key is made of. */
static void test_heaps_are_apart(void)
{
	uint64_t odd = hs_live_key(POOL, 0x6000), ids[] = {0, 1, UINT64_MAX, 0x6000, odd};
	uint32_t slots[3];

	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		slots[0] = insert_id(HS_HEAP_MALLOC, ids[i]);
		slots[1] = insert_id(POOL, ids[i]);
		slots[2] = insert_id(OTHER, ids[i]);
		CHECK_INT(hs_live_set_heap(slots[1]), POOL);
		CHECK_INT(hs_live_set_id(slots[1]), ids[i]);
		CHECK_INT(hs_live_set_heap(slots[2]), OTHER);
		CHECK(hs_live_set_may_hold_key(hs_live_key(POOL, ids[i])));
		CHECK_INT(hs_live_set_free_id(POOL, ids[i]), 1);
		CHECK_INT(hs_live_set_free_id(POOL, ids[i]), 0);
		CHECK_INT(hs_live_set_free_id(OTHER, ids[i]), 1);
		CHECK_INT(hs_live_set_free_id(HS_HEAP_MALLOC, ids[i]), 1);
		CHECK_INT(recycle_freed(), 3);
	}
	/* Ids of two heaps with the same key. */
	insert_id(HS_HEAP_MALLOC, odd);
	insert_id(POOL, 0x6000);
	CHECK_INT(hs_live_set_free_id(POOL, 0x6000), 1);
	CHECK_INT(hs_live_set_free_id(POOL, 0x6000), 0);
	CHECK_INT(hs_live_set_free_id(HS_HEAP_MALLOC, odd), 1);
	CHECK_INT(recycle_freed(), 2);
	CHECK_INT(hs_live_set_used(), 0);
}

static void test_free_a_heap(void)
{
	insert_id(HS_HEAP_MALLOC, 0x7000);
	for (uint64_t id = 0; id < 100; id++)
		insert_id(POOL, id);
	CHECK_INT(hs_live_set_free_heap(POOL), 100);
	CHECK_INT(recycle_freed(), 100);
	CHECK_INT(hs_live_set_used(), 1);
	for (uint64_t id = 0; id < 100; id++)
		CHECK(!hs_live_set_may_hold_key(hs_live_key(POOL, id)));
	CHECK_INT(hs_live_set_free_id(HS_HEAP_MALLOC, 0x7000), 1);
	CHECK_INT(recycle_freed(), 1);
}

/* A heap is freed by going through the slots: one of them may be entered in the index later. */
static void test_free_a_heap_in_an_insert(void)
{
	uint32_t slot = insert_id(POOL, 0x7100);
	uint64_t key = hs_live_key(POOL, 0x7100);

	hs_live_index_remove(key, slot, true);
	CHECK_INT(hs_live_set_free_heap(POOL), 1);
	CHECK(hs_live_index_insert(key, slot));
	CHECK_INT(recycle_freed(), 1);
	CHECK(!hs_live_set_may_hold_key(key));
	CHECK_INT(hs_live_set_used(), 0);
}

/*
 * The address whose hash is the given one: the multiplier (the hash of 1) is odd, so it has
 * an inverse; the fold is undone piece by piece.
 */
static uint64_t address_of_hash(uint64_t hash)
{
	uint64_t multiplier = hs_live_hash(1), inverse = multiplier, folded, address;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - multiplier * inverse;
	folded = hash * inverse;
	address = folded ^ folded >> 15 ^ folded >> 30 ^ folded >> 45 ^ folded >> 60;
	CHECK(hs_live_hash(address) == hash);
	return address;
}

/* Blocks at equal distances do not crowd into few buckets, whatever the distance. */
static void test_equal_distances(void)
{
	static const uint64_t units[] = {16, 48, 4096, 65536, 1 << 20};
	unsigned refused = 0;

	for (unsigned u = 0; u < 5; u++) {
		for (uint64_t distance = units[u]; distance <= units[u] * 4000;
		     distance += units[u]) {
			for (unsigned i = 0; i < 48; i++) {
				uint64_t address = 0x7f3a12345010 + i * distance;
				struct hs_taken_slot taken;

				CHECK(hs_live_set_take(&taken));
				if (!live_insert(taken, pointer(address))) {
					refused++;
					hs_live_set_cancel(taken);
				}
			}
			for (unsigned i = 0; i < 48; i++)
				live_free(pointer(0x7f3a12345010 + i * distance));
			recycle_freed();
		}
	}
	CHECK_INT(refused, 0);
	CHECK_INT(hs_live_set_used(), 0);
}

static unsigned index_shift(void)
{
	return atomic_load(&hs_live_index) & 63;
}

static void refuse(uint64_t address)
{
	struct hs_taken_slot taken;

	CHECK(hs_live_set_take(&taken));
	CHECK(!live_insert(taken, pointer(address)));
	hs_live_set_cancel(taken);
}

/*
 * Fills a bucket and its neighbour with twelve addresses whose hashes differ in one bit only, so
 * that a thirteenth is refused.  addresses: all of them.
 */
static void crowd(uint64_t addresses[13], unsigned bit)
{
	/* Every third one with the same tag. */
	for (unsigned i = 0; i < 13; i++)
		addresses[i] =
			address_of_hash((uint64_t)5 << index_shift() | (uint64_t)(i & 1) << bit |
					(uint64_t)(i % 3) << 32 | i);
	for (unsigned i = 0; i < 12; i++)
		insert(addresses[i]);
	for (unsigned i = 0; i < 12; i++)
		CHECK(hs_live_set_may_hold(pointer(addresses[i])));
	/* There is no room for entries of the neighbour either. */
	refuse(addresses[12]);
}

static struct hs_live_bucket *bucket_of(uint64_t address)
{
	return hs_live_table_home(atomic_load(&hs_live_index), hs_live_hash(address));
}

static void free_crowd(const uint64_t addresses[13])
{
	for (unsigned i = 12; i-- > 0;)
		CHECK(live_free(pointer(addresses[i])));
	for (unsigned i = 0; i < 13; i++)
		CHECK(!hs_live_set_may_hold(pointer(addresses[i])));
	/* Else its neighbour would be looked at for good. */
	CHECK_INT(bucket_of(addresses[0])->tags, 0);
}

static void test_bucket_overflow(void)
{
	unsigned shift = index_shift();
	uint64_t addresses[13];

	/* Only a table of absurd size would put these apart. */
	crowd(addresses, 7);
	CHECK_INT(bucket_of(addresses[0])->tags >> HS_LIVE_OVERFLOW_SHIFT, 6);
	for (unsigned i = 0; i < 20; i++) {
		CHECK_INT(hs_live_set_maintain(0), 0);
		refuse(addresses[12]);
	}
	CHECK_INT(index_shift(), shift);
	free_crowd(addresses);
	CHECK_INT(recycle_freed(), 12);
	/* Nor is a table made that is hardly used. */
	crowd(addresses, 48);
	for (unsigned i = 0; i < 20; i++)
		CHECK_INT(hs_live_set_maintain(0), 0);
	CHECK_INT(index_shift(), shift);
	free_crowd(addresses);
	CHECK_INT(recycle_freed(), 12);

	/* There is room again when the table is looked at: freed samples do not count. */
	crowd(addresses, shift - 1);
	free_crowd(addresses);
	CHECK_INT(hs_live_set_maintain(0), 0);
	CHECK_INT(index_shift(), shift);
	CHECK_INT(recycle_freed(), 12);

	/* A table four times as large puts them apart, one twice as large does not. */
	crowd(addresses, shift - 1);
	CHECK_INT(hs_live_set_maintain(0), 0);
	CHECK_INT(index_shift(), shift - 2);
	insert(addresses[12]);
	CHECK(live_free(pointer(addresses[12])));
	CHECK_INT(hs_live_set_maintain(0), 0);
	CHECK_INT(index_shift(), shift - 2);
	free_crowd(addresses);
	CHECK_INT(recycle_freed(), 13);
	CHECK_INT(hs_live_set_used(), 0);
}

/* An address that is always allocated and freed again needs no more room than one block. */
static void test_hot_address(void)
{
	unsigned shift = index_shift(), count = 2u << (64 - shift);

	for (unsigned i = 0; i < count; i++) {
		insert(0x8000);
		CHECK_INT(live_free(pointer(0x8000)), 1);
		if (i % 64 == 0)
			CHECK_INT(hs_live_set_maintain(0), 0);
	}
	CHECK_INT(hs_live_set_used(), count);
	CHECK_INT(hs_live_set_maintain(0), 0);
	CHECK_INT(index_shift(), shift);
	CHECK_INT(recycle_freed(), count);
	CHECK_INT(hs_live_set_used(), 0);
}

static void test_sweep(void)
{
	struct hs_taken_slot early = insert(0x4000), late = insert(0x4010);
	struct hs_taken_slot listed = insert(0x4020);
	uint64_t state, other, number = atomic_load(&hs_sequence.next);

	/* A thread that has died before it took a number, one after it, and one that lives. */
	CHECK(take_live(early.slot, HS_HEAP_MALLOC, 0x4000, HS_SLOT_FREED, &state));
	CHECK(take_live(late.slot, HS_HEAP_MALLOC, 0x4010, HS_SLOT_FREED, &other));
	hs_live_slot_give_number(late.slot, other);
	/* Only slots from the list may be recycled. */
	CHECK(!hs_live_set_recycle(late.slot, late.generation));
	CHECK(live_free(pointer(0x4020)));
	hs_live_set_sweep_freed(number);
	CHECK_INT(hs_live_set_free_sequence(early.slot), number + 2);
	CHECK_INT(recycle_freed(), 2); /* early and listed */
	hs_live_set_sweep_freed(number + 1);
	hs_live_set_sweep_freed(number + 1);
	CHECK_INT(hs_live_set_free_sequence(late.slot), number);
	CHECK_INT(recycle_freed(), 1);
	CHECK_INT(hs_live_set_used(), 0);
	/* The dead threads had not removed the samples from the index. */
	CHECK(!hs_live_set_may_hold(pointer(0x4000)));
	CHECK(!hs_live_set_may_hold(pointer(0x4010)));
	CHECK_INT(hs_live_set_generation(listed.slot), listed.generation + 1);

	/* The thread was slow, not dead, and its slot is in use again. */
	late = insert(0x5000);
	early = insert(0x5010);
	listed = insert(0x5020);
	hs_live_slot_give_number(late.slot, other);
	hs_live_slot_list(late.slot, other);
	CHECK_INT(recycle_freed(), 0);
	for (uint64_t address = 0x5000; address < 0x5030; address += 0x10) {
		number = atomic_load(&hs_sequence.next);
		CHECK(live_free(pointer(address)));
	}
	CHECK_INT(hs_live_set_free_sequence(listed.slot), number);
	CHECK_INT(recycle_freed(), 3);
}

#define MANY 100000u
#define MANY_SLOTS (4 * FIRST_SLOTS)

static uint64_t many_address(uint64_t i)
{
	return 0x7f0000000000u + i * 48;
}

/* Without memory growing is tried again each time; it uses up no addresses that it needs later. */
static void refuse_growth(void)
{
	size_t budget_bytes = hs_arena_budget();

	hs_arena_set_budget(hs_arena_used());
	for (unsigned i = 0; i < 100000; i++)
		CHECK_INT(hs_live_set_maintain(0), -ENOMEM);
	hs_arena_set_budget(budget_bytes);
}

static void test_growth(void)
{
	uint64_t random = 1;
	unsigned passed = 0, refused = 0;

	for (unsigned i = 0; i < MANY; i++) {
		struct hs_taken_slot taken;

		CHECK(hs_live_set_take(&taken));
		while (!live_insert(taken, pointer(many_address(i)))) {
			if (refused++ == 0)
				refuse_growth();
			if (hs_live_set_maintain(0) != 0) {
				CHECK(!"no growth with memory");
				return;
			}
		}
		if (i % 64 == 0 && refused > 0)
			CHECK_INT(hs_live_set_maintain(1000), 0);
	}
	CHECK(refused > 0);
	CHECK((uint64_t)1 << (64 - (atomic_load(&hs_live_index) & 63)) >= MANY);
	for (unsigned i = 0; i < MANY; i++)
		CHECK(hs_live_set_may_hold(pointer(many_address(i))));
	for (unsigned i = 0; i < 1000000; i++) {
		(void)random_next(&random);
		/* A live address must always be found, another one mostly not. */
		CHECK(hs_live_set_may_hold(pointer(many_address((random >> 33) % MANY))));
		passed += hs_live_set_may_hold(pointer(random >> 20 << 4));
	}
	printf("false positives: %.2f%% with %.2f entries per bucket\n", passed / 1e4,
	       MANY / (double)((uint64_t)1 << (64 - (atomic_load(&hs_live_index) & 63))));
	CHECK(passed < 50000);
	for (unsigned i = 0; i < MANY; i++)
		CHECK(live_free(pointer(many_address(i))));
	CHECK_INT(recycle_freed(), MANY);
	CHECK_INT(hs_live_set_used(), 0);
	for (unsigned i = 0; i < MANY; i++)
		CHECK(!hs_live_set_may_hold(pointer(many_address(i))));
}

static void test_slots_run_out(void)
{
	struct hs_taken_slot taken, last = {0, 0};
	uint32_t count = 0;

	while (hs_live_set_take(&taken)) {
		last = taken;
		count++;
	}
	CHECK_INT(count, hs_live_set_capacity());
	CHECK_INT(count, hs_live_set_used());
	CHECK_INT(hs_live_set_maintain(10), 0); /* at the limit: no error, no more slots */
	CHECK(!hs_live_set_take(&taken));
	hs_live_set_cancel(last);
	CHECK(hs_live_set_take(&taken));
	CHECK_INT(taken.slot, last.slot);
}

/* There are only as many slots as there is memory for, including their books. */
static void test_slots_by_budget(void)
{
	size_t budget_bytes = hs_arena_budget();

	CHECK_INT(sizeof(struct hs_live_slot), 64); /* a cache line */
	CHECK_INT(hs_live_set_capacity(), FIRST_SLOTS);
	for (int i = 0; i < 2; i++) {
		hs_arena_set_budget(hs_arena_used() + COMMIT_SLOTS * sizeof(struct hs_live_slot) -
				    1 + i);
		CHECK_INT(hs_live_set_maintain(FIRST_SLOTS + 1), i == 0 ? -ENOMEM : 0);
		CHECK_INT(hs_live_set_capacity(), FIRST_SLOTS + i * COMMIT_SLOTS);
	}
	hs_arena_set_budget(budget_bytes);
	CHECK_INT(hs_live_set_maintain(MANY_SLOTS), 0);
	CHECK_INT(hs_live_set_capacity(), MANY_SLOTS);
}

/* For slots that have been in use; the others have no books. */
static void test_clear_books(void)
{
	struct hs_taken_slot taken;

	CHECK(hs_live_set_take(&taken));
	*hs_live_set_book(taken.slot) = (struct hs_book){1, 2, 3, 4};
	hs_live_set_clear_books(false);
	CHECK_INT(hs_live_set_book(taken.slot)->row, 0);
	CHECK_INT(hs_live_set_generation(taken.slot), taken.generation);
	hs_live_set_cancel(taken);
}

int main(void)
{
	CHECK(!hs_live_set_may_hold(pointer(0x1000))); /* before the start */
	CHECK_INT(hs_arena_init((size_t)256 << 20), 0);
	CHECK_INT(live_init(MANY_SLOTS, 100), 0);
	RUN(test_pages_ahead);
	RUN(test_insert_free_recycle);
	RUN(test_cancelled_often);
	RUN(test_given_up_sample);
	RUN(test_move);
	RUN(test_all_samples_of_an_address_are_freed);
	RUN(test_heaps_are_apart);
	RUN(test_free_a_heap);
	RUN(test_free_a_heap_in_an_insert);
	RUN(test_equal_distances);
	RUN(test_bucket_overflow);
	RUN(test_hot_address);
	RUN(test_sweep);
	RUN(test_growth);
	RUN(test_slots_by_budget);
	RUN(test_clear_books);
	RUN(test_slots_run_out);
	return CHECK_RESULT();
}
