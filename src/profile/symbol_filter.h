/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_SKIP_SYMBOL_PREFIX: names and paths that begin with one of these prefixes are hidden.
 *
 * A prefix that begins with '/' or '[' is for paths, any other one for names.  An empty prefix is
 * for both, and hides everything: it stands for a list that makes no sense (base/options.h).
 *
 * Called on: the producer; start-up.  Allocates: never.
 */
#ifndef HS_PROFILE_SYMBOL_FILTER_H
#define HS_PROFILE_SYMBOL_FILTER_H

#include <stdbool.h>

/* Whether there is a prefix for names.  prefixes: separated by commas; "" has no prefix. */
bool hs_symbol_filter_has_names(const char *prefixes);

/* Whether a path, or the name of a function, begins with one of them.  NULL does not. */
bool hs_symbol_filter_hides_path(const char *prefixes, const char *path);
bool hs_symbol_filter_hides_name(const char *prefixes, const char *name);

#endif
