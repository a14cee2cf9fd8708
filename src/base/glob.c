/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Globs of program names and paths: * and ? only.  See options.h.  Runs on any thread.
 */
#include <string.h>

#include "base/options.h"
#include "base/path.h"

/* Goes back to the last star only, so the work is at most length(glob) * length(name). */
static bool glob_matches(const char *glob, const char *end, const char *name)
{
	const char *star = NULL, *after_star = NULL;

	while (*name != '\0') {
		if (glob < end && *glob == '*') {
			star = glob++;
			after_star = name;
		} else if (glob < end && (*glob == '?' || *glob == *name)) {
			glob++;
			name++;
		} else if (star != NULL) {
			glob = star + 1;
			name = ++after_star;
		} else {
			return false;
		}
	}
	while (glob < end && *glob == '*')
		glob++;
	return glob == end;
}

bool hs_glob_list_matches(const char *globs, const char *path)
{
	const char *name = hs_path_last(path);

	if (*globs == '\0')
		return true;
	for (;;) {
		const char *end = globs + strcspn(globs, ",");
		bool is_path = memchr(globs, '/', (size_t)(end - globs)) != NULL;

		if (end > globs && glob_matches(globs, end, is_path ? path : name))
			return true;
		if (*end == '\0')
			return false;
		globs = end + 1;
	}
}
