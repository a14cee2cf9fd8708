/* SPDX-License-Identifier: BSD-2-Clause */
#include "maps/proc_maps.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/sys.h"
#include "check.h"

static struct hs_proc_maps maps;
static struct hs_proc_maps_line line;

static bool first_line(const char *text)
{
	hs_proc_maps_begin(&maps, text, strlen(text));
	return hs_proc_maps_next(&maps, &line);
}

static const char *name_of_line(void)
{
	static char name[256];

	hs_proc_maps_copy_name(&line, name, sizeof name);
	return name;
}

static void test_fields(void)
{
	CHECK(first_line("7f0123456000-7f0123789000 r-xp 00001000 fe:0a 1234567   /lib/a.so\n"));
	CHECK_INT(line.start, 0x7f0123456000);
	CHECK_INT(line.end, 0x7f0123789000);
	CHECK_INT(line.offset, 0x1000);
	CHECK_INT(line.device, makedev(0xfe, 0x0a));
	CHECK_INT(line.inode, 1234567);
	CHECK_INT(line.permissions, HS_PROC_MAPS_READ | HS_PROC_MAPS_EXECUTE);
	CHECK_STR(name_of_line(), "/lib/a.so");
	CHECK(!line.deleted);
	CHECK(!hs_proc_maps_next(&maps, &line));
	CHECK_INT(maps.skipped, 0);
}

static void test_highest_addresses(void)
{
	CHECK(first_line("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]\n"));
	CHECK_INT(line.start, 0xffffffffff600000);
	CHECK_INT(line.permissions, HS_PROC_MAPS_EXECUTE);
}

static void test_permissions(void)
{
	CHECK(first_line("1000-2000 rw-s 00000000 00:01 5 /dev/shm/x\n"));
	CHECK_INT(line.permissions, HS_PROC_MAPS_READ | HS_PROC_MAPS_WRITE | HS_PROC_MAPS_SHARED);
	CHECK(first_line("1000-2000 ---p 00000000 00:01 5\n"));
	CHECK_INT(line.permissions, 0);
}

static void test_names(void)
{
	CHECK(first_line("1000-2000 r--p 00000000 00:00 0 \n"));
	CHECK_STR(name_of_line(), "");
	CHECK(first_line("1000-2000 r--p 00000000 00:00 0\n"));
	CHECK_STR(name_of_line(), "");
	CHECK(first_line("1000-2000 r--p 00000000 00:00 0    [anon:my arena]"));
	CHECK_STR(name_of_line(), "[anon:my arena]");
	CHECK(first_line("1000-2000 r--p 00000000 08:01 7    /a b/c  d\n"));
	CHECK_STR(name_of_line(), "/a b/c  d");
	CHECK(first_line("1000-2000 r--p 00000000 08:01 7    /a\\012b\\012\n"));
	CHECK_STR(name_of_line(), "/a\nb\n");
	CHECK(first_line("1000-2000 r--p 00000000 08:01 7    /a\\101\\01\n"));
	CHECK_STR(name_of_line(), "/a\\101\\01");
}

static void test_deleted(void)
{
	CHECK(first_line("1000-2000 r--p 00000000 08:01 7    /tmp/x (deleted)\n"));
	CHECK(line.deleted);
	CHECK_STR(name_of_line(), "/tmp/x");
	CHECK(first_line("1000-2000 r--p 00000000 08:01 7    /tmp/x (deleted) \n"));
	CHECK(!line.deleted);
	CHECK(first_line("1000-2000 r--p 00000000 08:01 7 (deleted)\n"));
	CHECK_STR(name_of_line(), "(deleted)");
	CHECK(first_line("1000-2000 r--p 00000000 00:00 0 [anon:x (deleted)\n"));
	CHECK_STR(name_of_line(), "[anon:x (deleted)");
}

/* What follows the permissions of each kind of line that the kernel writes. */
static void test_kinds_of_lines(void)
{
	static const struct {
		const char *text;
		const char *name;
		uint64_t inode;
		bool deleted;
	} kinds[] = {
		{ "00000000 00:00 0                          [vdso]", "[vdso]", 0, false },
		{ "00000000 00:00 0                          [vvar]", "[vvar]", 0, false },
		{ "00000000 00:00 0                          [vsyscall]", "[vsyscall]", 0, false },
		{ "00000000 00:00 0                          [stack]", "[stack]", 0, false },
		{ "00000000 00:00 0                          [heap]", "[heap]", 0, false },
		{ "00000000 00:00 0                          [uprobes]", "[uprobes]", 0, false },
		{ "00000000 00:00 0                          [anon:v8: code]", "[anon:v8: code]", 0,
		  false },
		{ "00000000 00:01 7                          [anon_shmem:jit]", "[anon_shmem:jit]",
		  7, false },
		{ "00000000 00:01 8                          /memfd:jit code (deleted)",
		  "/memfd:jit code", 8, true },
		{ "00000000 00:01 9                          /dev/zero (deleted)", "/dev/zero", 9,
		  true },
		{ "00000000 00:06 10                         /dev/dri/card0", "/dev/dri/card0", 10,
		  false },
		{ "00000000 00:01 11                         /SYSV00000000 (deleted)",
		  "/SYSV00000000", 11, true },
		{ "00000000 00:0f 12                         /anon_hugepage (deleted)",
		  "/anon_hugepage", 12, true },
		{ "00000000 00:0e 13                         anon_inode:[perf_event]",
		  "anon_inode:[perf_event]", 13, false },
		{ "00200000 00:00 0 ", "", 0, false },
		{ "ffffff000 103:02 18446744073709551615     /a", "/a", UINT64_MAX, false },
	};
	char text[256];

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		snprintf(text, sizeof text, "7f0000000000-7f0000200000 r-xp %s\n", kinds[i].text);
		CHECK(first_line(text));
		CHECK_STR(name_of_line(), kinds[i].name);
		CHECK_INT(line.inode, kinds[i].inode);
		CHECK_INT(line.deleted, kinds[i].deleted);
		CHECK_INT(line.end, 0x7f0000200000);
	}
}

