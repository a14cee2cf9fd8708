/* SPDX-License-Identifier: BSD-2-Clause */
/* See utf8.h. */
#include "base/utf8.h"

#include <stdbool.h>

static bool is_continuation(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

/*
 * None is a stray or missing continuation, longer than needed, a surrogate, or past U+10FFFF
 * (The Unicode Standard, table 3-7).  The NUL at the end keeps reads from passing it.
 */
size_t hs_utf8_character_bytes(const char *string)
{
	const unsigned char *text = (const unsigned char *)string;
	unsigned char first = text[0];
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	size_t bytes;

	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	if (first == 0xe0)
		low = 0xa0;
	if (first == 0xed)
		high = 0x9f;
	if (first == 0xf0)
		low = 0x90;
	if (first == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	for (size_t i = 2; i < bytes; i++) {
		if (!is_continuation(text[i]))
			return 0;
	}
	return bytes;
}

size_t hs_utf8_fitting_bytes(const char *text, size_t most)
{
	size_t length = 0;

	while (text[length] != '\0') {
		size_t bytes = hs_utf8_character_bytes(text + length);

		if (bytes == 0)
			bytes = 1;
		if (bytes > most - length)
			break;
		length += bytes;
	}
	return length;
}

void hs_utf8_escape_byte(char *out, unsigned char byte)
{
	static const char digits[] = "0123456789ABCDEF";

	out[0] = '%';
	out[1] = digits[byte >> 4];
	out[2] = digits[byte & 15];
}
