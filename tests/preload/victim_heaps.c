/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program with heaps of its own, that switches sampling on and off.  Its checks are of what
 * the calls return; the profiles are checked by check_heaps.py.
 *
 *     victim_heaps exact|estimate|control|request|reset|switch|errors|threads|storm|off|counts|
 *         many|overload|stream
 */
#include <heapsample/heapsample.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "victim_expect.h"

/* Of a millisecond, in which an interval comes down: far more than it takes. */
#define LOWER_TURNS 60000

static struct {
	int on, off;
	uint64_t interval;
} told;

static void enabled(void *context, uint64_t interval_bytes)
{
	EXPECT(context == &told);
	told.on++;
	told.interval = interval_bytes;
}

static void disabled(void *context)
{
	EXPECT(context == &told);
	told.off++;
}

static const struct heapsample_heap_calls calls = {enabled, disabled, &told};

#define SITE(name)                                                                                 \
	__attribute__((noinline)) static int site_##name(int heap, uint64_t id, uint64_t size)     \
	{                                                                                          \
		int chosen = heapsample_report_allocation(heap, id, size);                         \
												   \
		__asm__ volatile("" : : : "memory");                                               \
		return chosen;                                                                     \
	}
SITE(kept)
SITE(freed)
SITE(again)
SITE(other)

__attribute__((noinline)) static void *site_malloc(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}

__attribute__((noinline)) static int site_weighed(int heap, uint64_t id, uint64_t size,
						  uint64_t stands_for)
{
	int recorded = heapsample_report_sample(heap, id, size, stands_for);

	__asm__ volatile("" : : : "memory");
	return recorded;
}

static void dump(const char *name)
{
	char path[4096];

	EXPECT(heapsample_dump(path, sizeof path) == 0);
	printf("%s %s\n", name, path);
}

/* HEAPSAMPLE_HEAPS=*=1,excluded=0 */
static void exact(void)
{
	int pool = heapsample_heap_register("pool", &calls);
	int other = heapsample_heap_register("other", NULL);
	int excluded = heapsample_heap_register("excluded", NULL);

	EXPECT(pool > 0 && other > 0 && excluded > 0);
	EXPECT(told.on == 1 && told.interval == 1);
	for (uint64_t id = 0; id < 1000; id++) {
		EXPECT(site_kept(pool, id, 10) == 1);
		EXPECT(site_other(other, id, 7) == 1); /* the same ids */
		EXPECT(site_freed(pool, 5000 + id, 20) == 1);
		EXPECT(site_other(excluded, id, 7) == 0);
	}
	for (uint64_t id = 0; id < 1000; id++) {
		heapsample_report_free(pool, 5000 + id);
		heapsample_report_free(pool, 5000 + id); /* what is not known any more */
		heapsample_report_free(other, 9000 + id);
		EXPECT(site_again(pool, id % 10, 3) == 1); /* 0..9 were in use */
	}
	heapsample_report_free(other, 0);
	EXPECT(site_weighed(other, 7777, 50, 5000) == 1);
	EXPECT(site_weighed(other, 7778, 0, 0) == 1);
	free(site_malloc(123));
	dump("before");
	EXPECT(heapsample_heap_unregister(pool) == 0);
	EXPECT(heapsample_heap_unregister(pool) == -EINVAL);
	EXPECT(told.off == 1);
	EXPECT(site_kept(pool, 1, 10) == 0);
	/* A new heap of that name. */
	EXPECT(heapsample_heap_register("pool", &calls) == pool);
	EXPECT(site_kept(pool, 1, 10) == 1);
	EXPECT(told.on == 2);
}

/* Two heaps of different intervals, whose allocations alternate. */
static void estimate(void)
{
	int fine = heapsample_heap_register("fine", NULL);
	int coarse = heapsample_heap_register("coarse", NULL);
	uint64_t random = 12345, bytes = 0, in_use = 0;

	for (uint64_t id = 0; id < 400000; id++) {
		uint64_t size;

		random = random * 6364136223846793005u + 1442695040888963407u;
		size = random >> 55;
		site_kept(fine, id, size);
		site_other(coarse, id, size * 16);
		bytes += size;
		if (id % 2 == 0) {
			heapsample_report_free(fine, id);
			heapsample_report_free(coarse, id);
		} else {
			in_use += size;
		}
	}
	printf("fine:kept %llu %llu\n", (unsigned long long)bytes, (unsigned long long)in_use);
	printf("coarse:other %llu %llu\n", (unsigned long long)bytes * 16,
	       (unsigned long long)in_use * 16);
}

