/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes apart the names that JIT compilers give to their code.
 *
 * Two forms have a file in them:
 *
 *   V8       JS:*resolve /srv/app/router.js:12:17    CATEGORY:TIER NAME FILE:LINE[:COLUMN]
 *   CPython  py::Router.resolve:/srv/app/router.py
 *
 * V8's category and the mark of the compiler tier are no part of a function's name: one
 * function is one name, however far it has been optimised.  The mark is ~ ^ + or *, the
 * last two with an o before if the function was replaced while it ran, and with a ' behind
 * if its code is for one closure.  A function without a name is "(anonymous)", as in V8's
 * own tools.  "file://" before a path is dropped.
 * All other names are taken as they stand.
 *
 * Threads: any.  Allocates: never.
 */
#ifndef HS_SYMBOLIZE_JIT_NAME_H
#define HS_SYMBOLIZE_JIT_NAME_H

#include <stddef.h>
#include <stdint.h>

/* Pieces of the text, or "(anonymous)"; not NUL-terminated. */
struct hs_jit_name_parts {
	const char *name;
	size_t name_bytes;
	const char *file;
	size_t file_bytes;   /* 0: no file */
	uint32_t start_line; /* 0: not known */
};

void hs_jit_name_split(const char *text, struct hs_jit_name_parts *parts);

#endif
