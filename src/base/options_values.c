/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parsers and printers of the options' values; signals are in options_signal.c.
 * Runs during start-up, single-threaded.
 */
#include "base/options_table.h"

#include <string.h>

#include "base/digits.h"
#include "base/format.h"
#include "base/options.h"

/* Both of the profiler's threads, all the time. */
#define MAX_CPU_PERCENT 200

void hs_option_store(const struct hs_option *option, void *field, uint64_t value)
{
	uint8_t byte = (uint8_t)value;
	uint32_t word = (uint32_t)value;

	if (option->field_bytes == sizeof byte)
		memcpy(field, &byte, sizeof byte);
	else if (option->field_bytes == sizeof word)
		memcpy(field, &word, sizeof word);
	else
		memcpy(field, &value, sizeof value);
}

uint64_t hs_option_load(const struct hs_option *option, const void *field)
{
	uint8_t byte = 0;
	uint32_t word = 0;
	uint64_t value = 0;

	if (option->field_bytes == sizeof byte) {
		memcpy(&byte, field, sizeof byte);
		return byte;
	}
	if (option->field_bytes == sizeof word) {
		memcpy(&word, field, sizeof word);
		return word;
	}
	memcpy(&value, field, sizeof value);
	return value;
}

/* The row of words whose name is the length bytes at text, or NULL. */
static const struct hs_option_word *find_word(const struct hs_option_word *words, const char *text,
					      size_t length)
{
	for (; words->name != NULL; words++) {
		if (strlen(words->name) == length && memcmp(words->name, text, length) == 0)
			return words;
	}
	return NULL;
}

/* A number and, where the option has units, one letter. */
static bool parse_scaled(const struct hs_option *option, const char *text, uint64_t *value)
{
	const char *end = hs_parse_digits(text, NULL, 10, value);
	const struct hs_option_word *unit;
	char letter;

	if (end == NULL)
		return false;
	if (*end != '\0') {
		letter = *end >= 'A' && *end <= 'Z' ? (char)(*end - 'A' + 'a') : *end;
		unit = option->words != NULL ? find_word(option->words, &letter, 1) : NULL;
		if (unit == NULL || end[1] != '\0' ||
		    __builtin_mul_overflow(*value, unit->value, value))
			return false;
	}
	return *value >= option->minimum && *value <= option->maximum;
}

bool hs_option_parse_number(const struct hs_option *option, void *field, const char *text)
{
	uint64_t value;

	if (!parse_scaled(option, text, &value))
		return false;
	hs_option_store(option, field, value);
	return true;
}

/* With the largest unit that divides it.  Units stand in ascending order. */
size_t hs_option_print_number(const struct hs_option *option, const void *field, char *buffer,
			      size_t capacity)
{
	uint64_t value = hs_option_load(option, field);
	const struct hs_option_word *best = NULL;

	for (const struct hs_option_word *unit = option->words;
	     unit != NULL && unit->name != NULL && value != 0; unit++) {
		if (value % unit->value == 0)
			best = unit;
	}
	return hs_format(buffer, capacity, "%llu%s",
			 (unsigned long long)(best == NULL ? value : value / best->value),
			 best == NULL ? "" : best->name);
}

/* A number, or "auto", which has all bits of the field set. */
bool hs_option_parse_auto(const struct hs_option *option, void *field, const char *text)
{
	if (strcmp(text, "auto") != 0)
		return hs_option_parse_number(option, field, text);
	hs_option_store(option, field, UINT64_MAX);
	return true;
}

/* A value outside of the range is "auto". */
size_t hs_option_print_auto(const struct hs_option *option, const void *field, char *buffer,
			    size_t capacity)
{
	uint64_t value = hs_option_load(option, field);

	if (value < option->minimum || value > option->maximum)
		return hs_format(buffer, capacity, "auto");
	return hs_option_print_number(option, field, buffer, capacity);
}