static void test_short_buffer_cuts_the_name(void)
{
	char name[4];

	CHECK(first_line("1000-2000 r--p 00000000 08:01 7    /a\\012b\n"));
	CHECK_INT(hs_proc_maps_copy_name(&line, name, sizeof name), 3);
	CHECK_STR(name, "/a\n");
	CHECK_INT(hs_proc_maps_copy_name(&line, name, 1), 0);
	CHECK_STR(name, "");
}

static void test_bad_lines_are_skipped(void)
{
	static const char *const bad[] = {
		"", "x", "1000", "1000-", "1000-2000", "1000-2000 ", "1000-2000 r--",
		"1000-2000 r--p", "1000-2000 r--p 0 08:01", "1000-2000 r--p 0 08:01 ",
		"1000-2000 r--p 0 0801 7", "1000-2000 r--p 0 08:01 7x", "1000 2000 r--p 0 08:01 7",
		"2000-1000 r--p 0 08:01 7", "1000-1000 r--p 0 08:01 7", "1000-2000 q--p 0 08:01 7",
		"1000-2000 r--? 0 08:01 7", "10000000000000000-2 r--p 0 08:01 7",
		"1000-2000 r--p 0 08:01 99999999999999999999", "-2000 r--p 0 08:01 7",
		"1000-2000 r--p fffffffffffffffe 08:01 7", "1000-2000 r--p 0 100000000:01 7",
	};
	char text[256];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text, "%s\n3000-4000 r--p 0 08:01 7 /good\n%s", bad[i],
			 bad[i]);
		CHECK(first_line(text));
		CHECK_STR(name_of_line(), "/good");
		CHECK(!hs_proc_maps_next(&maps, &line));
		CHECK_INT(maps.skipped, bad[i][0] != '\0' ? 2 : 1);
	}
}

static void test_a_nul_ends_the_text(void)
{
	static const char text[] = "1000-2000 r--p 0 08:01 7 /a\n\0003000-4000 r--p 0 08:01 7 /b\n";

	hs_proc_maps_begin(&maps, text, sizeof text);
	CHECK(hs_proc_maps_next(&maps, &line));
	CHECK_STR(name_of_line(), "/a");
	CHECK(!hs_proc_maps_next(&maps, &line));
	hs_proc_maps_begin(&maps, NULL, 0);
	CHECK(!hs_proc_maps_next(&maps, &line));
}

/* A good text, cut at each place, in a buffer of exactly its size. */
static void test_cut_texts(void)
{
	static const char text[] =
		"7f0123456000-7f0123789000 r-xp 00001000 fe:0a 12 /a\\012 (deleted)\n";

	for (size_t bytes = 1; bytes < sizeof text; bytes++) {
		char *copy = malloc(bytes);
		char name[sizeof text];

		memcpy(copy, text, bytes);
		hs_proc_maps_begin(&maps, copy, bytes);
		if (hs_proc_maps_next(&maps, &line))
			CHECK(hs_proc_maps_copy_name(&line, name, sizeof name) <= line.name_bytes);
		else
			CHECK_INT(maps.skipped, 1);
		free(copy);
	}
}

static void test_own_maps(void)
{
	static char text[1 << 20];
	ssize_t bytes = hs_sys_read_file("/proc/self/maps", text, sizeof text);
	uintptr_t here = (uintptr_t)&test_own_maps;
	struct stat file;
	bool found = false;
	uint64_t last_end = 0;

	CHECK(bytes > 0);
	CHECK_INT(hs_sys_stat("/proc/self/exe", &file), 0);
	hs_proc_maps_begin(&maps, text, (size_t)bytes);
	while (hs_proc_maps_next(&maps, &line)) {
		CHECK(line.start >= last_end);
		last_end = line.end;
		if (here >= line.start && here < line.end) {
			found = true;
			CHECK(line.permissions & HS_PROC_MAPS_EXECUTE);
			CHECK_INT(line.inode, file.st_ino);
		}
	}
	CHECK(found);
	CHECK_INT(maps.skipped, 0);
}

int main(void)
{
	RUN(test_fields);
	RUN(test_highest_addresses);
	RUN(test_permissions);
	RUN(test_names);
	RUN(test_deleted);
	RUN(test_kinds_of_lines);
	RUN(test_short_buffer_cuts_the_name);
	RUN(test_bad_lines_are_skipped);
	RUN(test_a_nul_ends_the_text);
	RUN(test_cut_texts);
	RUN(test_own_maps);
	return CHECK_RESULT();
}