/* HEAPSAMPLE_ACTIVE=0 HEAPSAMPLE_INTERVAL=1 */
static void control(void)
{
	struct heapsample_stats stats;
	int pool = heapsample_heap_register("pool", &calls);
	void *kept;

	EXPECT(told.on == 0);
	free(site_malloc(1000));
	EXPECT(site_kept(pool, 1, 10) == 0);
	EXPECT(heapsample_get_stats(&stats, sizeof stats) == 0);
	EXPECT(stats.is_sampling == 0 && stats.samples == 0);
	EXPECT(heapsample_stop() == -EALREADY);
	EXPECT(heapsample_start() == 0);
	EXPECT(told.on == 1);
	EXPECT(heapsample_start() == -EALREADY);
	kept = site_malloc(100);
	free(site_malloc(30));
	EXPECT(site_kept(pool, 2, 10) == 1);
	EXPECT(heapsample_stop() == 0);
	EXPECT(told.off == 1);
	free(site_malloc(1000));
	EXPECT(site_kept(pool, 3, 10) == 0);
	dump("stopped");
	free(kept); /* is followed */
	dump("freed");
	EXPECT(heapsample_start() == 0);
	kept = site_malloc(5);
	dump("on");
	EXPECT(heapsample_reset() == 0);
	free(kept); /* of the old books: no effect */
	free(site_malloc(7));
	EXPECT(heapsample_get_stats(&stats, sizeof stats) == 0);
	EXPECT(stats.is_sampling == 1 && stats.samples > 3 && stats.profiles == 3);
	EXPECT(stats.interval_bytes == 1 && stats.samples_lost == 0 && stats.memory_bytes > 0);
}

/* One request of a service, as in heapsample(3); it allocates next to nothing. */
static void request(void)
{
	free(site_malloc(1000));
	EXPECT(heapsample_reset() == 0);
	heapsample_start(); /* -EALREADY if it is on */
	free(site_malloc(10));
	EXPECT(heapsample_stop() == 0);
	dump("request");
}

/* Parts of a request, one at a time. */
static void reset(void)
{
	EXPECT(heapsample_reset() == 0);
	dump("reset");
}

static void off_and_on(void)
{
	EXPECT(heapsample_stop() == 0);
	EXPECT(heapsample_start() == 0);
	dump("switch");
}

static void errors(void)
{
	char name[65], path[4];
	int heaps = 0, heap;

	memset(name, 'x', sizeof name - 1);
	name[64] = '\0';
	EXPECT(heapsample_heap_register(NULL, NULL) == -EINVAL);
	EXPECT(heapsample_heap_register("", NULL) == -EINVAL);
	EXPECT(heapsample_heap_register("a=b", NULL) == -EINVAL);
	EXPECT(heapsample_heap_register(name, NULL) == -ENAMETOOLONG);
	EXPECT(heapsample_heap_register("malloc", NULL) == -EEXIST);
	name[63] = '\0';
	EXPECT(heapsample_heap_register(name, NULL) > 0);
	EXPECT(heapsample_heap_register(name, NULL) == -EEXIST);
	for (heap = -3; heap < 2; heap++) {
		EXPECT(heapsample_report_allocation(heap, 1, 1 << 30) == 0);
		EXPECT(heapsample_report_sample(heap, 1, 1, 1) == 0);
		heapsample_report_free(heap, 1);
		EXPECT(heapsample_heap_unregister(heap) == -EINVAL);
	}
	EXPECT(heapsample_report_allocation(1000000, 1, 1 << 30) == 0);
	heapsample_report_free(1000000, 1);
	heapsample_report_free(200, 1);
	EXPECT(heapsample_dump(path, sizeof path) == -ENAMETOOLONG);
	do {
		snprintf(name, sizeof name, "heap %d", ++heaps);
		heap = heapsample_heap_register(name, NULL);
	} while (heap > 0);
	EXPECT(heap == -ENOSPC && heaps == 254);
	for (int i = 0; i < 100; i++)
		EXPECT(heapsample_heap_register("malloc", NULL) == -EEXIST);
}

