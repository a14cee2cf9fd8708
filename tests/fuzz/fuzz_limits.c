/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory limits, which are in files of /proc and of the memory cgroup.  The input: a byte, the
 * percentage; then the texts of these files, each ended by a NUL, in the order of `files`.  The
 * first names the process's cgroup: only "/a" and the root have files.
 */
#include "fuzz.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/memory_cgroup.h"
#include "session/oom_watch.h"
#include "session/process_memory.h"

static const char *const directories[] = {
	"",
	"/proc",
	"/proc/self",
	"/sys",
	"/sys/fs",
	"/sys/fs/cgroup",
	"/sys/fs/cgroup/a",
	"/sys/fs/cgroup/memory",
	"/sys/fs/cgroup/memory/a",
};
static const char *const files[] = {
	"/proc/self/cgroup",
	"/proc/self/statm",
	"/proc/meminfo",
	"/sys/fs/cgroup/a/memory.current",
	"/sys/fs/cgroup/a/memory.max",
	"/sys/fs/cgroup/a/memory.stat",
	"/sys/fs/cgroup/memory.current",
	"/sys/fs/cgroup/memory.max",
	"/sys/fs/cgroup/memory.stat",
	"/sys/fs/cgroup/memory/a/memory.usage_in_bytes",
	"/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
	"/sys/fs/cgroup/memory/memory.usage_in_bytes",
	"/sys/fs/cgroup/memory/memory.limit_in_bytes",
};

#define FILES (sizeof files / sizeof *files)

static char root[64];
static bool is_there[FILES];

static void remove_root(void)
{
	char path[128];

	for (size_t i = 0; i < FILES; i++) {
		snprintf(path, sizeof path, "%s%s", root, files[i]);
		unlink(path);
	}
	for (size_t i = sizeof directories / sizeof *directories; i-- > 0;) {
		snprintf(path, sizeof path, "%s%s", root, directories[i]);
		rmdir(path);
	}
}

static void make_root(void)
{
	const char *base = getenv("TMPDIR");
	char path[128];

	snprintf(root, sizeof root, "%s/hs_fuzz_limits.XXXXXX",
		 base != NULL && strlen(base) < 32 ? base : "/tmp");
	MUST(mkdtemp(root) != NULL);
	for (size_t i = 1; i < sizeof directories / sizeof *directories; i++) {
		snprintf(path, sizeof path, "%s%s", root, directories[i]);
		MUST(mkdir(path, 0700) == 0);
	}
	atexit(remove_root);
}

/* An empty text stands for no file. */
static void write_files(const char *text, const char *end)
{
	char path[128];

	for (size_t i = 0; i < FILES; i++) {
		size_t length = text < end ? strnlen(text, (size_t)(end - text)) : 0;

		snprintf(path, sizeof path, "%s%s", root, files[i]);
		if (is_there[i])
			unlink(path);
		is_there[i] = length > 0;
		if (length > 0) {
			FILE *file = fopen(path, "we");

			MUST(file != NULL && fwrite(text, 1, length, file) == length);
			fclose(file);
		}
		text += text < end ? length + 1 : 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct hs_process_memory memory;
	uint64_t look_bytes;

	if (bytes == 0)
		return 0;
	if (root[0] == '\0')
		make_root();
	write_files((const char *)data + 1, (const char *)data + bytes);
	hs_memory_cgroup_find(root);
	hs_memory_cgroup_limit();
	hs_oom_watch_start(1 + data[0] % 99, root);
	/* The crossing is reported only once, whatever the files say. */
	if (hs_oom_watch_is_crossed(&look_bytes))
		MUST(!hs_oom_watch_is_crossed(&look_bytes));
	MUST(look_bytes >= 512 << 10 && look_bytes <= 16 << 20);
	hs_process_memory_read(&memory, root);
	/* For the next input no limit counts as crossed. */
	write_files("", "");
	while (hs_oom_watch_is_crossed(&look_bytes)) {
	}
	hs_oom_watch_is_crossed(&look_bytes);
	return 0;
}
