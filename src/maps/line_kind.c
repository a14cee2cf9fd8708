/* SPDX-License-Identifier: BSD-2-Clause */
/* See line_kind.h. */
#include "maps/line_kind.h"

#include <string.h>

static const char huge_pages[] = "/anon_hugepage";

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool hs_line_is_device(const char *name)
{
	return starts_with(name, "/dev/") && !starts_with(name, "/dev/shm/") &&
	       strcmp(name, "/dev/zero") != 0;
}

bool hs_line_is_memory(const struct hs_proc_maps_line *line, const char *name)
{
	if (line->inode == 0 || starts_with(name, "/memfd:") || strcmp(name, "/dev/zero") == 0 ||
	    starts_with(name, "[anon_shmem:"))
		return true;
	/* The kernel says so of these, which never had a name in a directory. */
	return line->deleted && (starts_with(name, huge_pages) || starts_with(name, "/SYSV"));
}

bool hs_line_may_be_moved_text(const struct hs_proc_maps_line *line)
{
	size_t bytes = sizeof huge_pages - 1;

	return (line->permissions & HS_PROC_MAPS_EXECUTE) != 0 &&
	       (line->inode == 0 ||
		(line->name_bytes >= bytes && memcmp(line->name, huge_pages, bytes) == 0));
}
