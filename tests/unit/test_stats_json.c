/* SPDX-License-Identifier: BSD-2-Clause */
/* Statistics: buckets of times; texts in JSON. */
#include "output/stats_json.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stats.h"
#include "check.h"

#define HEAPS 255

static char text[1 << 20];
static size_t used, writes, writes_allowed = SIZE_MAX;
static struct hs_stats_heap heaps[HEAPS];
static struct hs_stats_counts totals;

static int collect(const void *bytes, size_t count)
{
	CHECK(used + count < sizeof text);
	if (++writes > writes_allowed)
		return -ENOSPC;
	memcpy(text + used, bytes, count);
	used += count;
	text[used] = '\0';
	return 0;
}

static void check_bucket(uint64_t ns, unsigned bucket)
{
	uint64_t before = hs_unwinding_times[bucket], total = hs_stats_get(unwinding_ns);

	hs_stats_add_unwinding(ns);
	CHECK_INT(hs_unwinding_times[bucket], before + 1);
	CHECK_INT(hs_stats_get(unwinding_ns), total + ns);
}

static void times_are_counted_below_powers_of_two(void)
{
	check_bucket(0, 0);
	check_bucket(999, 0);
	check_bucket(1000, 1);
	check_bucket(1999, 1);
	check_bucket(2000, 2);
	check_bucket(3999, 2);
	check_bucket(4000, 3);
	check_bucket(((uint64_t)1 << 17) * 1000 - 1, 17);
	check_bucket(((uint64_t)1 << 17) * 1000, 18);
	check_bucket(((uint64_t)1 << 18) * 1000 - 1, 18);
	check_bucket(((uint64_t)1 << 18) * 1000, 19);
	check_bucket(UINT64_MAX / 2, 19);
}

static int describe(const char *program, const char *profile, size_t heap_count)
{
	struct hs_stats_report report = {
		.version = "1",
		.program = program,
		.reason = "exit",
		.profile = profile,
		.totals = totals,
		.heaps = heaps,
		.heap_count = heap_count,
	};

	used = writes = 0;
	return hs_stats_json(&report, collect);
}

static bool has(const char *part)
{
	return strstr(text, part) != NULL;
}

static void texts_are_escaped(void)
{
	CHECK_INT(describe("a\"b\\c\n\x1f \x7f\xc3\xa9\xff\xe2\x82", NULL, 0), 0);
	CHECK(has("\"program\": \"a\\\"b\\\\c\\u000a\\u001f \x7f\xc3\xa9%FF%E2%82\","));
	CHECK(has("\"profile\": null,"));
	CHECK(has("\"heaps\": [\n ]\n}\n"));
}

static void members_are_the_reports(void)
{
	const struct hs_stats_report report = {
		.version = "1",
		.program = "a",
		.reason = "exit",
		.profile = "a.gz",
		.ended_early = "why",
		.pid = 2,
		.number = 3,
		.time_ns = 4,
		.duration_ns = 5,
		.ring_bytes = 6,
		.ring_high_water_bytes = 7,
		.memory_used = 8,
		.memory_budget = 9,
		.resident_bytes = 10,
	};

	used = writes = 0;
	CHECK_INT(hs_stats_json(&report, collect), 0);
	CHECK(has("{\n \"version\": \"1\",\n \"program\": \"a\",\n \"pid\": 2,\n "
		  "\"reason\": \"exit\",\n \"number\": 3,\n \"profile\": \"a.gz\",\n "
		  "\"ended_early\": \"why\",\n \"time_ns\": 4,\n \"duration_ns\": 5,\n "
		  "\"counters\": {\n"));
	CHECK(has(" \"ring_bytes\": 6,\n \"ring_high_water_bytes\": 7,\n "
		  "\"profiler_memory\": 8,\n \"profiler_memory_budget\": 9,\n "
		  "\"resident\": 10,\n \"heaps\": ["));
}

