/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that are too long end in "..." and a hash of the whole: what differs only behind the cut
 * stays apart.
 *
 * Threads: any.  Allocates: never.
 */
#ifndef HS_SYMBOLIZE_CUT_NAME_H
#define HS_SYMBOLIZE_CUT_NAME_H

#include <stddef.h>

/* Of what is put behind the cut. */
#define HS_CUT_BYTES 11

/*
 * Cuts text at end, or up to three bytes before, not inside a character, and returns its new
 * length; a NUL is not written.  name: what is hashed; it may be text.
 */
size_t hs_cut_name(char *text, size_t end, const char *name, size_t name_bytes);

#endif
