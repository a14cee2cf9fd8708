/* SPDX-License-Identifier: BSD-2-Clause */
/* Statistics: buckets of times; texts in JSON. */
#include "output/stats_json.h"

#include <string.h>

#include "base/stats.h"
#include "check.h"

static char text[HS_STATS_JSON_BYTES];

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

static void describe(const char *program, const char *profile)
{
	struct hs_stats_report report = {
		.version = "1",
		.program = program,
		.reason = "exit",
		.profile = profile,
		.totals = {1, 2, 3, INT64_MAX},
	};

	CHECK_INT(hs_stats_json(&report, text), strlen(text));
}

static bool has(const char *part)
{
	return strstr(text, part) != NULL;
}

static void texts_are_escaped(void)
{
	describe("a\"b\\c\n\x7f\xc3\xa9\xff\xe2\x82", NULL);
	CHECK(has("\"program\": \"a\\\"b\\\\c\\u000a\x7f\xc3\xa9%ff%e2%82\","));
	CHECK(has("\"profile\": null,"));
	CHECK(has("\"inuse_space\": 9223372036854775807\n"));
	CHECK(has("[262144, "));
}

/* The longest path, and numbers as long as they get. */
static void all_of_it_has_room(void)
{
	static char path[4096];

	memset(path, 1, sizeof path - 1);
	memset(&hs_stats, 0xff, sizeof hs_stats);
	memset(hs_unwinding_times, 0xff, sizeof hs_unwinding_times);
	describe("server", path);
	CHECK(strlen(text) < HS_STATS_JSON_BYTES - 1);
	CHECK_INT(text[strlen(text) - 1], '\n');
	CHECK(has("[null, 18446744073709551615]]"));
}

int main(void)
{
	RUN(times_are_counted_below_powers_of_two);
	RUN(texts_are_escaped);
	RUN(all_of_it_has_room);
	return CHECK_RESULT();
}