static void heaps_are_listed(void)
{
	heaps[0] = (struct hs_stats_heap){.name = "malloc", .interval = 4, .current_interval = 8};
	heaps[1] = (struct hs_stats_heap){
		.name = "my \"pool\"\xff",
		.counts = {.samples = 11,
			   .sampled_bytes = 12,
			   .frees = 13,
			   .stackless = 14,
			   .lost_ring = 15,
			   .lost_live_set = 16,
			   .lost_memory = 17,
			   .stale = 18},
		.lost_objects = 19,
		.lost_bytes = 20,
		.rows = {.row_count = 21, .sums = {1, 2, 3, INT64_MAX}},
	};
	totals = (struct hs_stats_counts){.samples = 22, .stale = 29};
	CHECK_INT(describe("a", NULL, 2), 0);
	CHECK(has("\"counters\": {\n  \"samples\": 22,\n"));
	CHECK(has("\n  \"stale\": 29,\n  \"allocated_bytes\": "));
	CHECK(has("\"heaps\": [\n  {\n   \"name\": \"malloc\",\n   \"interval\": 4,\n   "
		  "\"current_interval\": 8,\n   \"samples\": 0,\n"));
	CHECK(has("\n  },\n  {\n   \"name\": \"my \\\"pool\\\"%FF\",\n"));
	CHECK(has("\"samples\": 11,\n   \"sampled_bytes\": 12,\n   \"frees\": 13,\n   "
		  "\"stackless\": 14,\n   \"lost_ring\": 15,\n   \"lost_live_set\": 16,\n   "
		  "\"lost_memory\": 17,\n   \"stale\": 18,\n   \"lost_objects\": 19,\n   "
		  "\"lost_bytes\": 20,\n   \"rows\": 21,\n   \"alloc_objects\": 1,\n   "
		  "\"alloc_space\": 2,\n   \"inuse_objects\": 3,\n   "
		  "\"inuse_space\": 9223372036854775807\n  }\n ]\n}\n"));
	CHECK_INT(writes, 1);
}

static size_t count(const char *part)
{
	size_t times = 0;

	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		times++;
	return times;
}

/* With the longest path, the most heaps and the longest numbers that there can be. */
static void nothing_is_cut_off(void)
{
	static char path[4096], name[64];

	memset(path, 1, sizeof path - 1);
	memset(name, 1, sizeof name - 1);
	memset(&hs_stats, 0xff, sizeof hs_stats);
	memset(hs_unwinding_times, 0xff, sizeof hs_unwinding_times);
	memset(&totals, 0xff, sizeof totals);
	memset(heaps, 0xff, sizeof heaps);
	for (size_t i = 0; i < HEAPS; i++)
		heaps[i].name = name;
	CHECK_INT(describe("server", path, HEAPS), 0);
	CHECK(writes > 1);
	CHECK_INT(used, strlen(text));
	CHECK(has("_us\": [[1, 18446744073709551615], [2, "));
	CHECK(has("[262144, 18446744073709551615], [null, 18446744073709551615]]"));
	CHECK_INT(count("\\u0001"), sizeof path - 1 + HEAPS * (sizeof name - 1));
	CHECK_INT(count("\"lost_bytes\": 18446744073709551615,\n"), HEAPS);
	CHECK_STR(text + used - strlen("}\n ]\n}\n"), "}\n ]\n}\n");
	/* After a write has failed no other is tried. */
	writes_allowed = 1;
	CHECK_INT(describe("server", path, HEAPS), -ENOSPC);
	CHECK_INT(writes, 2);
}

/* A child's first statistics after a fork while its parent's were being written. */
static int fork_and_describe(const void *bytes, size_t count)
{
	int status = 0;
	pid_t child = fork();

	(void)bytes, (void)count;
	if (child == 0) {
		describe("child", NULL, 0);
		_exit(used == strlen(text) && strstr(text, "\"server\"") == NULL ? 0 : 1);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	return 0;
}

static void nothing_is_left_of_the_parents(void)
{
	const struct hs_stats_report report = {.version = "1", .program = "server", .reason = ""};

	writes_allowed = SIZE_MAX;
	CHECK_INT(hs_stats_json(&report, fork_and_describe), 0);
}

int main(void)
{
	RUN(times_are_counted_below_powers_of_two);
	RUN(texts_are_escaped);
	RUN(members_are_the_reports);
	RUN(heaps_are_listed);
	RUN(nothing_is_cut_off);
	RUN(nothing_is_left_of_the_parents);
	return CHECK_RESULT();
}
