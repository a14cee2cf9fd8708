/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the memory controller's files.  See memory_cgroup.h. */
#include "session/memory_cgroup.h"

#include <limits.h>
#include <string.h>

#include "base/digits.h"
#include "base/format.h"
#include "base/sys.h"

/* The two versions of the memory controller, by the names of their files. */
struct controller {
	const char *mount;
	const char *limit;
	const char *usage;
	const char *cache; /* line of memory.stat: page cache that can be dropped */
};

/* Of version 1 a very large number stands for no limit, of version 2 a word. */
static const struct controller version_1 = {
	"/sys/fs/cgroup/memory",
	"memory.limit_in_bytes",
	"memory.usage_in_bytes",
	"total_inactive_file ",
};
static const struct controller version_2 = {
	"/sys/fs/cgroup",
	"memory.max",
	"memory.current",
	"inactive_file ",
};

static const char *root = "";
static const struct controller *controller; /* NULL: no memory cgroup was found */
static char group[PATH_MAX];                /* "/a/b" or "" */

/* Without a limit version 2 has a word in place of the number. */
static uint64_t limit_at(const char *text)
{
	uint64_t value;

	return hs_parse_digits(text, NULL, 10, &value) != NULL ? value : HS_MEMORY_UNLIMITED;
}

static bool read_file(const char *path, char *text, size_t capacity)
{
	char whole[PATH_MAX];

	hs_format(whole, sizeof whole, "%s%s", root, path);
	return hs_sys_read_file(whole, text, capacity) > 0;
}

/* Reads a file of the group whose path is the first `length` bytes of `group`. */
static bool read_group(size_t length, const char *name, char *text, size_t capacity)
{
	char path[PATH_MAX + 64];
	size_t used = hs_format(path, sizeof path, "%s", controller->mount);

	memcpy(path + used, group, length);
	used += length;
	hs_format(path + used, sizeof path - used, "/%s", name);
	return read_file(path, text, capacity);
}

/* Notes the group in a line of /proc/self/cgroup, if it is the memory controller's. */
static bool take_group(const char *line)
{
	const char *names = strchr(line, ':'),
		   *path = names != NULL ? strchr(names + 1, ':') : NULL;
	size_t length;

	if (path == NULL)
		return false;
	if (strncmp(line, "0::", 3) == 0)
		controller = &version_2;
	else if (strncmp(names, ":memory:", 8) == 0)
		controller = &version_1;
	else
		return false;
	path++;
	length = strcspn(path, "\n");
	/* The root group is the mount itself. */
	if (length == 1 || length >= sizeof group || *path != '/')
		length = 0;
	memcpy(group, path, length);
	group[length] = '\0';
	return true;
}

/* Goes to the group above; false: there is none.  *length: of the path, in `group`. */
static bool go_up(size_t *length)
{
	if (*length == 0)
		return false;
	while (group[--*length] != '/') {
	}
	return true;
}

/* Whether the group's memory is counted; without the controller it counts in the group above. */
static bool is_counted(size_t length)
{
	char text[64];

	return read_group(length, controller->usage, text, sizeof text);
}

/* Whether there is such a group; of version 2, but not its root. */
static bool exists(size_t length)
{
	char text[64];

	return read_group(length, "cgroup.events", text, sizeof text);
}

void hs_memory_cgroup_find(const char *directory)
{
	static char text[16384];
	size_t length;

	root = directory;
	controller = NULL;
	if (!read_file("/proc/self/cgroup", text, sizeof text))
		return;
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		/* If both versions are mounted, version 1 has the memory controller. */
		if (take_group(line) && controller == &version_1)
			break;
	}
	if (controller == NULL)
		return;
	length = strlen(group);
	while (!is_counted(length)) {
		if (length == 0) {
			controller = NULL;
			return;
		}
		/* In a container the path may be the host's: then the mount itself is the group. */
		if (exists(length))
			go_up(&length);
		else
			length = 0;
	}
	group[length] = '\0';
}

/* The limit of the group whose path is the first `length` bytes of `group`. */
static uint64_t limit_of(size_t length)
{
	char text[64];

	return read_group(length, controller->limit, text, sizeof text) ? limit_at(text)
									: HS_MEMORY_UNLIMITED;
}

uint64_t hs_memory_cgroup_limit(void)
{
	uint64_t least = HS_MEMORY_UNLIMITED;
	size_t length = strlen(group);

	if (controller == NULL)
		return least;
	do
		least = hs_memory_least(least, limit_of(length));
	while (go_up(&length));
	return least;
}

/* With more left, page cache that can be dropped is not looked at. */
#define CACHE_MATTERS_BYTES ((uint64_t)32 << 20)

static uint64_t left_in(size_t length, unsigned percent)
{
	static char stat[16384];
	char text[64];
	uint64_t limit = limit_of(length), used, cache, left;

	if (limit >= HS_MEMORY_UNLIMITED ||
	    !read_group(length, controller->usage, text, sizeof text) ||
	    hs_parse_digits(text, NULL, 10, &used) == NULL)
		return HS_MEMORY_UNLIMITED;
	left = hs_memory_left(used, limit, percent);
	if (left > CACHE_MATTERS_BYTES || !read_group(length, "memory.stat", stat, sizeof stat))
		return left;
	cache = hs_parse_value(stat, controller->cache);
	return hs_memory_left(used > cache ? used - cache : 0, limit, percent);
}

uint64_t hs_memory_cgroup_left(unsigned percent)
{
	uint64_t least = HS_MEMORY_UNLIMITED;
	size_t length = strlen(group);

	if (controller == NULL)
		return least;
	do
		least = hs_memory_least(least, left_in(length, percent));
	while (go_up(&length));
	return least;
}
