/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text formatting.  See format.h for the contract.  Runs on any thread.
 */
#include "base/format.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* 2^64 has 20 decimal digits. */
#define DIGITS_MAX 20

/* Where the text goes (the byte at end is kept for the NUL), and what is still to be put there. */
struct writer {
	char *next;
	char *end;
	va_list arguments;
};

/* One conversion: %[0WIDTH][l|ll|z]LETTER. */
struct conversion {
	unsigned width;  /* least digits, filled with zeros; at most 99 */
	unsigned longs;  /* how many l */
	bool is_size;    /* z */
	char letter;
};

static void put_char(struct writer *out, char c)
{
	if (out->next < out->end)
		*out->next++ = c;
}

static void put_text(struct writer *out, const char *text)
{
	if (text == NULL)
		text = "(null)";
	while (*text != '\0' && out->next < out->end)
		*out->next++ = *text++;
}

/* width counts the minus sign, as with printf. */
static void put_number(struct writer *out, uint64_t value, bool negative, unsigned base,
		       unsigned width)
{
	char digits[DIGITS_MAX];
	unsigned count = 0;

	do {
		digits[count++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value != 0);
	if (negative)
		put_char(out, '-');
	for (unsigned filled = count + negative; filled < width; filled++)
		put_char(out, '0');
	while (count > 0)
		put_char(out, digits[--count]);
}

/* Returns the end of the conversion that starts after '%', or NULL if it is none of ours. */
static const char *parse_conversion(const char *text, struct conversion *conversion)
{
	const char *letter = text;
	bool modified;

	*conversion = (struct conversion){ 0 };
	if (*letter == '0') {
		for (letter++; *letter >= '0' && *letter <= '9' && letter - text <= 2; letter++)
			conversion->width = conversion->width * 10 + (unsigned)(*letter - '0');
		if (conversion->width == 0)
			return NULL;
	}
	for (; *letter == 'l' && conversion->longs < 2; letter++)
		conversion->longs++;
	if (*letter == 'z' && conversion->longs == 0) {
		conversion->is_size = true;
		letter++;
	}
	modified = letter != text;
	conversion->letter = *letter;
	switch (*letter) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
		return letter + 1;
	case 's':
	case 'c':
	case 'p':
	case '%':
		return modified ? NULL : letter + 1;
	default:
		return NULL;
	}
}

static int64_t take_signed(struct writer *out, const struct conversion *conversion)
{
	if (conversion->is_size)
		return va_arg(out->arguments, ssize_t);
	if (conversion->longs == 0)
		return va_arg(out->arguments, int);
	return conversion->longs == 1 ? va_arg(out->arguments, long)
				      : va_arg(out->arguments, long long);
}

static uint64_t take_unsigned(struct writer *out, const struct conversion *conversion)
{
	if (conversion->is_size)
		return va_arg(out->arguments, size_t);
	if (conversion->longs == 0)
		return va_arg(out->arguments, unsigned);
	return conversion->longs == 1 ? va_arg(out->arguments, unsigned long)
				      : va_arg(out->arguments, unsigned long long);
}

static void put_conversion(struct writer *out, const struct conversion *conversion)
{
	int64_t number;

	switch (conversion->letter) {
	case '%':
		put_char(out, '%');
		break;
	case 's':
		put_text(out, va_arg(out->arguments, const char *));
		break;
	case 'c':
		put_char(out, (char)va_arg(out->arguments, int));
		break;
	case 'p':
		put_text(out, "0x");
		put_number(out, (uintptr_t)va_arg(out->arguments, void *), false, 16, 0);
		break;
	case 'd':
	case 'i':
		number = take_signed(out, conversion);
		put_number(out, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, number < 0,
			   10, conversion->width);
		break;
	default:
		put_number(out, take_unsigned(out, conversion), false,
			   conversion->letter == 'x' ? 16 : 10, conversion->width);
	}
}

size_t hs_vformat(char *buffer, size_t capacity, const char *format, va_list arguments)
{
	struct writer out = {.next = buffer, .end = buffer + capacity - 1};
	struct conversion conversion;

	va_copy(out.arguments, arguments);
	while (*format != '\0') {
		const char *end = *format == '%' ? parse_conversion(format + 1, &conversion) : NULL;

		if (end != NULL) {
			put_conversion(&out, &conversion);
			format = end;
		} else {
			put_char(&out, *format++);
		}
	}
	va_end(out.arguments);
	*out.next = '\0';
	return (size_t)(out.next - buffer);
}

size_t hs_format(char *buffer, size_t capacity, const char *format, ...)
{
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	length = hs_vformat(buffer, capacity, format, arguments);
	va_end(arguments);
	return length;
}
