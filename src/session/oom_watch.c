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
static bool is_process_above(unsigned points, bool is_limited)
{
	struct hs_process_memory memory;
	uint64_t machine;

	if (!hs_process_memory_read(&memory, root))
		return false;
	if (hs_memory_is_above(memory.total, hs_sys_soft_limit(RLIMIT_AS), points) ||
	    hs_memory_is_above(memory.data, hs_sys_soft_limit(RLIMIT_DATA), points))
		return true;
	if (is_limited)
		return false;
	machine = machine_memory();
	return machine != 0 && hs_memory_is_above(memory.resident, machine, points);
}

static bool is_any_above(unsigned points)
{
	bool is_limited = false;

	/* The process may have been moved to another group. */
	hs_memory_cgroup_find(root);
	return hs_memory_cgroup_is_above(points, &is_limited) ||
	       is_process_above(points, is_limited);
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

void hs_oom_watch_rearm(void)
{
	crossed = false;
}
