/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/oom_watch.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "session/memory_cgroup.h"
#include "session/process_memory.h"

static char root[] = "/tmp/test_oom_watch.XXXXXX";

static void make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof path, "%s%s", root, name);
	make_directories(path);
	file = fopen(path, "w");
	CHECK(file != NULL);
	fputs(text, file);
	fclose(file);
}

static void remove_tree(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s/*", root);
	CHECK_INT(system(command), 0);
}

/* Begins with a process of 100 pages, on a machine with enough memory. */
static void begin(const char *groups)
{
	remove_tree();
	put("/proc/self/cgroup", groups);
	put("/proc/self/statm", "100 90 10 5 0 80 0\n");
	put("/proc/meminfo", "MemTotal:       16000000 kB\nMemFree:        8000000 kB\n");
}

static void start(unsigned percent)
{
	hs_oom_watch_start(percent, root);
}

/* What hs_oom_watch_is_crossed() said last. */
static uint64_t look_bytes;

static bool is_crossed(void)
{
	return hs_oom_watch_is_crossed(&look_bytes);
}

static void test_version_2(void)
{
	begin("0::/system.slice/app.service\n");
	put("/sys/fs/cgroup/system.slice/app.service/memory.max", "1000000\n");
	put("/sys/fs/cgroup/system.slice/app.service/memory.current", "799999\n");
	put("/sys/fs/cgroup/system.slice/app.service/memory.stat", "anon 1\ninactive_file 0\n");
	put("/sys/fs/cgroup/system.slice/memory.max", "max\n");
	start(80);
	CHECK(!is_crossed());
	put("/sys/fs/cgroup/system.slice/app.service/memory.current", "800000\n");
	CHECK(is_crossed());
	/* Reported once, or if nothing came of it, until memory in use is well below. */
	CHECK(!is_crossed());
	hs_oom_watch_rearm();
	CHECK(is_crossed());
	CHECK(!is_crossed());
	put("/sys/fs/cgroup/system.slice/app.service/memory.current", "760000\n");
	CHECK(!is_crossed());
	put("/sys/fs/cgroup/system.slice/app.service/memory.current", "900000\n");
	CHECK(!is_crossed());
	put("/sys/fs/cgroup/system.slice/app.service/memory.current", "740000\n");
	CHECK(!is_crossed());
	/* Cache that can be dropped does not count. */
	put("/sys/fs/cgroup/system.slice/app.service/memory.stat",
	    "anon 1\ninactive_file 200000\n");
	put("/sys/fs/cgroup/system.slice/app.service/memory.current", "990000\n");
	CHECK(!is_crossed());
	/* It is read last, and may be more by then. */
	put("/sys/fs/cgroup/system.slice/app.service/memory.stat",
	    "anon 1\ninactive_file 990001\n");
	CHECK(!is_crossed());
	put("/sys/fs/cgroup/system.slice/app.service/memory.stat", "anon 1\ninactive_file 100\n");
	CHECK(is_crossed());
	put("/sys/fs/cgroup/system.slice/app.service/memory.current", "1\n");
	CHECK(!is_crossed());
	/* A limit of a group above. */
	put("/sys/fs/cgroup/system.slice/memory.max", "5000000\n");
	put("/sys/fs/cgroup/system.slice/memory.current", "4500000\n");
	CHECK(is_crossed());
	put("/sys/fs/cgroup/system.slice/memory.current", "1\n");
	CHECK(!is_crossed());
}

/* The nearer the limit, the closer are the looks: a small group is not filled between two. */
static void test_looks(void)
{
	begin("0::/small\n");
	put("/sys/fs/cgroup/small/memory.max", "100000000\n");
	put("/sys/fs/cgroup/small/memory.stat", "anon 1\ninactive_file 1000000\n");
	put("/sys/fs/cgroup/small/memory.current", "1\n");
	start(90);
	CHECK(!is_crossed());
	CHECK_INT(look_bytes, 16 << 20);
	/* Where little is left, cache that can be dropped is left too. */
	put("/sys/fs/cgroup/small/memory.current", "80000000\n");
	CHECK(!is_crossed());
	CHECK_INT(look_bytes, 5500000);
	put("/sys/fs/cgroup/small/memory.current", "90999999\n");
	CHECK(!is_crossed());
	CHECK_INT(look_bytes, 512 << 10);
	/* A group above, and the process's own limits, may be nearer. */
	put("/sys/fs/cgroup/memory.max", "50000000\n");
	put("/sys/fs/cgroup/memory.current", "41000000\n");
	put("/sys/fs/cgroup/small/memory.current", "1\n");
	CHECK(!is_crossed());
	CHECK_INT(look_bytes, 2000000);
	put("/sys/fs/cgroup/memory.current", "45000000\n");
	CHECK(is_crossed());
	/* Then use is only waited for to fall. */
	CHECK(!is_crossed());
	CHECK_INT(look_bytes, 16 << 20);
	put("/sys/fs/cgroup/memory.current", "1\n");
	CHECK(!is_crossed());
}

static void test_moved_to_another_group(void)
{
	begin("0::/login\n");
	put("/sys/fs/cgroup/login/memory.max", "max\n");
	put("/sys/fs/cgroup/login/memory.current", "900000\n");
	put("/sys/fs/cgroup/limited/memory.max", "1000000\n");
	put("/sys/fs/cgroup/limited/memory.current", "900000\n");
	start(80);
	CHECK(!is_crossed());
	put("/proc/self/cgroup", "0::/limited\n");
	CHECK(is_crossed());
}

static void test_version_1(void)
{
	begin("11:cpu,cpuacct:/x\n8:memory:/docker/abc\n0::/system.slice\n");
	/* As in a container: the group is at the mount point. */
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "5000000\n");
	put("/sys/fs/cgroup/memory/memory.stat", "cache 5\ntotal_inactive_file 0\n");
	start(50);
	CHECK(!is_crossed());
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9000000\n");
	CHECK(is_crossed());
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "90000000\n");
	CHECK(!is_crossed());
}

