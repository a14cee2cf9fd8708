/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of generated code: which code is where, and its name. */
#include "symbolize/jit_map.h"

#include <errno.h>
#include <stdint.h>

#include "base/arena.h"
#include "check.h"
#include "symbolize/jit_name.h"

#define MIB ((size_t)1 << 20)

static struct hs_jit_map map;

static int add(uint64_t start, uint64_t end, const char *text, uint32_t object)
{
	return hs_jit_map_add(&map, start, end, text, strlen(text), object);
}

/* "" = none. */
static const char *name_at(uint64_t address)
{
	struct hs_jit_name name;
	uint32_t object = UINT32_MAX, number = hs_jit_map_find(&map, address, &object);

	if (number == 0)
		return "";
	hs_jit_map_name(&map, number, &name);
	return name.system_name;
}

static uint32_t number_at(uint64_t address)
{
	uint32_t object;

	return hs_jit_map_find(&map, address, &object);
}

static bool is_object(const void *context, uint32_t object)
{
	return object == *(const uint32_t *)context;
}

static void remove_object(uint32_t object)
{
	hs_jit_map_remove(&map, is_object, &object);
}

static void begin(void)
{
	CHECK_INT(hs_jit_map_init(&map, MIB), 0);
}

static void end(void)
{
	hs_jit_map_fini(&map);
	CHECK_INT(hs_arena_used(), 0);
}

/* expected: "NAME|FILE|LINE" */
static void check_split(const char *text, const char *expected)
{
	struct hs_jit_name_parts parts;
	char got[512];

	hs_jit_name_split(text, &parts);
	snprintf(got, sizeof got, "%.*s|%.*s|%u", (int)parts.name_bytes, parts.name,
		 (int)parts.file_bytes, parts.file_bytes > 0 ? parts.file : "", parts.start_line);
	CHECK_STR(got, expected);
}

static void names_have_files_and_lines(void)
{
	check_split("JS:*foo /srv/a.js:12:3", "foo|/srv/a.js|12");
	check_split("JS:~foo /srv/a.js:12:3", "foo|/srv/a.js|12");
	check_split("JS:^foo /srv/a.js:12:3", "foo|/srv/a.js|12");
	check_split("JS:+foo /srv/a.js:12:3", "foo|/srv/a.js|12");
	check_split("JS:foo /srv/a.js:12:3", "foo|/srv/a.js|12");
	check_split("JS:o+foo /srv/a.js:12:3", "foo|/srv/a.js|12");
	check_split("JS:o*foo /srv/a.js:12:3", "foo|/srv/a.js|12");
	check_split("JS:+'foo /srv/a.js:12:3", "foo|/srv/a.js|12");
	check_split("JS:*'foo /srv/a.js:12:3", "foo|/srv/a.js|12");
	check_split("JS:o*' /srv/a.js:12:3", "(anonymous)|/srv/a.js|12");
	check_split("JS:o /srv/a.js:12:3", "o|/srv/a.js|12");
	check_split("JS:*o /srv/a.js:12:3", "o|/srv/a.js|12");
	check_split("JS:o+o /srv/a.js:12:3", "o|/srv/a.js|12");
	check_split("JS:other /srv/a.js:12:3", "other|/srv/a.js|12");
	check_split("JS:~o+ /srv/a.js:12:3", "o+|/srv/a.js|12");
	check_split("JS:~'quoted' /srv/a.js:12:3", "'quoted'|/srv/a.js|12");
	check_split("LazyCompile:~foo /a/b.js:12", "foo|/a/b.js|12");
	check_split("Function:*foo /a/b.js:1", "foo|/a/b.js|1");
	check_split("JS:~ /srv/a.js:12:3", "(anonymous)|/srv/a.js|12");
	check_split("Script:~ /srv/a.js:1:1", "(anonymous)|/srv/a.js|1");
	check_split("Eval:~ node:internal/url:1:1", "(anonymous)|node:internal/url|1");
	check_split("JS:*foo file:///srv/a.mjs:7:1", "foo|/srv/a.mjs|7");
	check_split("JS:~get size /srv/my files/a.js:7:1", "get size|/srv/my files/a.js|7");
	check_split("JS:~#private a.js:7:1", "#private|a.js|7");
	check_split("JS:*foo wasm://wasm/1234:7:1", "foo|wasm://wasm/1234|7");
	check_split("py::Router.resolve:/srv/app/router.py", "Router.resolve|/srv/app/router.py|0");
	check_split("py::<module>:<string>", "<module>|<string>|0");
}

static void other_names_stay_as_they_are(void)
{
	static const char *const names[] = {
		"foo",
		"Builtin:ArrayPush",
		"RegExp:a b:1:2",
		"JS:*foo",
		"JS:",
		"JS:* ",
		"JS:*foo ",
		"JS:*foo /srv/a.js",
		"JS:*foo /srv/a.js:",
		"JS:*foo /srv/a.js:x",
		"JS:*foo /srv/a.js:1234567890",
		"py::",
		"py::foo",
		"py::foo:",
		"py:::/a.py",
		"[String] ArrayList::get(int) [Tier 1]",
		"LJava/lang/String;::hashCode",
	};
	char expected[128];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(expected, sizeof expected, "%s||0", names[i]);
		check_split(names[i], expected);
	}
}