/* A size that is rounded up to a power of two; "auto" or nothing is 0. */
bool hs_option_parse_power(const struct hs_option *option, void *field, const char *text)
{
	uint64_t value = 0, power = 1;

	if (*text != '\0' && strcmp(text, "auto") != 0) {
		if (!parse_scaled(option, text, &value))
			return false;
		while (power < value)
			power *= 2;
		value = power;
	}
	hs_option_store(option, field, value);
	return true;
}

bool hs_option_parse_word(const struct hs_option *option, void *field, const char *text)
{
	const struct hs_option_word *word = find_word(option->words, text, strlen(text));

	if (word == NULL)
		return false;
	hs_option_store(option, field, word->value);
	return true;
}

size_t hs_option_print_word(const struct hs_option *option, const void *field, char *buffer,
			    size_t capacity)
{
	uint64_t value = hs_option_load(option, field);
	const struct hs_option_word *word = option->words;

	while (word->name != NULL && word->value != value)
		word++;
	return hs_format(buffer, capacity, "%s", word->name != NULL ? word->name : "");
}

/* Whoever means to switch the profiler off must not have it on. */
bool hs_option_parse_mode(const struct hs_option *option, void *field, const char *text)
{
	if (hs_option_parse_word(option, field, text))
		return true;
	hs_option_store(option, field, HS_MODE_UNKNOWN);
	return false;
}

bool hs_option_parse_text(const struct hs_option *option, void *field, const char *text)
{
	size_t length = strlen(text);

	if (length >= option->field_bytes)
		return false;
	memcpy(field, text, length + 1);
	return true;
}

static bool is_blank(char letter)
{
	return letter == ' ' || letter == '\t' || letter == '\n';
}

/* None is empty, or has a blank at an end, which no name has: it was meant for people. */
static bool are_prefixes(const char *text)
{
	for (;;) {
		size_t length = strcspn(text, ",");

		if (length == 0 || is_blank(text[0]) || is_blank(text[length - 1]))
			return false;
		if (text[length] == '\0')
			return true;
		text += length + 1;
	}
}

/* After a mistake what is to be hidden is not known. */
bool hs_option_parse_prefixes(const struct hs_option *option, void *field, const char *text)
{
	bool is_good = *text == '\0' || are_prefixes(text);

	if (is_good && hs_option_parse_text(option, field, text))
		return true;
	hs_option_parse_text(option, field, ",");
	return false;
}

bool hs_pattern_is_valid(const char *pattern)
{
	size_t length = strlen(pattern);

	if (length == 0 || pattern[length - 1] == '/')
		return false;
	for (; *pattern != '\0'; pattern++) {
		if (*pattern != '%')
			continue;
		pattern++;
		if (*pattern == '\0' || strchr("pehtnr%", *pattern) == NULL)
			return false;
	}
	return true;
}

bool hs_option_parse_pattern(const struct hs_option *option, void *field, const char *text)
{
	return hs_pattern_is_valid(text) && hs_option_parse_text(option, field, text);
}

/* Whether no file is meant, where none is the default. */
static bool is_none(const char *text)
{
	return text[0] == '\0' || strcmp(text, "0") == 0 || strcmp(text, "-") == 0;
}

bool hs_option_parse_pattern_or_none(const struct hs_option *option, void *field, const char *text)
{
	return is_none(text) ? hs_option_parse_text(option, field, "")
			     : hs_option_parse_pattern(option, field, text);
}

bool hs_option_parse_path_or_none(const struct hs_option *option, void *field, const char *text)
{
	return hs_option_parse_text(option, field, is_none(text) ? "" : text);
}

size_t hs_option_print_text(const struct hs_option *option, const void *field, char *buffer,
			    size_t capacity)
{
	(void)option;
	return hs_format(buffer, capacity, "%s", (const char *)field);
}

/* Words separated by commas, each a bit; or "none". */
bool hs_option_parse_flags(const struct hs_option *option, void *field, const char *text)
{
	uint64_t bits = 0;

	if (strcmp(text, "none") != 0) {
		for (;;) {
			size_t length = strcspn(text, ",");
			const struct hs_option_word *word =
				find_word(option->words, text, length);

			if (word == NULL)
				return false;
			bits |= word->value;
			if (text[length] == '\0')
				break;
			text += length + 1;
		}
	}
	hs_option_store(option, field, bits);
	return true;
}

