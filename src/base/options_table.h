/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of the table of options (options.c), and their parsers and printers (options_values.c,
 * options_heaps.c, options_signal.c).
 *
 * Runs during start-up, single-threaded.  Nothing here allocates.
 */
#ifndef HS_BASE_OPTIONS_TABLE_H
#define HS_BASE_OPTIONS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/visibility.h"

/* A word that stands for a number.  Lists end with a row without a name. */
struct hs_option_word {
	const char *name;
	uint64_t value;
};

struct hs_option {
	const char *name;
	const char *default_value;
	const char *form;    /* what is accepted, in words for the user */
	const char *instead; /* the value taken for a bad one, in words; NULL: the default */

	/*
	 * Parses text into the field.  False if it is bad: the field is untouched, or has what
	 * `instead` says.
	 */
	bool (*parse)(const struct hs_option *option, void *field, const char *text);

	/* Formats the field's value, as hs_format() does. */
	size_t (*print)(const struct hs_option *option, const void *field, char *buffer,
			size_t capacity);

	size_t field_offset; /* in struct hs_options; 0 if the value is in two fields */
	size_t field_bytes;
	uint64_t minimum; /* of numbers, both allowed */
	uint64_t maximum;
	const struct hs_option_word *words; /* of words, lists and units */
};

/* Powers of 1024: k, m, g, t. */
extern HS_HIDDEN const struct hs_option_word hs_option_size_units[];

/* An ASCII letter in upper case; any other byte as it is. */
static inline char hs_option_upper(char letter)
{
	return letter >= 'a' && letter <= 'z' ? (char)(letter - 'a' + 'A') : letter;
}

/* An integer field of 1, 4 or 8 bytes. */
void hs_option_store(const struct hs_option *option, void *field, uint64_t value);
uint64_t hs_option_load(const struct hs_option *option, const void *field);

/* Parsers and printers.  A number may be followed by a unit: a row of words. */
bool hs_option_parse_number(const struct hs_option *option, void *field, const char *text);
size_t hs_option_print_number(const struct hs_option *option, const void *field, char *buffer,
			      size_t capacity);
bool hs_option_parse_auto(const struct hs_option *option, void *field, const char *text);
size_t hs_option_print_auto(const struct hs_option *option, const void *field, char *buffer,
			    size_t capacity);
bool hs_option_parse_power(const struct hs_option *option, void *field, const char *text);
bool hs_option_parse_word(const struct hs_option *option, void *field, const char *text);
size_t hs_option_print_word(const struct hs_option *option, const void *field, char *buffer,
			    size_t capacity);
bool hs_option_parse_text(const struct hs_option *option, void *field, const char *text);
bool hs_option_parse_mode(const struct hs_option *option, void *field, const char *text);
bool hs_option_parse_prefixes(const struct hs_option *option, void *field, const char *text);
bool hs_option_parse_pattern(const struct hs_option *option, void *field, const char *text);
bool hs_option_parse_pattern_or_none(const struct hs_option *option, void *field,
				     const char *text);
bool hs_option_parse_path_or_none(const struct hs_option *option, void *field, const char *text);
size_t hs_option_print_text(const struct hs_option *option, const void *field, char *buffer,
			    size_t capacity);
bool hs_option_parse_heaps(const struct hs_option *option, void *field, const char *text);
bool hs_option_parse_flags(const struct hs_option *option, void *field, const char *text);
size_t hs_option_print_flags(const struct hs_option *option, const void *field, char *buffer,
			      size_t capacity);
/* These take the whole struct hs_options: the value is in two fields. */
bool hs_option_parse_seed(const struct hs_option *option, void *options, const char *text);
size_t hs_option_print_seed(const struct hs_option *option, const void *options, char *buffer,
			    size_t capacity);
bool hs_option_parse_keep(const struct hs_option *option, void *options, const char *text);
size_t hs_option_print_keep(const struct hs_option *option, const void *options, char *buffer,
			    size_t capacity);
bool hs_option_parse_max_cpu(const struct hs_option *option, void *options, const char *text);
size_t hs_option_print_max_cpu(const struct hs_option *option, const void *options, char *buffer,
			       size_t capacity);
bool hs_option_parse_signal(const struct hs_option *option, void *field, const char *text);
size_t hs_option_print_signal(const struct hs_option *option, const void *field, char *buffer,
			      size_t capacity);

#endif
