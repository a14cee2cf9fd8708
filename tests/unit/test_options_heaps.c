/* SPDX-License-Identifier: BSD-2-Clause */
/* HEAPSAMPLE_HEAPS: the forms of it, and which interval a heap gets. */
#include "options_testing.h"

#define VARIABLE "HEAPSAMPLE_HEAPS="
#define NAME_63 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static void refuse(const char *value)
{
	char variable[2048], line[512];

	snprintf(variable, sizeof variable, VARIABLE "%s", value);
	snprintf(line, sizeof line,
		 "%.*s%s is not understood (expected name=interval,... such as pool=64k,*=1m; each "
		 "name once, of at most 63 bytes; no comma at the end, at most 1023 bytes in all); "
		 "ignored",
		 (int)strlen(VARIABLE) + 63, variable, strlen(value) > 63 ? "..." : "");
	bad(variable, line);
}

static void good_values(void)
{
	static const char *const values[] = {
		"",
		"pool=64k",
		"pool=64k,*=1m",
		"*=0",
		"malloc=0,*=1",
		"a=1,b=2,c=3k,d=256g,e=274877906944",
		"a b/c:d=4096", /* any byte but those that separate */
		"A=1,a=2",      /* names are as they are written */
		"a=1,aa=2,aaa=3",
		NAME_63 "=1",
	};

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		char variable[512];

		snprintf(variable, sizeof variable, VARIABLE "%s", values[i]);
		good(variable, variable);
		CHECK_STR(options.heaps, values[i]);
	}
}

static void bad_values(void)
{
	static const char *const values[] = {
		"=4k",
		"pool",
		"pool,64k",
		"pool=",
		",",
		"pool,",
		"pool=4k,",
		",pool=4k",
		"a=1,,b=2",
		"pool=4k,pool",
		"pool=4k,=8k",
		"a=1,b=2,a=3",
		"*=1,*=2",
		"a=1,a=1",
		NAME_63 "x=1",
		NAME_63 "=1," NAME_63 "=2",
		"pool=257g",
		"pool=274877906945",
		"pool=-1",
		"pool= 1",
		"pool=1 ",
		"pool=1,b=x",
		"pool=4kb",
		"pool==4k",
		"a=1;b=2",
		"pool=00000000000000000000000000000001k", /* longer than any number is */
	};

	char longer[1200] = "";

	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		refuse(values[i]);
	for (int i = 100; strlen(longer) <= 1023; i++)
		snprintf(longer + strlen(longer), 80, "%sthe pool of number %d=1k",
			 i == 100 ? "" : ",", i);
	refuse(longer);
}

static uint64_t interval(const char *name)
{
	return hs_options_heap_interval(&options, name);
}

static void intervals_of_heaps(void)
{
	parse_one(VARIABLE "");
	CHECK_INT(interval("malloc"), 524288);
	CHECK_INT(interval("pool"), 524288);
	parse_one(VARIABLE "pool=4k,none=0");
	CHECK_INT(interval("malloc"), 524288);
	CHECK_INT(interval("pool"), 4096);
	CHECK_INT(interval("poo"), 524288);
	CHECK_INT(interval("pool2"), 524288);
	CHECK_INT(interval("Pool"), 524288);
	CHECK_INT(interval("none"), 0);
	/* The heap's name goes before '*', wherever it is. */
	parse_one(VARIABLE "a=1k,*=2k,b=3k");
	CHECK_INT(interval("a"), 1024);
	CHECK_INT(interval("b"), 3072);
	CHECK_INT(interval("c"), 2048);
	/* malloc is no exception. */
	CHECK_INT(interval("malloc"), 2048);
	parse_one(VARIABLE "*=0,malloc=8");
	CHECK_INT(interval("malloc"), 8);
	CHECK_INT(interval("c"), 0);
	/* A bad value counts as none. */
	parse_one(VARIABLE "a=1k,*=2k,");
	CHECK_INT(interval("a"), 524288);
}

/* By it the size of the ring is chosen; heaps that are excluded do not count. */
static void the_least_interval(void)
{
	parse_one(VARIABLE "");
	CHECK_INT(hs_options_least_interval(&options), 524288);
	parse_one(VARIABLE "a=1m,b=0");
	CHECK_INT(hs_options_least_interval(&options), 524288);
	parse_one(VARIABLE "a=1m,b=0,c=64k,*=4k,d=8k");
	CHECK_INT(hs_options_least_interval(&options), 4096);
	parse_one(VARIABLE "malloc=1");
	CHECK_INT(hs_options_least_interval(&options), 1);
}

static void entries(void)
{
	struct hs_heap_entry entry;
	const char *next = "a=1k,b=0";

	next = hs_options_next_heap(next, &entry);
	CHECK_STR(entry.name, "a");
	CHECK_INT(entry.interval_bytes, 1024);
	next = hs_options_next_heap(next, &entry);
	CHECK_STR(entry.name, "b");
	CHECK_INT(entry.interval_bytes, 0);
	CHECK(hs_options_next_heap(next, &entry) == NULL);
	CHECK(hs_options_next_heap("", &entry) == NULL);
}

int main(void)
{
	RUN(good_values);
	RUN(bad_values);
	RUN(intervals_of_heaps);
	RUN(the_least_interval);
	RUN(entries);
	return CHECK_RESULT();
}
