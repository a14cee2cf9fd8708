/* SPDX-License-Identifier: BSD-2-Clause */
/* UTF-8, which texts of profiles have to be.  Any thread, signal handlers too. */
#ifndef HS_BASE_UTF8_H
#define HS_BASE_UTF8_H

#include <stddef.h>

/* The bytes of the character at text, which ends in a NUL (of length 1); 0: it is none. */
size_t hs_utf8_character_bytes(const char *text);

/* How many bytes of text are at most `most` without a part of a character. */
size_t hs_utf8_fitting_bytes(const char *text, size_t most);

/* Writes what stands for a byte that is of none: the three characters %XX, without NUL. */
void hs_utf8_escape_byte(char *out, unsigned char byte);

#endif
