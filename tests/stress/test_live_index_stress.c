/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two threads allocate and free one address each, without a pause, while the index grows to many
 * times its size: they must always find room.  If each free left an entry behind in the next table,
 * its bucket would fill up.
 */
#include <pthread.h>
#include <sched.h>

#include "../unit/check.h"
#include "../unit/sample_testing.h"
#include "base/arena.h"
#include "sample/live_index.h"
#include "sample/live_set.h"

#define THREADS 2
#define LONG_LIVED 200000u

static _Atomic uint64_t pairs, refused;
static _Atomic bool stop;

static void *allocate_and_free(void *address)
{
	struct hs_taken_slot taken;

	while (!atomic_load(&stop)) {
		if (!hs_live_set_take(&taken)) {
			sched_yield(); /* the producer is behind */
		} else if (live_insert(taken, address)) {
			CHECK_INT(live_free(address), 1);
			atomic_fetch_add(&pairs, 1);
		} else {
			hs_live_set_cancel(taken);
			atomic_fetch_add(&refused, 1);
		}
	}
	return NULL;
}

static void recycle_freed(void)
{
	struct hs_freed_slots slots;
	uint32_t slot;

	hs_live_set_take_freed(&slots);
	while ((slot = hs_live_set_next_freed(&slots)) != HS_SLOT_NONE) {
		CHECK(hs_live_set_recycle(slot, hs_live_set_generation(slot)));
	}
	hs_live_set_give_back();
}

static void insert_many(void)
{
	for (uint64_t i = 0; i < LONG_LIVED; i++) {
		struct hs_taken_slot taken;

		while (!hs_live_set_take(&taken))
			recycle_freed();
		CHECK(live_insert(taken, (void *)(uintptr_t)(0x7f0000000000 + i * 48)));
		CHECK_INT(hs_live_set_maintain(1000), 0);
	}
}

static void test_hot_addresses(void)
{
	pthread_t threads[THREADS];
	uint64_t buckets;

	CHECK_INT(hs_arena_init((size_t)256 << 20), 0);
	CHECK_INT(live_init(LONG_LIVED * 4, 100), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, allocate_and_free,
					 (void *)(0x1000 + i * 0x10)),
			  0);
	while (atomic_load(&pairs) == 0)
		sched_yield();
	insert_many();
	atomic_store(&stop, true);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	recycle_freed();

	CHECK_INT(atomic_load(&refused), 0);
	CHECK_INT(hs_live_set_used(), LONG_LIVED);
	/* Samples that were freed and not yet recycled have not made it grow. */
	buckets = (uint64_t)1 << (64 - (atomic_load(&hs_live_index) & 63));
	CHECK_INT(buckets, 262144);
	for (uint64_t i = 0; i < LONG_LIVED; i++)
		CHECK_INT(live_free((void *)(uintptr_t)(0x7f0000000000 + i * 48)), 1);
	recycle_freed();
	CHECK_INT(hs_live_set_used(), 0);
	printf("%llu pairs\n", (unsigned long long)atomic_load(&pairs));
}

int main(void)
{
	RUN(test_hot_addresses);
	return CHECK_RESULT();
}
