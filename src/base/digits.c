/* SPDX-License-Identifier: BSD-2-Clause */
/* See digits.h. */
#include "base/digits.h"

#include <stddef.h>
#include <string.h>

/* 16: it is no digit. */
static unsigned digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 16;
}

const char *hs_parse_digits(const char *text, const char *end, unsigned base, uint64_t *value)
{
	const char *next = text;

	for (*value = 0; next != end && digit_of(*next) < base; next++) {
		if (__builtin_mul_overflow(*value, base, value) ||
		    __builtin_add_overflow(*value, digit_of(*next), value))
			return NULL;
	}
	return next == text ? NULL : next;
}

uint64_t hs_parse_value(const char *text, const char *key)
{
	uint64_t value;

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		line += strlen(key);
		line += strspn(line, " \t");
		return hs_parse_digits(line, NULL, 10, &value) != NULL ? value : 0;
	}
	return 0;
}