/*
 * As many heaps as there may be, with names that JSON must escape.  HEAPSAMPLE_HEAPS=*=1.
 * The last two: excluded, and gone.
 */
static void many(void)
{
	char name[64];

	for (int i = 0; i < 254; i++) {
		int heap;

		memset(name, i % 2 == 0 ? '\x01' : '"', 63);
		name[63] = '\0';
		snprintf(name, 8, "%d\xff\\", i);
		name[strlen(name)] = '/';
		heap = heapsample_heap_register(i < 252    ? name
						: i == 252 ? "excluded"
							   : "gone",
						NULL);
		EXPECT(heap > 0);
		EXPECT(site_kept(heap, 1, (uint64_t)i) == (i != 252));
		EXPECT(site_freed(heap, 2, 1) == (i != 252));
		heapsample_report_free(heap, 2);
		if (i == 253)
			EXPECT(heapsample_heap_unregister(heap) == 0);
	}
}

/* All on the same ids, without any order: what is in use at the end is freed. */
static int shared_heap;

static void *hammer(void *argument)
{
	uint64_t random = (uint64_t)(uintptr_t)argument;

	for (int i = 0; i < 20000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		if ((random >> 40) % 2 == 0)
			site_kept(shared_heap, random >> 58, 8);
		else
			heapsample_report_free(shared_heap, random >> 58);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t all[8];

	shared_heap = heapsample_heap_register("shared", NULL);
	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&all[i], NULL, hammer, (void *)(i + 1));
	for (int i = 0; i < 8; i++)
		pthread_join(all[i], NULL);
	for (uint64_t id = 0; id < 64; id++)
		heapsample_report_free(shared_heap, id);
}

static void malloc_and_free(size_t size, int count, int freed)
{
	for (int i = 0; i < count; i++) {
		void *block = site_malloc(size);

		if (i < freed)
			free(block);
	}
}

/* HEAPSAMPLE_STREAM, HEAPSAMPLE_INTERVAL=1.  Sizes say what is what. */
static void stream(void)
{
	int pool = heapsample_heap_register("pool", &calls);
	int other = heapsample_heap_register("other", NULL);

	for (uint64_t id = 0; id < 100; id++) {
		EXPECT(site_kept(pool, id, 1001) == 1);
		EXPECT(site_other(other, id, 1002) == 1);
		if (id < 50)
			heapsample_report_free(pool, id);
	}
	malloc_and_free(1003, 50, 25);
	EXPECT(heapsample_stop() == 0);
	EXPECT(told.off == 1);
	/* What was sampled is followed. */
	for (uint64_t id = 50; id < 60; id++) {
		EXPECT(site_kept(pool, 1000 + id, 1004) == 0);
		heapsample_report_free(pool, 1000 + id);
		heapsample_report_free(pool, id);
	}
	malloc_and_free(1007, 10, 5);
	EXPECT(heapsample_start() == 0);
	EXPECT(told.on == 2);
	for (uint64_t id = 200; id < 230; id++)
		EXPECT(site_kept(pool, id, 1005) == 1);
	malloc_and_free(1006, 10, 10);
	EXPECT(heapsample_heap_unregister(other) == 0);
	EXPECT(heapsample_dump(NULL, 0) == -ENOTSUP);
	EXPECT(heapsample_reset() == -ENOTSUP);
}

/*
 * More than the profiler can follow, until it has raised the intervals three times; then little,
 * until it lowers them, which takes a second each time: they are raised yet at the end.
 */
