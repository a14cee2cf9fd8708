/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers in text. */
#ifndef HS_BASE_DIGITS_H
#define HS_BASE_DIGITS_H

#include <stdint.h>

/*
 * Digits without sign, up to end or to what is no digit of the base (up to 16); end may be NULL if
 * that comes.  Returns the end of them; NULL if there are none or they exceed 64 bits.
 */
const char *hs_parse_digits(const char *text, const char *end, unsigned base, uint64_t *value);

/* The number behind a key at the beginning of a line, after blanks; 0 if there is none. */
uint64_t hs_parse_value(const char *text, const char *key);

#endif
