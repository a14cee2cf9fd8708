/* SPDX-License-Identifier: BSD-2-Clause */
/* Use of memory against its limits.  See oom_watch.h. */
#include "session/oom_watch.h"

#include <limits.h>
#include <string.h>
#include <sys/resource.h>

#include "base/digits.h"
#include "base/format.h"
#include "base/sys.h"
#include "session/process_memory.h"

/* A limit is crossed again only after use fell this many points below. */
#define REARM_POINTS 5u

/* In files of memory cgroups of version 1 such a large number stands for no limit. */
#define NO_LIMIT ((uint64_t)1 << 60)

/* The two versions of the memory controller, by the names of their files. */
struct controller {
	const char *mount;
	const char *limit;
	const char *usage;
	const char *cache; /* line of memory.stat: page cache that can be dropped */
};

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

const char *hs_oom_watch_root = "";

static unsigned percent;
static bool crossed;
static const struct controller *controller; /* NULL: no memory cgroup was found */
static char group[PATH_MAX];                /* "/a/b" or "" */

/* The number at text, after blanks; NO_LIMIT if there is none ("max"). */
static uint64_t number_at(const char *text)
{
	uint64_t value;

	while (*text == ' ' || *text == '\t')
		text++;
	return hs_parse_digits(text, NULL, 10, &value) != NULL ? value : NO_LIMIT;
}

/* The number behind a key at the beginning of a line; 0 if there is none. */
static uint64_t value_of(const char *text, const char *key)
{
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, strlen(key)) == 0)
			return number_at(line + strlen(key));
	}
	return 0;
}

static bool read_file(const char *path, char *text, size_t capacity)
{
	char whole[PATH_MAX];

	hs_format(whole, sizeof whole, "%s%s", hs_oom_watch_root, path);
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

static void find_group(void)
{
	static char text[16384];
	char number[64];

	controller = NULL;
	if (!read_file("/proc/self/cgroup", text, sizeof text))
		return;
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		/* If both versions are mounted, version 1 has the memory controller. */
		if (take_group(line) && controller == &version_1)
			break;
	}
	/* In a container the path may be the host's: then the mount itself is the group. */
	if (controller != NULL &&
	    !read_group(strlen(group), controller->usage, number, sizeof number))
		group[0] = '\0';
	if (controller != NULL &&
	    !read_group(strlen(group), controller->usage, number, sizeof number))
		controller = NULL;
}

void hs_oom_watch_start(unsigned at_percent)
{
	percent = at_percent;
	find_group();
}

/* Divides first: the product could overflow. */
static bool is_above(uint64_t used, uint64_t limit, unsigned points)
{
	return limit < NO_LIMIT && used >= limit / 100 * points;
}

static bool is_group_above(size_t length, unsigned points, bool *limited)
{
	static char stat[16384];
	char text[64];
	uint64_t limit, used, cache;

	if (!read_group(length, controller->limit, text, sizeof text))
		return false;
	limit = number_at(text);
	if (limit >= NO_LIMIT || !read_group(length, controller->usage, text, sizeof text))
		return false;
	*limited = true;
	used = number_at(text);
	if (!is_above(used, limit, points) || !read_group(length, "memory.stat", stat, sizeof stat))
		return is_above(used, limit, points);
	cache = value_of(stat, controller->cache);
	return is_above(used > cache ? used - cache : 0, limit, points);
}

/* Whether the group, or one above it, is. */
static bool are_groups_above(unsigned points, bool *limited)
{
	size_t length = strlen(group);

	if (controller == NULL)
		return false;
	for (;;) {
		if (is_group_above(length, points, limited))
			return true;
		if (length == 0)
			return false;
		while (group[--length] != '/') {
		}
	}
}

static bool is_process_above(unsigned points, bool limited)
{
	static char text[8192];
	struct hs_process_memory memory;

	if (!hs_process_memory_read(&memory, hs_oom_watch_root))
		return false;
	if (is_above(memory.total, hs_sys_soft_limit(RLIMIT_AS), points) ||
	    is_above(memory.data, hs_sys_soft_limit(RLIMIT_DATA), points))
		return true;
	if (limited || !read_file("/proc/meminfo", text, sizeof text))
		return false;
	return is_above(memory.resident, value_of(text, "MemTotal:") * 1024, points);
}

static bool is_any_above(unsigned points)
{
	bool limited = false;

	return are_groups_above(points, &limited) || is_process_above(points, limited);
}

bool hs_oom_watch_is_crossed(void)
{
	bool before = crossed;

	if (!before)
		crossed = is_any_above(percent);
	else if (percent > REARM_POINTS)
		crossed = is_any_above(percent - REARM_POINTS);
	return crossed && !before;
}
