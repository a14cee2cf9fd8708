/* SPDX-License-Identifier: BSD-2-Clause */
/* Use of memory against its limits.  See oom_watch.h. */
#include "session/oom_watch.h"

#include <limits.h>
#include <sys/resource.h>

#include "base/digits.h"
#include "base/format.h"
#include "base/sys.h"
#include "session/memory_cgroup.h"
#include "session/process_memory.h"

/* A limit is crossed again only after use fell this many points below. */
#define REARM_POINTS 5u

/* Looks are so many allocated bytes apart. */
#define LOOK_LEAST_BYTES ((uint64_t)512 << 10)
#define LOOK_MOST_BYTES ((uint64_t)16 << 20)

static const char *root = "";
static unsigned percent;
static bool crossed;

void hs_oom_watch_start(unsigned at_percent, const char *directory)
{
	root = directory;
	percent = at_percent;
}

/* Bytes; 0 if it is not known. */
static uint64_t machine_memory(void)
{
	static char text[8192];
	char path[PATH_MAX];

	hs_format(path, sizeof path, "%s/proc/meminfo", root);
	if (hs_sys_read_file(path, text, sizeof text) <= 0)
		return 0;
	return hs_parse_value(text, "MemTotal:") * 1024;
}

/* is_limited: by a cgroup. */
static uint64_t process_left(unsigned points, bool is_limited)
{
	struct hs_process_memory memory;
	uint64_t least, machine;

	if (!hs_process_memory_read(&memory, root))
		return HS_MEMORY_UNLIMITED;
	least = hs_memory_least(
		hs_memory_left(memory.total, hs_sys_soft_limit(RLIMIT_AS), points),
		hs_memory_left(memory.data, hs_sys_soft_limit(RLIMIT_DATA), points));
	if (is_limited)
		return least;
	machine = machine_memory();
	if (machine == 0)
		return least;
	return hs_memory_least(least, hs_memory_left(memory.resident, machine, points));
}

/* How many more bytes can be used until any limit is used up to that. */
static uint64_t bytes_left(unsigned points)
{
	uint64_t in_group;

	/* The process may have been moved to another group. */
	hs_memory_cgroup_find(root);
	in_group = hs_memory_cgroup_left(points);
	return hs_memory_least(in_group, process_left(points, in_group < HS_MEMORY_UNLIMITED));
}

/* Half of what is left: a block takes more memory than was asked for. */
static uint64_t bytes_to_look(uint64_t left)
{
	if (left / 2 < LOOK_LEAST_BYTES)
		return LOOK_LEAST_BYTES;
	return hs_memory_least(left / 2, LOOK_MOST_BYTES);
}

bool hs_oom_watch_is_crossed(uint64_t *look_bytes)
{
	bool before = crossed;
	uint64_t left = HS_MEMORY_UNLIMITED;

	if (!before) {
		left = bytes_left(percent);
		crossed = left == 0;
	} else if (percent > REARM_POINTS) {
		crossed = bytes_left(percent - REARM_POINTS) == 0;
	}
	*look_bytes = bytes_to_look(left);
	return crossed && !before;
}

void hs_oom_watch_rearm(void)
{
	crossed = false;
}