size_t hs_option_print_flags(const struct hs_option *option, const void *field, char *buffer,
			      size_t capacity)
{
	uint64_t bits = hs_option_load(option, field);
	size_t length = 0;

	if (bits == 0)
		return hs_format(buffer, capacity, "none");
	for (const struct hs_option_word *word = option->words; word->name != NULL; word++) {
		if (bits & word->value)
			length += hs_format(buffer + length, capacity - length, "%s%s",
					    length == 0 ? "" : ",", word->name);
	}
	return length;
}

/* Decimal, or hexadecimal after 0x; nothing is no seed. */
bool hs_option_parse_seed(const struct hs_option *option, void *options, const char *text)
{
	struct hs_options *out = options;
	bool is_hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	uint64_t seed = 0;
	const char *end = text;

	(void)option;
	if (*text != '\0')
		end = is_hexadecimal ? hs_parse_digits(text + 2, NULL, 16, &seed)
				     : hs_parse_digits(text, NULL, 10, &seed);
	if (end == NULL || *end != '\0')
		return false;
	out->has_seed = *text != '\0';
	out->seed = seed;
	return true;
}

size_t hs_option_print_seed(const struct hs_option *option, const void *options, char *buffer,
			    size_t capacity)
{
	const struct hs_options *in = options;

	(void)option;
	if (!in->has_seed)
		return hs_format(buffer, capacity, "%s", "");
	return hs_format(buffer, capacity, "%llu", (unsigned long long)in->seed);
}

/* A number of files, and after a comma their size. */
bool hs_option_parse_keep(const struct hs_option *option, void *options, const char *text)
{
	const struct hs_option size = {.minimum = 1, .maximum = UINT64_MAX, .words = option->words};
	struct hs_options *out = options;
	uint64_t files, bytes = 0;
	const char *end = hs_parse_digits(text, NULL, 10, &files);

	if (end == NULL || files > option->maximum ||
	    (*end != '\0' && (*end != ',' || !parse_scaled(&size, end + 1, &bytes))))
		return false;
	out->keep_files = (uint32_t)files;
	out->keep_bytes = bytes;
	return true;
}

size_t hs_option_print_keep(const struct hs_option *option, const void *options, char *buffer,
			    size_t capacity)
{
	const struct hs_option size = {.field_bytes = sizeof(uint64_t), .words = option->words};
	const struct hs_options *in = options;
	size_t length = hs_format(buffer, capacity, "%u", in->keep_files);

	if (in->keep_bytes == 0)
		return length;
	length += hs_format(buffer + length, capacity - length, ",");
	return length +
	       hs_option_print_number(&size, &in->keep_bytes, buffer + length, capacity - length);
}

/* Percent, with or without the sign; or seconds, with a unit. */
bool hs_option_parse_max_cpu(const struct hs_option *option, void *options, const char *text)
{
	struct hs_options *out = options;
	uint64_t percent = 0, seconds = 0;
	const char *end = hs_parse_digits(text, NULL, 10, &percent);

	if (end == NULL)
		return false;
	if (*end != '\0' && strcmp(end, "%") != 0) {
		percent = 0;
		if (!parse_scaled(option, text, &seconds))
			return false;
	}
	if (percent > MAX_CPU_PERCENT)
		return false;
	out->max_cpu_percent = (uint32_t)percent;
	out->max_cpu_s = seconds;
	return true;
}

size_t hs_option_print_max_cpu(const struct hs_option *option, const void *options, char *buffer,
			       size_t capacity)
{
	const struct hs_option time = {.field_bytes = sizeof(uint64_t), .words = option->words};
	const struct hs_options *in = options;

	if (in->max_cpu_s != 0)
		return hs_option_print_number(&time, &in->max_cpu_s, buffer, capacity);
	return hs_format(buffer, capacity, "%u%s", in->max_cpu_percent,
			 in->max_cpu_percent != 0 ? "%" : "");
}