/* The machine's memory counts only if no cgroup has a limit. */
static void test_machine(void)
{
	begin("0::/\n");
	put("/proc/self/statm", "90000 79999 10 5 0 80 0\n");
	put("/proc/meminfo", "MemTotal:       400000 kB\n");
	start(80);
	CHECK(!is_crossed());
	put("/proc/self/statm", "90000 80000 10 5 0 80 0\n");
	CHECK(is_crossed());
	put("/proc/self/statm", "90000 70000 10 5 0 80 0\n");
	CHECK(!is_crossed());
	put("/proc/self/statm", "90000 80000 10 5 0 80 0\n");
	put("/sys/fs/cgroup/memory.max", "max\n");
	put("/sys/fs/cgroup/memory.current", "100\n");
	CHECK(is_crossed());
	put("/sys/fs/cgroup/memory.max", "100000000000\n");
	start(80);
	CHECK(!is_crossed());
}

static void test_rlimits(void)
{
	static const int resources[] = {RLIMIT_AS, RLIMIT_DATA};

	for (int i = 0; i < 2; i++) {
		struct rlimit old, limit;

		begin("");
		CHECK_INT(getrlimit(resources[i], &old), 0);
		limit = old;
		limit.rlim_cur = (rlim_t)1 << 40;
		CHECK_INT(setrlimit(resources[i], &limit), 0);
		start(50);
		CHECK(!is_crossed());
		/* 2^27 pages are half of it. */
		put("/proc/self/statm",
		    i == 0 ? "134300000 9 1 5 0 80 0\n" : "9 9 1 5 0 134300000 0\n");
		CHECK(is_crossed());
		put("/proc/self/statm", "9 9 9 9 9 9 0\n");
		CHECK(!is_crossed());
		setrlimit(resources[i], &old);
	}
}

/* If no file can be read nothing is crossed. */
static void test_nothing(void)
{
	remove_tree();
	start(1);
	CHECK(!is_crossed());
	begin("garbage\n::\n3:memory\n");
	start(99);
	CHECK(!is_crossed());
}