static void an_address_in_code_has_its_name(void)
{
	struct hs_jit_name name;
	uint32_t object = 99;

	begin();
	CHECK_STR(name_at(0x1000), "");
	CHECK_INT(add(0x1000, 0x1100, "JS:*foo /srv/a.js:12:3", HS_JIT_PERF_MAP), 0);
	CHECK_INT(add(0x1200, 0x1300, "bar", 7), 0);
	hs_jit_map_name(&map, hs_jit_map_find(&map, 0x10ff, &object), &name);
	CHECK_INT(object, HS_JIT_PERF_MAP);
	CHECK_STR(name.name, "foo");
	CHECK_STR(name.system_name, "JS:*foo /srv/a.js:12:3");
	CHECK_STR(name.file, "/srv/a.js");
	CHECK_INT(name.start_line, 12);
	hs_jit_map_name(&map, hs_jit_map_find(&map, 0x1200, &object), &name);
	CHECK_INT(object, 7);
	CHECK_STR(name.name, "bar");
	CHECK_STR(name.file, "");
	CHECK_INT(add(0x1400, 0x1500, "_ZN5query4nextEv", 7), 0);
	hs_jit_map_name(&map, hs_jit_map_find(&map, 0x1400, &object), &name);
	CHECK_STR(name.name, "query::next");
	CHECK_STR(name.system_name, "_ZN5query4nextEv");
	CHECK_INT(name.start_line, 0);
	CHECK_STR(name_at(0xfff), "");
	CHECK_STR(name_at(0x1100), "");
	CHECK_STR(name_at(0x11ff), "");
	CHECK_STR(name_at(0x1300), "");
	end();
}

static void new_code_takes_the_place_of_all_that_it_overlaps(void)
{
	struct hs_jit_name name;
	uint32_t old;

	begin();
	CHECK_INT(add(0x1000, 0x1100, "left", 0), 0);
	CHECK_INT(add(0x1100, 0x1200, "middle", 0), 0);
	CHECK_INT(add(0x1200, 0x1300, "right", 0), 0);
	old = number_at(0x1010);
	CHECK_INT(add(0x10f0, 0x1201, "new", 0), 0);
	CHECK_STR(name_at(0x1010), ""); /* no part of a function is left */
	CHECK_STR(name_at(0x10f0), "new");
	CHECK_STR(name_at(0x1200), "new");
	CHECK_STR(name_at(0x1280), "");
	hs_jit_map_name(&map, old, &name); /* of samples taken before */
	CHECK_STR(name.name, "left");
	CHECK_INT(add(0x1180, 0x1190, "inner", 0), 0);
	CHECK_STR(name_at(0x10f0), "");
	CHECK_STR(name_at(0x1180), "inner");
	end();
}

static void moved_code_is_there_twice_until_its_place_is_taken(void)
{
	uint32_t foo;

	begin();
	CHECK_INT(add(0x1000, 0x1100, "foo", 0), 0);
	foo = number_at(0x1000);
	CHECK_INT(add(0x2000, 0x2100, "bar", 0), 0);
	CHECK_INT(add(0x2080, 0x2180, "foo", 0), 0); /* onto live code */
	CHECK_STR(name_at(0x2000), "");
	CHECK_INT(number_at(0x2080), foo);
	CHECK_INT(number_at(0x1000), foo);
	CHECK_INT(add(0x1000, 0x1100, "other", 0), 0);
	CHECK_STR(name_at(0x1000), "other");
	CHECK_INT(add(0x1000, 0x1100, "foo", 0), 0);
	CHECK_INT(number_at(0x1000), foo); /* and back: the same as the first time */
	end();
}

static void what_was_read_last_is_right(void)
{
	begin();
	CHECK_INT(add(0x1000, 0x1100, "perf's", HS_JIT_PERF_MAP), 0);
	CHECK_INT(add(0x1000, 0x1100, "gdb's", 3), 0);
	CHECK_STR(name_at(0x1000), "gdb's");
	CHECK_INT(add(0x1000, 0x1100, "perf's", HS_JIT_PERF_MAP), 0);
	CHECK_STR(name_at(0x1000), "perf's");
	remove_object(3); /* has nothing any more */
	CHECK_STR(name_at(0x1000), "perf's");
	end();
}

static void an_object_is_forgotten_as_a_whole(void)
{
	begin();
	for (uint64_t i = 0; i < 100; i++)
		CHECK_INT(add(i << 8, (i << 8) + 0x80, "code", (uint32_t)(i % 3)), 0);
	remove_object(1);
	for (uint64_t i = 0; i < 100; i++)
		CHECK_STR(name_at((i << 8) + 0x7f), i % 3 == 1 ? "" : "code");
	end();
}

