/* SPDX-License-Identifier: BSD-2-Clause */
/* Demangled names; names that stay as they are; hostile names. */
#include "symbolize/demangle.h"

#include <pthread.h>

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The same as of the profiler's threads. */
#define STACK_BYTES ((size_t)4 << 20)

static char text[HS_DEMANGLED_BYTES];

static void names_are_those_of_the_source(void)
{
	static const char *const cases[][2] = {
		{ "_Znwm", "operator new" },
		{ "_Znam", "operator new[]" },
		{ "_ZN7Service6Handle4openEiPKc", "Service::Handle::open" },
		{ "_Z3fooIiEvT_", "foo<int>" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back" },
		{ "_ZN12_GLOBAL__N_15localEv", "(anonymous namespace)::local" },
		{ "_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()" },
		{ "_ZN1AC2Ev", "A::A" },
		{ "_ZN1AD0Ev", "A::~A" },
		{ "_ZN1AcvbEv", "A::operator bool" },
		{ "_ZN1A1fEv.part.0", "A::f" },
		{ "_ZN1A1fEv@plt", "A::f@plt" },
		/* Rust: legacy, whose hash goes, and v0. */
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
		{ "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt"
		  "17h0123456789abcdefE",
		  "<alloc::string::String as core::fmt::Display>::fmt" },
#ifdef HS_DEMANGLES_RUST_V0
		{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
		{ "_RINvCs1234_7mycrate3fooRlE", "mycrate::foo::<&i32>" },
		{ "_RNvC7mycrateu8gdel_5qa", "mycrate::g\xc3\xb6" "del" },
#endif
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		CHECK_INT(hs_demangle(cases[i][0], text), strlen(cases[i][1]));
		CHECK_STR(text, cases[i][1]);
	}
}

static void others_are_no_mangled_names(void)
{
	static const char *const names[] = { "", "_", "main", "_start", "_Z", "_ZN", "_Zzz", "_R",
					     "_RN", "malloc@plt", "@plt", "Z3foov", "_Z@plt" };

	for (size_t i = 0; i < COUNT(names); i++)
		CHECK_INT(hs_demangle(names[i], text), 0);
}

/* Returns before, so many times middle, and after. */
static char *repeat(const char *before, const char *middle, unsigned times, const char *after)
{
	size_t bytes = strlen(before) + times * strlen(middle) + strlen(after) + 1;
	char *name = malloc(bytes), *end = stpcpy(name, before);

	while (times-- > 0)
		end = stpcpy(end, middle);
	strcpy(end, after);
	return name;
}

static void long_names_are_cut(void)
{
	static char first[HS_DEMANGLED_BYTES];
	static const char ids[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1000] = "_Z1fI1aIiiE";
	size_t length;

	/* S0_ is "a", S1_ a<int, int>, S2_ a<S1_, S1_>, each twice the one before. */
	for (size_t i = 0; i < 30; i++)
		sprintf(name + strlen(name), "S0_IS%c_S%c_E", ids[i + 1], ids[i + 1]);
	strcat(name, "Evv");
	length = hs_demangle(name, text);
	CHECK(length > HS_DEMANGLED_BYTES - 32 && length < HS_DEMANGLED_BYTES);
	CHECK_INT(strlen(text), length);
	CHECK(strncmp(text + length - 11, "...", 3) == 0);
	CHECK(strncmp(text, "f<a<int, int>, a<a<int, int>, a<int, int> >, a<", 46) == 0);
	strcpy(first, text);
	strcat(name, "@plt");
	length = hs_demangle(name, text);
	CHECK(length < HS_DEMANGLED_BYTES);
	CHECK_STR(text + length - 4, "@plt");
	text[length - 4] = '\0';
	CHECK_STR(text, first);
	/* Another function's: its end is not in the text. */
	name[strlen(name) - 5] = 'i';
	hs_demangle(name, text);
	CHECK(strncmp(text, first, strlen(first) - 8) == 0);
	CHECK(strncmp(text, first, strlen(first)) != 0);
}

/* Around the longest text that fits, with and without a mark; and the scope of such a name. */
static void texts_stay_in_their_room(void)
{
	/* S0_ is the x, which the text has five times. */
	static const char *const ends[] = {"S0_S0_S0_S0_Evv", "S0_S0_S0_S0_Evv@plt"};
	static struct {
		char text[HS_DEMANGLED_BYTES], behind[16];
	} room;

	for (unsigned i = 0; i < 22; i++) {
		unsigned bytes = HS_DEMANGLED_BYTES - 10 + i / 2;
		const char *end = ends[i % 2];
		unsigned times = (bytes - strlen("f<, , , , >")) / 5;
		unsigned letters = bytes - 5 * times - strlen("<, , , , >");
		char begin[64], *name, *scope;
		size_t length, fits;

		snprintf(begin, sizeof begin, "_Z%u%.*sI%u", letters, (int)letters, "ffffff",
			 times);
		name = repeat(begin, "x", times, end);
		length = hs_demangle(name, room.text);
		CHECK(length > HS_DEMANGLED_BYTES - 20 && length < HS_DEMANGLED_BYTES);
		end += strlen(ends[0]);
		CHECK(strcmp(room.text + length - strlen(end), end) == 0);
		free(name);
		/* y::xxx::z: the end may leave no room for another part, nor for its "::". */
		snprintf(begin, sizeof begin, "_ZN1y%u", bytes);
		scope = repeat(begin, "x", bytes, "1zE");
		fits = strlen("y::") + bytes;
		if (fits >= HS_DEMANGLED_BYTES)
			fits = strlen("y");
		else if (fits + strlen("::z") < HS_DEMANGLED_BYTES)
			fits += strlen("::z");
		CHECK_INT(hs_demangle_scope(scope, room.text), fits);
		CHECK_INT(strlen(room.text), fits);
		free(scope);
	}
	for (size_t i = 0; i < sizeof room.behind; i++)
		CHECK_INT(room.behind[i], '\0');
}

/* What differs only behind the cut stays apart. */
static void long_linkage_names_are_cut(void)
{
	static const char *const marks[] = {"", "@plt"};
	static char first[HS_DEMANGLED_BYTES];

	for (size_t i = 0; i < 2; i++) {
		char *name = repeat("", "x", HS_DEMANGLED_BYTES - 1, marks[i]);
		const char *fits = name + strlen(marks[i]), *cut;
		size_t end = HS_DEMANGLED_BYTES - 1 - strlen("...01234567") - strlen(marks[i]);

		CHECK(hs_cut_linkage_name(fits, text) == fits);
		free(name);
		name = repeat("", "x", HS_DEMANGLED_BYTES, "");
		CHECK(hs_cut_linkage_name(name, text) == text);
		CHECK_INT(strlen(text), HS_DEMANGLED_BYTES - 1);
		free(name);
		name = repeat("", "x", 10000, marks[i]);
		CHECK(hs_cut_linkage_name(name, text) == text);
		CHECK_INT(strlen(text), HS_DEMANGLED_BYTES - 1);
		CHECK(strncmp(text, name, end) == 0 && strncmp(text + end, "...", 3) == 0);
		CHECK_INT(strspn(text + end + 3, "0123456789abcdef"), 8);
		CHECK_STR(text + end + 11, marks[i]);
		strcpy(first, text);
		name[9999] = 'y';
		cut = hs_cut_linkage_name(name, text);
		CHECK(strncmp(cut, first, end + 3) == 0 && strcmp(cut, first) != 0);
		free(name);
	}
}

/* Wherever the cut falls, there is no part of a character before it. */
static void characters_are_not_cut(void)
{
	static const char ids[] = "0123456789";
	unsigned cuts = 0;

	for (unsigned i = 0; i < 80; i++) {
		unsigned shift = i % 4 + 1, characters = 80 + i / 4;
		char before[32], *name;
		size_t length, at;

		snprintf(before, sizeof before, "_Z%u%.*sI%u", shift, (int)shift, "ffff",
			 4 * characters);
		name = repeat(before, "\xf0\x9f\x98\x80", characters, "IiiE");
		name = realloc(name, strlen(name) + 100);
		for (size_t j = 0; j < 5; j++)
			sprintf(name + strlen(name), "S0_IS%c_S%c_E", ids[j + 1], ids[j + 1]);
		strcat(name, "Evv");
		length = hs_demangle(name, text);
		at = length - 8 - 3;
		CHECK(strncmp(text + at, "...", 3) == 0);
		for (size_t start = at; start > at - 4; start--)
			cuts += text[start - 1] == '\xf0' && at - start + 1 < 4;
		free(name);
	}
	CHECK_INT(cuts, 0);
}

static void names_begin_with_a_scope(void)
{
	static const struct {
		const char *name, *scope;
	} cases[] = {
		{"_ZN5vault4keepEv", "vault::keep"},
		{"_ZNK5vault3boxIiE3putEi", "vault::box"},
		{"_Z4keepi", "keep"},
		{"_ZNSt6vectorIiE4growEv", "std::vector"},
		{"_ZN5vault99keepEv", "vault"},
		{"_ZN", ""},
		{"_Z", ""},
		{"_ZN99999999999999999999a", ""},
		{"_RNvC5vault4keep", ""},
		{"keep", ""},
	};
	char *longest = repeat("_ZN", "5vault", 2000, "E");

	for (size_t i = 0; i < COUNT(cases); i++) {
		text[0] = '\0';
		CHECK_INT(hs_demangle_scope(cases[i].name, text), strlen(cases[i].scope));
		CHECK_STR(text, cases[i].scope);
	}
	/* Not more than there is room for. */
	CHECK(hs_demangle_scope(longest, text) < HS_DEMANGLED_BYTES);
	free(longest);
}

/* Checks only that the calls end, on a stack like the profiler's. */
static void *demangle_hostile(void *unused)
{
	static const char *const middles[] = { "P", "R", "F", "T_", "I", "N", "1a", "1aI", "RT_",
					       "PFv", "S_", "ng", "Dp", "XL", "cv", "B_", "K" };
	static const char *const before[] = { "_Z1fI", "_ZN", "_Z", "_Z1fIX", "_R", "_RINvC1a1b" };
	static const unsigned times[] = { 10, 100, 300, 500, 900, 5000, 100000 };

	for (size_t i = 0; i < COUNT(middles) * COUNT(before) * COUNT(times); i++) {
		char *name = repeat(before[i / COUNT(middles) % COUNT(before)],
				    middles[i % COUNT(middles)],
				    times[i / COUNT(middles) / COUNT(before)], "iEEvv");
		size_t length = hs_demangle(name, text);

		CHECK(length < HS_DEMANGLED_BYTES && (length == 0 || strlen(text) == length));
		free(name);
	}
	return unused;
}

static void *demangle_random(void *unused)
{
	static const char *const parts[] = { "1a", "I", "E", "N", "S_", "S0_", "T_", "R", "P", "F",
					     "v", "i", "X", "L", "J", "Dp", "cl", "ng", "St", "K",
					     "O", "B_", "1", "_", "u", "C", "Dt", "sr", "Ul", "Z" };
	char name[1100];

	srand(5);
	for (unsigned run = 0; run < 200000; run++) {
		unsigned count = 1 + (unsigned)rand() % (run % 10 == 0 ? 400 : 40);
		size_t length;

		strcpy(name, run % 4 == 0 ? "_R" : "_Z1fI");
		while (count-- > 0)
			strcat(name, parts[(size_t)rand() % COUNT(parts)]);
		length = hs_demangle(name, text);
		CHECK(length < HS_DEMANGLED_BYTES && (length == 0 || strlen(text) == length));
	}
	return unused;
}

static void run_on_small_stack(void *(*function)(void *unused))
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	CHECK_INT(pthread_create(&thread, &attributes, function, NULL), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attributes);
}

static void hostile_names_end(void)
{
	run_on_small_stack(demangle_hostile);
}

static void random_names_end(void)
{
#ifndef HS_DEMANGLES_RUST_V0
	if (CHECK_RESULT() == 0)
		SKIP("random names: libiberty before 2022 does not end with some");
#endif
	run_on_small_stack(demangle_random);
}

int main(void)
{
	RUN(names_are_those_of_the_source);
	RUN(others_are_no_mangled_names);
	RUN(long_names_are_cut);
	RUN(texts_stay_in_their_room);
	RUN(long_linkage_names_are_cut);
	RUN(characters_are_not_cut);
	RUN(names_begin_with_a_scope);
	RUN(hostile_names_end);
	RUN(random_names_end);
	return CHECK_RESULT();
}
