/* SPDX-License-Identifier: BSD-2-Clause */
/* Prefixes of what is hidden.  See symbol_filter.h. */
#include "profile/symbol_filter.h"

#include <stddef.h>
#include <string.h>

enum kind { KIND_PATH = 1, KIND_NAME = 2 };

static unsigned kinds_of(const char *prefix, size_t length)
{
	if (length == 0)
		return KIND_PATH | KIND_NAME;
	return prefix[0] == '/' || prefix[0] == '[' ? KIND_PATH : KIND_NAME;
}

/* Whether text begins with a prefix of the kind; text NULL: whether there is such a prefix. */
static bool any(const char *prefixes, enum kind kind, const char *text)
{
	if (*prefixes == '\0')
		return false;
	for (;;) {
		size_t length = strcspn(prefixes, ",");

		if ((kinds_of(prefixes, length) & kind) != 0 &&
		    (text == NULL || strncmp(text, prefixes, length) == 0))
			return true;
		if (prefixes[length] == '\0')
			return false;
		prefixes += length + 1;
	}
}

bool hs_symbol_filter_has_names(const char *prefixes)
{
	return any(prefixes, KIND_NAME, NULL);
}

bool hs_symbol_filter_hides_path(const char *prefixes, const char *path)
{
	return path != NULL && any(prefixes, KIND_PATH, path);
}

bool hs_symbol_filter_hides_name(const char *prefixes, const char *name)
{
	return name != NULL && any(prefixes, KIND_NAME, name);
}