/* The same code, or other code at its place, stays when the object that it was of is forgotten. */
static void code_is_of_the_object_that_came_last(void)
{
	begin();
	CHECK_INT(add(0x1000, 0x1100, "a", 1), 0);
	CHECK_INT(add(0x1000, 0x1100, "a", 2), 0);
	CHECK_INT(add(0x2000, 0x2100, "b", 1), 0);
	CHECK_INT(add(0x2100, 0x2200, "c", 1), 0);
	CHECK_INT(add(0x2000, 0x2200, "d", 2), 0);
	remove_object(1);
	CHECK_STR(name_at(0x1000), "a");
	CHECK_STR(name_at(0x2000), "d");
	CHECK_STR(name_at(0x2180), "d");
	/* Of another length. */
	CHECK_INT(add(0x2000, 0x2300, "d", 2), 0);
	CHECK_STR(name_at(0x2280), "d");
	end();
}

static void absurd_ranges_are_refused(void)
{
	begin();
	CHECK_INT(add(0x1000, 0x1000, "empty", 0), -EINVAL);
	CHECK_INT(add(0x1000, 0xfff, "backwards", 0), -EINVAL);
	CHECK_INT(add(0x1000, 0x1001 + HS_JIT_MAX_BYTES, "too large", 0), -EINVAL);
	CHECK_INT(add(0x1000, 0x1010, "", 0), -EINVAL);
	CHECK_INT(add(0x1000, 0x1000 + HS_JIT_MAX_BYTES, "large", 0), 0);
	CHECK_INT(add(UINT64_MAX - 16, UINT64_MAX, "high", 0), 0);
	CHECK_STR(name_at(UINT64_MAX - 1), "high");
	end();
}

/* Code whose name nobody has asked for leaves nothing behind. */
static void memory_is_that_of_what_is_there(void)
{
	size_t used = 0;
	char text[32];

	begin();
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(text, sizeof text, "function %05u", i);
		CHECK_INT(add(0x1000 + i % 64 * 16, 0x1010 + i % 64 * 16, text, 0), 0);
		if (i == 1000)
			used = hs_arena_used();
	}
	CHECK_INT(hs_arena_used(), used);
	CHECK_STR(name_at(0x1000 + 99999 % 64 * 16), "function 99999");
	end();
}

static void code_without_room_is_unknown_rather_than_wrong(void)
{
	char text[1000];
	uint64_t i;

	begin();
	memset(text, 'x', sizeof text);
	for (i = 0; hs_jit_map_add(&map, i << 8, (i << 8) + 0x80, text, sizeof text, 0) == 0; i++) {
		if (i == MIB)
			break;
	}
	CHECK(i > 500 && i < MIB / 1000);
	CHECK(map.bytes <= MIB);
	CHECK_STR(name_at(i << 8), "");
	CHECK_INT(number_at(0x80), 0);
	CHECK(number_at(0x7f) != 0);
	CHECK_INT(add(0x0, 0x80, "short", 0), 0); /* the old one's room */
	CHECK_STR(name_at(0x7f), "short");
	CHECK_INT(hs_jit_map_add(&map, i << 8, (i << 8) + 0x80, text, 800, 0), 0);
	CHECK_INT(hs_jit_map_add(&map, 0x0, 0x80, text, sizeof text, 0), -ENOMEM);
	CHECK_STR(name_at(0x7f), "");
	end();
}

/* Each allocation in turn fails; what was there before is as before, or gone. */
static void works_on_after_an_allocation_failed(void)
{
	size_t extra = 0, used = hs_arena_used();
	int error = -ENOMEM;
	uint32_t object;

	begin();
	used = hs_arena_used();
	while (error != 0 && extra < MIB) {
		hs_arena_set_budget(used + extra);
		error = add(0x1000, 0x1100, "JS:*foo /srv/a.js:12:3", 0);
		CHECK(error == 0 || error == -ENOMEM);
		extra += 16;
	}
	CHECK(extra > 16 && extra < MIB);
	used = hs_arena_used();
	for (extra = 0; hs_jit_map_find(&map, 0x1000, &object) == 0 && extra < MIB; extra += 16)
		hs_arena_set_budget(used + extra);
	CHECK(extra > 16 && extra < MIB);
	CHECK_STR(name_at(0x1000), "JS:*foo /srv/a.js:12:3");
	hs_arena_set_budget(64 * MIB);
	end();
}

int main(void)
{
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	RUN(names_have_files_and_lines);
	RUN(other_names_stay_as_they_are);
	RUN(an_address_in_code_has_its_name);
	RUN(new_code_takes_the_place_of_all_that_it_overlaps);
	RUN(moved_code_is_there_twice_until_its_place_is_taken);
	RUN(what_was_read_last_is_right);
	RUN(an_object_is_forgotten_as_a_whole);
	RUN(code_is_of_the_object_that_came_last);
	RUN(absurd_ranges_are_refused);
	RUN(memory_is_that_of_what_is_there);
	RUN(code_without_room_is_unknown_rather_than_wrong);
	RUN(works_on_after_an_allocation_failed);
	return CHECK_RESULT();
}