static void overload(void)
{
	struct heapsample_stats first, now, raised;
	int heap = heapsample_heap_register("shared", NULL);

	EXPECT(heapsample_get_stats(&first, sizeof first) == 0);
	do {
		for (uint64_t id = 0; id < 1000; id++)
			site_kept(heap, id, 1000);
		for (uint64_t id = 0; id < 1000; id++)
			heapsample_report_free(heap, id);
		EXPECT(heapsample_get_stats(&now, sizeof now) == 0);
	} while (now.interval_bytes < 8 * first.interval_bytes);
	for (int turn = 0; turn < LOWER_TURNS; turn++) {
		raised = now;
		usleep(1000);
		site_kept(heap, 0, 1000000);
		heapsample_report_free(heap, 0);
		EXPECT(heapsample_get_stats(&now, sizeof now) == 0);
		if (now.interval_bytes < raised.interval_bytes)
			return;
	}
	EXPECT(now.interval_bytes < raised.interval_bytes);
}

static _Atomic int is_over;

static void *allocate_on(void *unused)
{
	void *blocks[64] = {NULL};

	(void)unused;
	for (size_t i = 0; !is_over; i++) {
		free(blocks[i % 64]);
		blocks[i % 64] = site_malloc(i % 100);
	}
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
	return NULL;
}

/* Profiles, and off and on, while four threads do not stop allocating. */
static void storm(void)
{
	pthread_t all[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, allocate_on, NULL);
	for (int i = 0; i < 5; i++) {
		dump("storm");
		EXPECT(heapsample_stop() == 0);
		EXPECT(heapsample_start() == 0);
	}
	is_over = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
}

/* Not profiled, or without the library at all. */
static void off(void)
{
	struct heapsample_stats stats;
	char path[100];
	int heap = heapsample_heap_register("pool", &calls);

	EXPECT(heap == -ENOSYS);
	EXPECT(site_kept(heap, 1, 1) == 0);
	EXPECT(site_weighed(heap, 1, 1, 1) == 0);
	heapsample_report_free(heap, 1);
	EXPECT(heapsample_heap_unregister(heap) == -ENOSYS);
	EXPECT(heapsample_heap_register("a=b", NULL) == -ENOSYS);
	EXPECT(heapsample_dump(path, sizeof path) == -ENOSYS);
	EXPECT(heapsample_start() == -ENOSYS);
	EXPECT(heapsample_stop() == -ENOSYS);
	EXPECT(heapsample_reset() == -ENOSYS);
	EXPECT(heapsample_get_stats(&stats, sizeof stats) == -ENOSYS);
	EXPECT(heapsample_set_label("key", "value") == -ENOSYS);
	EXPECT(told.on == 0);
}

/*
 * HEAPSAMPLE_INTERVAL=1; no profile can be written.  The header may be a newer one, with more
 * members, or an older one.
 */
static void counts(void)
{
	struct {
		struct heapsample_stats known;
		uint64_t later;
	} now = {.later = 1};
	struct heapsample_stats before;
	void *volatile kept = site_malloc(10);

	EXPECT(heapsample_get_stats(&before, sizeof before) == 0);
	for (int i = 0; i < 10; i++)
		free(site_malloc(10));
	EXPECT(heapsample_dump(NULL, 0) == -EIO);
	EXPECT(heapsample_get_stats(&now.known, sizeof now) == 0);
	EXPECT(now.later == 0);
	EXPECT(now.known.allocated_bytes >= before.allocated_bytes + 100);
	EXPECT(now.known.samples >= before.samples + 10);
	EXPECT(now.known.frees >= before.frees + 10 && now.known.frees < now.known.samples);
	EXPECT(now.known.profiles == 0 && now.known.profiles_failed == 1);
	now.known.memory_bytes = 1;
	EXPECT(heapsample_get_stats(&now.known, offsetof(struct heapsample_stats, memory_bytes)) ==
	       0);
	EXPECT(now.known.memory_bytes == 1);
	free(kept);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{"exact", exact},     {"estimate", estimate}, {"control", control},
		{"request", request}, {"reset", reset},       {"switch", off_and_on},
		{"errors", errors},   {"threads", threads},   {"off", off},
		{"many", many},       {"overload", overload}, {"storm", storm},
		{"stream", stream},   {"counts", counts},
	};

	for (size_t i = 0; count == 2 && i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(arguments[1], modes[i].name) == 0) {
			modes[i].run();
			return failures != 0;
		}
	}
	return 2;
}
