/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats that are understood give the text of snprintf(3); nothing is written past the end. */
#include <limits.h>
#include <stdint.h>

#include "base/format.h"
#include "check.h"

#define SAME_AS_PRINTF(...)                                                                        \
	do {                                                                                       \
		char got_text[256], want_text[256];                                                \
		size_t got_length = hs_format(got_text, sizeof got_text, __VA_ARGS__);             \
		int want_length = snprintf(want_text, sizeof want_text, __VA_ARGS__);              \
		CHECK_STR(got_text, want_text);                                                    \
		CHECK_INT(got_length, want_length);                                                \
	} while (0)

static void test_plain_text(void)
{
	SAME_AS_PRINTF("%s", "");
	SAME_AS_PRINTF("abc");
	SAME_AS_PRINTF("100%%");
	SAME_AS_PRINTF("%s and %s%c", "one", "two", '!');
}

static void test_signed_numbers(void)
{
	SAME_AS_PRINTF("%d %d %d %d", 0, -1, INT_MAX, INT_MIN);
	SAME_AS_PRINTF("%i %i", 7, -70);
	SAME_AS_PRINTF("%ld %ld", LONG_MAX, LONG_MIN);
	SAME_AS_PRINTF("%lld %lld", LLONG_MAX, LLONG_MIN);
	SAME_AS_PRINTF("%zd", (ssize_t)-5);
}

static void test_unsigned_numbers(void)
{
	SAME_AS_PRINTF("%u %u", 0u, UINT_MAX);
	SAME_AS_PRINTF("%lu %llu %zu", ULONG_MAX, ULLONG_MAX, SIZE_MAX);
	SAME_AS_PRINTF("%x %x %lx %llx %zx", 0u, 0xdeadbeefu, 0x123456789abcdefuL, ~0uLL, SIZE_MAX);
	SAME_AS_PRINTF("%x", -1);
	SAME_AS_PRINTF("%p", (void *)0x7f001234);
}

static void test_zero_width(void)
{
	SAME_AS_PRINTF("%04u %04u %04u", 7u, 1234u, 123456u);
	SAME_AS_PRINTF("%04d %04d %02d", -7, -1234, -5);
	SAME_AS_PRINTF("%016lx %08x", 0xabcuL, 0xfu);
	SAME_AS_PRINTF("%099u", 1u);
	SAME_AS_PRINTF("%010zu", (size_t)5);
}

static void test_null_pointers(void)
{
	char text[32];
	const char *volatile nothing = NULL;

	hs_format(text, sizeof text, "%s", nothing);
	CHECK_STR(text, "(null)");
	hs_format(text, sizeof text, "%p", (void *)NULL);
	CHECK_STR(text, "0x0");
}

/* Through hs_vformat(): it has no attribute by which the compiler would refuse these. */
static void check_unknown(const char *format, ...)
{
	char text[64];
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	length = hs_vformat(text, sizeof text, format, arguments);
	va_end(arguments);
	CHECK_STR(text, format);
	CHECK_INT(length, strlen(format));
}

static void test_unknown_conversions_stand_as_they_are(void)
{
	check_unknown("%");
	check_unknown("a%");
	check_unknown("%5d");
	check_unknown("%-5d");
	check_unknown("%.3s");
	check_unknown("%f");
	check_unknown("%hu");
	check_unknown("%ls");
	check_unknown("%04s");
	check_unknown("%0d");
	check_unknown("%0100u");
	check_unknown("%llld");
	check_unknown("%zzu");
	check_unknown("%lzu");
	check_unknown("%l");
	check_unknown("%04");
	check_unknown("%n");
}

static void test_cut_at_capacity(void)
{
	char text[16];

	for (size_t capacity = 1; capacity <= 12; capacity++) {
		char want[16];

		memset(text, '#', sizeof text);
		snprintf(want, capacity, "ab%05dcd%s", -12, "ef");
		CHECK_INT(hs_format(text, capacity, "ab%05dcd%s", -12, "ef"), strlen(want));
		CHECK_STR(text, want);
		for (size_t i = capacity; i < sizeof text; i++)
			CHECK_INT(text[i], '#');
	}
}

static void test_many_arguments(void)
{
	SAME_AS_PRINTF("%d %s %lu %c %x %zu %d %s %lld %u", 1, "two", 3uL, '4', 5u, (size_t)6, 7,
		       "eight", 9LL, 10u);
}

int main(void)
{
	RUN(test_plain_text);
	RUN(test_signed_numbers);
	RUN(test_unsigned_numbers);
	RUN(test_zero_width);
	RUN(test_null_pointers);
	RUN(test_unknown_conversions_stand_as_they_are);
	RUN(test_cut_at_capacity);
	RUN(test_many_arguments);
	return CHECK_RESULT();
}