/* The smallest limit counts, in whichever group it is. */
static void test_limit(void)
{
	remove_tree();
	hs_memory_cgroup_find(root);
	CHECK(hs_memory_cgroup_limit() == HS_MEMORY_UNLIMITED);
	begin("0::/system.slice/app.service\n");
	put("/sys/fs/cgroup/system.slice/app.service/memory.current", "1\n");
	put("/sys/fs/cgroup/system.slice/app.service/memory.max", "max\n");
	hs_memory_cgroup_find(root);
	CHECK(hs_memory_cgroup_limit() == HS_MEMORY_UNLIMITED);
	put("/sys/fs/cgroup/system.slice/memory.max", "5000000\n");
	CHECK_INT(hs_memory_cgroup_limit(), 5000000);
	put("/sys/fs/cgroup/system.slice/app.service/memory.max", "6000000\n");
	CHECK_INT(hs_memory_cgroup_limit(), 5000000);
	put("/sys/fs/cgroup/system.slice/app.service/memory.max", "4000000\n");
	CHECK_INT(hs_memory_cgroup_limit(), 4000000);
	/* Groups without the controller count in the one above. */
	begin("0::/user.slice/app.scope/worker\n");
	put("/sys/fs/cgroup/user.slice/app.scope/worker/cgroup.events", "populated 1\nfrozen 0\n");
	put("/sys/fs/cgroup/user.slice/app.scope/cgroup.events", "populated 1\nfrozen 0\n");
	put("/sys/fs/cgroup/user.slice/memory.current", "1\n");
	put("/sys/fs/cgroup/user.slice/memory.max", "7000000\n");
	hs_memory_cgroup_find(root);
	CHECK_INT(hs_memory_cgroup_limit(), 7000000);
	/* A group of another's, where the path is one outside of the container. */
	begin("0::/docker/abc\n");
	put("/sys/fs/cgroup/docker/cgroup.events", "populated 1\nfrozen 0\n");
	put("/sys/fs/cgroup/docker/memory.current", "1\n");
	put("/sys/fs/cgroup/docker/memory.max", "1000000\n");
	put("/sys/fs/cgroup/memory.current", "1\n");
	put("/sys/fs/cgroup/memory.max", "8000000\n");
	hs_memory_cgroup_find(root);
	CHECK_INT(hs_memory_cgroup_limit(), 8000000);
	begin("0::/\n8:memory:/docker/abc\n");
	put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	hs_memory_cgroup_find(root);
	CHECK(hs_memory_cgroup_limit() >= HS_MEMORY_UNLIMITED);
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
	CHECK_INT(hs_memory_cgroup_limit(), 268435456);
}

static void test_process_memory(void)
{
	struct hs_process_memory memory = {1, 1, 1};

	remove_tree();
	CHECK(!hs_process_memory_read(&memory, root));
	CHECK(memory.total == 0 && memory.resident == 0 && memory.data == 0);
	begin("");
	CHECK(hs_process_memory_read(&memory, root));
	CHECK_INT(memory.total, 100 * 4096);
	CHECK_INT(memory.resident, 90 * 4096);
	CHECK_INT(memory.data, 80 * 4096);
	/* Our own process: data is only a part of all memory. */
	CHECK(hs_process_memory_read(&memory, ""));
	CHECK(memory.resident > 0 && memory.resident < memory.total && memory.data < memory.total);
}

/* Memory in use cannot fall five points below three: it is reported once.  The last test. */
static void test_low_mark(void)
{
	begin("0::/low\n");
	put("/sys/fs/cgroup/low/memory.max", "1000000\n");
	put("/sys/fs/cgroup/low/memory.current", "1\n");
	start(80);
	CHECK(!is_crossed());
	put("/sys/fs/cgroup/low/memory.current", "900000\n");
	start(3);
	CHECK(is_crossed());
	for (int i = 0; i < 3; i++)
		CHECK(!is_crossed());
}

int main(void)
{
	if (mkdtemp(root) == NULL)
		return 99;
	RUN(test_version_2);
	RUN(test_looks);
	RUN(test_moved_to_another_group);
	RUN(test_version_1);
	RUN(test_machine);
	RUN(test_rlimits);
	RUN(test_nothing);
	RUN(test_limit);
	RUN(test_process_memory);
	RUN(test_low_mark);
	remove_tree();
	rmdir(root);
	return CHECK_RESULT();
}
