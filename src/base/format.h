/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text formatting without stdio, locale or allocation.
 *
 * Understands %s %c %d %i %u %x %p %% with the lengths l, ll and z, and a width of
 * zeros for integers ("%04u").  Anything else is copied as it stands.
 * Called on: any thread.  Errno: preserved.
 */
#ifndef HS_BASE_FORMAT_H
#define HS_BASE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/*
 * Writes at most capacity - 1 bytes and a NUL.  Returns the length of the text
 * written (what did not fit is cut).  capacity at least 1.
 */
size_t hs_format(char *buffer, size_t capacity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
size_t hs_vformat(char *buffer, size_t capacity, const char *format, va_list arguments);

#endif
