/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_SKIP_SYMBOL_PREFIX: what begins with one of these prefixes is not shown.
 *
 * A prefix that begins with '/' or '[' is compared with paths, any other with names.  An empty one
 * matches everything: a list that is not understood stands for that (base/options.h).
 *
 * Threads: the producer, and start-up.  Allocates: never.
 */
#ifndef HS_PROFILE_SYMBOL_FILTER_H
#define HS_PROFILE_SYMBOL_FILTER_H

#include <stdbool.h>

/* prefixes: separated by commas; must stay.  "" is no prefix at all. */
bool hs_symbol_filter_has_names(const char *prefixes);

/* Whether a path, or the name of a function, begins with one.  NULL does not. */
bool hs_symbol_filter_hides_path(const char *prefixes, const char *path);
bool hs_symbol_filter_hides_name(const char *prefixes, const char *name);

#endif
