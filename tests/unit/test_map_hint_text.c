/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of map hints: what is understood, and which part is reported as wrong. */
#include "maps/map_hint_text.h"

#include "check.h"

#define NUMBER "a number, decimal or hexadecimal after 0x"
#define LENGTH "1 to 4294967296 bytes"

static bool parse(const char *text, struct hs_map_hint *hint, struct hs_map_hint_problem *problem)
{
	struct hs_map_hint_list list;
	struct hs_map_hint_item item;

	hs_map_hint_list_begin(&list, text);
	CHECK(hs_map_hint_list_next(&list, &item));
	return hs_map_hint_parse(&item, hint, problem);
}

static void good(const char *text, const char *path, uint64_t pid, uint64_t start, uint64_t length,
		 uint64_t offset)
{
	struct hs_map_hint_problem problem;
	struct hs_map_hint hint;
	char got[256];

	CHECK(parse(text, &hint, &problem));
	snprintf(got, sizeof got, "%.*s", (int)hint.path_bytes, hint.path);
	CHECK_STR(got, path);
	CHECK_INT(hint.pid, pid);
	CHECK_INT(hint.start, start);
	CHECK_INT(hint.length, length);
	CHECK_INT(hint.offset, offset);
}

static void bad(const char *text, const char *part, const char *part_text, const char *expected)
{
	struct hs_map_hint_problem problem = {.part = "none"};
	struct hs_map_hint hint;
	char got[256];

	if (parse(text, &hint, &problem))
		fprintf(stderr, "'%s' is taken for a hint\n", text);
	CHECK_STR(problem.part, part);
	snprintf(got, sizeof got, "%.*s", (int)problem.text_bytes, problem.text);
	CHECK_STR(got, part_text);
	CHECK_STR(problem.expected, expected);
}

static void test_good(void)
{
	good("./libtesta.o@257,0x7f864c0000,0x60,0", "./libtesta.o", 257, 0x7f864c0000, 0x60, 0);
	good("a.so,0x1000,0x60", "a.so", 0, 0x1000, 0x60, 0);
	good("a.so,4096,96,64", "a.so", 0, 4096, 96, 64);
	good("a.so,0XaB,0x00CD,0xFfff", "a.so", 0, 0xab, 0xcd, 0xffff);
	good("a,0,1", "a", 0, 0, 1, 0);
	good("  a b ,1,2,3\t\r", "a b ", 0, 1, 2, 3);
	good("a,0xfffffffffffffffe,1", "a", 0, UINT64_MAX - 1, 1, 0);
	good("a,1,4294967296", "a", 0, 1, (uint64_t)1 << 32, 0);
	good("a,1,1,0x7ffffffffffffffe", "a", 0, 1, 1, INT64_MAX - 1);
	good("a@2147483647,1,1", "a", INT32_MAX, 1, 1, 0);
}

/* The path ends at the last "@digits,"; if there is none, at the first comma. */
static void test_path(void)
{
	good("a,b@c,1.so@12,3,4", "a,b@c,1.so", 12, 3, 4, 0);
	good("a@b.so,3,4", "a@b.so", 0, 3, 4, 0);
	good("a@1@2,3,4", "a@1", 2, 3, 4, 0);
	good("a@1.so,3,4", "a@1.so", 0, 3, 4, 0);
	bad("a,b.so,3,4", "start", "b.so", NUMBER);
}

static void test_bad(void)
{
	bad("@12,3,4", "objfile", "", "the name of a file");
	bad(",3,4", "objfile", "", "the name of a file");
	bad("a@0,3,4", "pid", "0", "a process id");
	bad("a@2147483648,3,4", "pid", "2147483648", "a process id");
	bad("a@99999999999999999999,3,4", "pid", "99999999999999999999", "a process id");
	bad("a", "start", "", NUMBER);
	bad("a,", "start", "", NUMBER);
	bad("a@1,", "start", "", NUMBER);
	bad("a,x,4", "start", "x", NUMBER);
	bad("a,-3,4", "start", "-3", NUMBER);
	bad("a, 3,4", "start", " 3", NUMBER);
	bad("a,12q,4", "start", "12q", NUMBER);
	bad("a,7f86,4", "start", "7f86", NUMBER);
	bad("a,0x,4", "start", "0x", NUMBER);
	bad("a,0x10000000000000000,4", "start", "0x10000000000000000", NUMBER);
	bad("a,3", "length", "", NUMBER);
	bad("a,3,", "length", "", NUMBER);
	bad("a,3,x", "length", "x", NUMBER);
	bad("a,3,0", "length", "0", LENGTH);
	bad("a,3,0x0,5", "length", "0x0", LENGTH);
	bad("a,3,0x100000001", "length", "0x100000001", LENGTH);
	bad("a,0xffffffffffffffff,1", "length", "1", "a range that ends below 2^64");
	bad("a,0xfffffffffffff000,0x1000", "length", "0x1000", "a range that ends below 2^64");
	bad("a,3,4,", "offset", "", NUMBER);
	bad("a,3,4,x", "offset", "x", NUMBER);
	bad("a,3,4,5,6", "offset", "5,6", NUMBER);
	bad("a,3,4,0x7ffffffffffffffc", "offset", "0x7ffffffffffffffc",
	    "an end in the file below 2^63");
}

static void test_list(void)
{
	static const char text[] = " ;; a,1,2 ;\t b\r\n\n# c;d\n  #e\n;f;;#g\n h#h\t # i;j\n#k";
	static const struct {
		const char *text;
		unsigned line;
	} want[] = {{"a,1,2", 1}, {"b", 1}, {"f", 5}, {"h#h", 6}};
	struct hs_map_hint_list list;
	struct hs_map_hint_item item;
	char got[32];

	hs_map_hint_list_begin(&list, text);
	for (unsigned i = 0; i < sizeof want / sizeof want[0]; i++) {
		CHECK(hs_map_hint_list_next(&list, &item));
		snprintf(got, sizeof got, "%.*s", (int)item.bytes, item.text);
		CHECK_STR(got, want[i].text);
		CHECK_INT(item.line, want[i].line);
		CHECK_INT(item.number, i + 1);
	}
	CHECK(!hs_map_hint_list_next(&list, &item));
	CHECK(!hs_map_hint_list_next(&list, &item));
	hs_map_hint_list_begin(&list, "");
	CHECK(!hs_map_hint_list_next(&list, &item));
}

int main(void)
{
	RUN(test_good);
	RUN(test_path);
	RUN(test_bad);
	RUN(test_list);
	return CHECK_RESULT();
}
