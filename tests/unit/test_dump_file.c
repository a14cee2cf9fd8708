/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and files of profiles, in a scratch directory of the test's own.
 */
#include "output/dump_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/options.h"
#include "base/path.h"
#include "base/sys.h"
#include "check.h"
#include "whole_file.h"

static char scratch[64];

static const struct hs_dump_name plain = {
	.program = "server",
	.reason = "exit",
	.pid = 1234,
	.number = 7,
	.time_s = 1700000000,
};

static const char *expand(const char *pattern, const struct hs_dump_name *name)
{
	static char path[HS_PATH_BYTES];
	int error = hs_dump_name_expand(pattern, name, path, sizeof path);

	CHECK_INT(error, 0);
	return path;
}

static void letters_are_replaced(void)
{
	struct utsname system;
	struct hs_dump_name name = plain;

	CHECK_STR(expand("/tmp/x.pb.gz", &name), "/tmp/x.pb.gz");
	CHECK_STR(expand("%p", &name), "1234");
	CHECK_STR(expand("%e", &name), "server");
	CHECK_STR(expand("%t", &name), "1700000000");
	CHECK_STR(expand("%n", &name), "0007");
	CHECK_STR(expand("%r", &name), "exit");
	CHECK_STR(expand("%%p", &name), "%p");
	CHECK_STR(expand("d/%e.%p.%n.%r.heap.pb.gz", &name), "d/server.1234.0007.exit.heap.pb.gz");
	uname(&system);
	CHECK_STR(expand("%h", &name), system.nodename);
	name.number = 12345;
	name.time_s = UINT64_MAX;
	CHECK_STR(expand("%n-%t", &name), "12345-18446744073709551615");
}

static void substituted_texts_stay_in_the_directory(void)
{
	struct hs_dump_name name = plain;

	name.program = "../a\nb\x7f\x1b";
	name.reason = "caf\xc3\xa9 %p";
	CHECK_STR(expand("/d/%e", &name), "/d/.._a_b__");
	CHECK_STR(expand("%r", &name), "caf\xc3\xa9 %p");
}

static void inherited_pattern_gets_the_pid(void)
{
	struct hs_dump_name name = plain;

	name.inherited = true;
	CHECK_STR(expand("a.heap.pb.gz", &name), "a.1234.heap.pb.gz");
	CHECK_STR(expand("/x.d/a.heap.pb.gz", &name), "/x.d/a.1234.heap.pb.gz");
	CHECK_STR(expand("/x.d/a", &name), "/x.d/a.1234");
	CHECK_STR(expand(".hidden", &name), ".1234.hidden");
	CHECK_STR(expand("%e.%n.pb.gz", &name), "server.1234.0007.pb.gz");
	CHECK_STR(expand("%%p.gz", &name), "%p.1234.gz");
	name.program = "a.out";
	CHECK_STR(expand("%e.gz", &name), "a.out.1234.gz");
	/* The letter is in the pattern, at any place: nothing is added. */
	CHECK_STR(expand("a.%p.gz", &name), "a.1234.gz");
	CHECK_STR(expand("%p/a.gz", &name), "1234/a.gz");
	CHECK_STR(expand("%%%p.gz", &name), "%1234.gz");
	name.inherited = false;
	CHECK_STR(expand("a.heap.pb.gz", &name), "a.heap.pb.gz");
}

static void bad_patterns_are_refused(void)
{
	static const char *const bad[] = {"",    "%",   "a%", "%x", "%P",
					  "a.%", "% p", "d/", "/",  "%%%"};
	static const char *const good[] = {"a", "%%", "%p%e%h%t%n%r", "/d/%e.gz"};
	char path[64];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		CHECK(!hs_pattern_is_valid(bad[i]));
		CHECK_INT(hs_dump_name_expand(bad[i], &plain, path, sizeof path), -EINVAL);
	}
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		CHECK(hs_pattern_is_valid(good[i]));
}

static void long_names_are_refused(void)
{
	static char pattern[2 * HS_PATH_BYTES];
	char path[16];
	struct hs_dump_name name = plain;

	/* Each part in turn is the one that does not fit; nothing is written past the end. */
	for (size_t capacity = 1; capacity <= sizeof path; capacity++) {
		static const char *const patterns[] = {"%p.%e.%n.%r", "12345678901234567",
						       "%e%e%e"};
		for (size_t i = 0; i < 3; i++) {
			memset(path, '#', sizeof path);
			CHECK_INT(hs_dump_name_expand(patterns[i], &name, path, capacity),
				  -ENAMETOOLONG);
			for (size_t at = capacity; at < sizeof path; at++)
				CHECK(path[at] == '#');
		}
	}
	CHECK_INT(hs_dump_name_expand("%e.%p", &name, path, 12), 0);
	CHECK_INT(hs_dump_name_expand("%e.%p", &name, path, 11), -ENAMETOOLONG);
	name.inherited = true;
	CHECK_INT(hs_dump_name_expand("server", &name, path, 12), 0);
	CHECK_INT(hs_dump_name_expand("server", &name, path, 11), -ENAMETOOLONG);
	memset(pattern, 'a', sizeof pattern - 1);
	name.program = pattern;
	CHECK_INT(hs_dump_name_expand("%e", &name, path, sizeof path), -ENAMETOOLONG);
}

static int entries(void)
{
	DIR *directory = opendir(".");
	int count = 0;

	while (directory != NULL && readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count - 2; /* "." and ".." */
}

static const char *content(const char *path)
{
	static char bytes[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof bytes - 1);

	bytes[got < 0 ? 0 : got] = '\0';
	close(fd);
	return got < 0 ? NULL : bytes;
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK_INT(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* No profile replaces another one, if the number is in the name. */
static void number_is_one_that_no_file_has(void)
{
	static char path[HS_PATH_BYTES];
	struct hs_dump_name name = plain;

	CHECK_INT(hs_dump_name_expand_free("%e.%n", &name, path, sizeof path), 0);
	CHECK_STR(path, "server.0007");
	write_text("server.0007", "");
	write_text("server.0008", "");
	CHECK_INT(hs_dump_name_expand_free("%e.%n", &name, path, sizeof path), 0);
	CHECK_STR(path, "server.0009");
	CHECK_INT(name.number, 9);
	CHECK_INT(hs_dump_name_expand_free("server.0007", &name, path, sizeof path), 0);
	CHECK_STR(path, "server.0007");
	CHECK_INT(name.number, 9);
	unlink("server.0007");
	unlink("server.0008");
}

static void file_appears_when_complete(void)
{
	struct hs_dump_file file;
	struct stat status;

	umask(0);
	CHECK_INT(hs_dump_file_open(&file, "a.pb.gz", false), 0);
	CHECK(access("a.pb.gz", F_OK) != 0);
	CHECK(access(".a.pb.gz.tmp", F_OK) == 0);
	CHECK_INT(hs_sys_write_all(file.own.fd, "whole", 5), 0);
	CHECK_INT(commit_file(&file), 0);
	CHECK(!file.own.is_open);
	CHECK_STR(content("a.pb.gz"), "whole");
	CHECK_INT(stat("a.pb.gz", &status), 0);
	CHECK_INT(status.st_mode & 07777, 0600);
	CHECK_INT(entries(), 1);

	/* Again: the old profile is there until the new one takes its place. */
	CHECK_INT(hs_dump_file_open(&file, "a.pb.gz", false), 0);
	CHECK_INT(hs_sys_write_all(file.own.fd, "new", 3), 0);
	CHECK_STR(content("a.pb.gz"), "whole");
	CHECK_INT(commit_file(&file), 0);
	CHECK_STR(content("a.pb.gz"), "new");
	unlink("a.pb.gz");
}

/* A name as long as the file system allows, for which that of the temporary file is shortened. */
static void longest_name_is_written(void)
{
	static const char temporary_end[] = "a\xc3\xb6.tmp";
	struct hs_dump_file file;
	char path[NAME_MAX + 2];
	size_t end;

	memset(path, 'a', sizeof path);
	path[NAME_MAX] = '\0';
	/* The character that would be cut is left out, and the last one is not. */
	memcpy(path + 4, "\xc3\xb6", 2);
	memcpy(path + NAME_MAX - 2, "\xc3\xb6", 2);
	CHECK_INT(hs_dump_file_open(&file, path, false), 0);
	end = strlen(hs_path_last(file.temporary));
	CHECK_INT(end, NAME_MAX - 1);
	CHECK(memcmp(hs_path_last(file.temporary), ".aaa", 4) == 0);
	CHECK_STR(file.temporary + strlen(file.temporary) - strlen(temporary_end), temporary_end);
	CHECK_INT(hs_sys_write_all(file.own.fd, "whole", 5), 0);
	CHECK_INT(commit_file(&file), 0);
	CHECK_STR(content(path), "whole");
	CHECK_INT(entries(), 1);
	unlink(path);
	path[NAME_MAX] = 'a';
	path[NAME_MAX + 1] = '\0';
	CHECK_INT(hs_dump_file_open(&file, path, false), -ENAMETOOLONG);
	CHECK_INT(entries(), 0);
}

static void discarded_file_leaves_nothing(void)
{
	struct hs_dump_file file;
	int fd;

	CHECK_INT(hs_dump_file_open(&file, "a", false), 0);
	fd = file.own.fd;
	discard_file(&file);
	CHECK_INT(fcntl(fd, F_GETFD), -1);
	CHECK_INT(entries(), 0);

	/* A second call, after the close, does not harm another file's descriptor or name. */
	write_text(".a.tmp", "other");
	discard_file(&file);
	CHECK_INT(entries(), 1);
	unlink(".a.tmp");
}

static void leftover_is_replaced(void)
{
	struct hs_dump_file file;
	struct stat status;

	write_text(".a.tmp", "of a killed process");
	CHECK_INT(hs_dump_file_open(&file, "a", false), 0);
	CHECK_INT(fstat(file.own.fd, &status), 0);
	CHECK_INT(status.st_mode & 07777, 0600);
	CHECK_INT(hs_sys_write_all(file.own.fd, "x", 1), 0);
	CHECK_INT(commit_file(&file), 0);
	CHECK_STR(content("a"), "x");
	CHECK_INT(entries(), 1);
	unlink("a");
}

/* Two processes write at once: the profile of the one that began last is whole. */
static void writers_of_one_name_do_not_mix(void)
{
	struct hs_dump_file first, second;

	CHECK_INT(hs_dump_file_open(&first, "a", false), 0);
	CHECK_INT(hs_dump_file_open(&second, "a", false), 0);
	CHECK_INT(hs_sys_write_all(first.own.fd, "x", 1), 0);
	CHECK_INT(commit_file(&first), -ESTALE);
	CHECK(hs_dump_file_is_taken(&first, -ESTALE));
	CHECK(strstr(hs_dump_error_text(-ESTALE), "another one of this name") != NULL);
	CHECK_INT(hs_sys_write_all(second.own.fd, "y", 1), 0);
	CHECK_INT(commit_file(&second), 0);
	CHECK_STR(content("a"), "y");
	CHECK_INT(entries(), 1);
	unlink("a");
}

static void links_are_not_followed(void)
{
	struct hs_dump_file file;

	write_text("precious", "kept");
	CHECK_INT(symlink("precious", ".a.tmp"), 0);
	CHECK_INT(symlink("precious", "a"), 0);
	CHECK_INT(hs_dump_file_open(&file, "a", false), 0);
	CHECK_INT(hs_sys_write_all(file.own.fd, "x", 1), 0);
	CHECK_INT(commit_file(&file), 0);
	CHECK_STR(content("precious"), "kept");
	CHECK_STR(content("a"), "x");
	unlink("a");
	unlink("precious");
}

/* Opens shared/a; in other is a file of its temporary name. */
static void open_beside_another(struct hs_dump_file *file)
{
	CHECK_INT(mkdir("shared", 0700), 0);
	CHECK_INT(mkdir("other", 0700), 0);
	write_text("other/.a.tmp", "precious");
	CHECK_INT(hs_dump_file_open(file, "shared/a", false), 0);
}

/* The directory is replaced by a link while the profile is written. */
static void another_directory_is_not_touched(void)
{
	struct hs_dump_file file;

	for (int is_complete = 0; is_complete < 2; is_complete++) {
		open_beside_another(&file);
		CHECK_INT(rename("shared", "moved"), 0);
		CHECK_INT(symlink("other", "shared"), 0);
		if (is_complete)
			CHECK_INT(commit_file(&file), -ESTALE);
		else
			discard_file(&file);
		CHECK(!file.own.is_open);
		CHECK_STR(content("other/.a.tmp"), "precious");
		CHECK(access("other/a", F_OK) != 0);
		CHECK(access("moved/a", F_OK) != 0);
		unlink("other/.a.tmp");
		unlink("moved/.a.tmp");
		unlink("shared");
		CHECK_INT(rmdir("other"), 0);
		CHECK_INT(rmdir("moved"), 0);
	}
}

static long swapped_at; /* the call before which another directory gets the path */

static long swap_directories(long number)
{
	if (number != swapped_at)
		return 0;
	CHECK_INT(rename("shared", "moved"), 0);
	CHECK_INT(rename("other", "shared"), 0);
	swapped_at = -1;
	return 0;
}

/* The same at the last moment, when the directory is open. */
static void the_open_directory_is_changed(void)
{
	static const long calls[] = {SYS_unlinkat, SYS_renameat2};
	struct hs_dump_file file;

	for (int is_complete = 0; is_complete < 2; is_complete++) {
		open_beside_another(&file);
		swapped_at = calls[is_complete];
		atomic_store(&hs_sys_fault, swap_directories);
		CHECK_INT(end_file(&file, is_complete - 1), is_complete - 1);
		atomic_store(&hs_sys_fault, NULL);
		CHECK_STR(content("shared/.a.tmp"), "precious");
		CHECK(access("shared/a", F_OK) != 0);
		CHECK(access("moved/.a.tmp", F_OK) != 0);
		CHECK_INT(access("moved/a", F_OK), is_complete - 1);
		unlink("shared/.a.tmp");
		unlink("moved/a");
		CHECK_INT(rmdir("shared"), 0);
		CHECK_INT(rmdir("moved"), 0);
	}
}

static int commit_or_discard(struct hs_dump_file *file, bool is_complete)
{
	if (is_complete)
		return commit_file(file);
	discard_file(file);
	return 0;
}

/* The program has no descriptor left when the file is finished. */
static void no_descriptor_is_free_at_the_end(void)
{
	struct hs_dump_file file;
	struct rlimit before, none;

	getrlimit(RLIMIT_NOFILE, &before);
	none = (struct rlimit){.rlim_max = before.rlim_max};
	for (int is_complete = 0; is_complete < 2; is_complete++) {
		CHECK_INT(mkdir("out", 0700), 0);
		CHECK_INT(hs_dump_file_open(&file, "out/a", false), 0);
		CHECK_INT(hs_sys_write_all(file.own.fd, "whole", 5), 0);
		setrlimit(RLIMIT_NOFILE, &none);
		CHECK_INT(commit_or_discard(&file, is_complete), 0);
		setrlimit(RLIMIT_NOFILE, &before);
		CHECK_INT(access("out/a", F_OK), is_complete - 1);
		if (is_complete)
			CHECK_STR(content("out/a"), "whole");
		unlink("out/a");
		CHECK_INT(rmdir("out"), 0);

		/* Another directory has its path now. */
		CHECK_INT(mkdir("out", 0700), 0);
		CHECK_INT(hs_dump_file_open(&file, "out/a", false), 0);
		CHECK_INT(rename("out", "moved"), 0);
		CHECK_INT(mkdir("out", 0700), 0);
		write_text("out/.a.tmp", "precious");
		setrlimit(RLIMIT_NOFILE, &none);
		CHECK_INT(commit_or_discard(&file, is_complete), is_complete ? -ESTALE : 0);
		setrlimit(RLIMIT_NOFILE, &before);
		CHECK_STR(content("out/.a.tmp"), "precious");
		unlink("out/.a.tmp");
		unlink("moved/.a.tmp");
		CHECK_INT(rmdir("out"), 0);
		CHECK_INT(rmdir("moved"), 0);
	}
}

static void refuse(const char *path, mode_t kind)
{
	struct hs_dump_file file;
	struct stat status;

	CHECK_INT(hs_dump_file_open(&file, path, false), -EEXIST);
	CHECK(!file.own.is_open);
	CHECK_INT(lstat(path, &status), 0);
	CHECK_INT(status.st_mode & S_IFMT, kind);
}

/* Only regular files are replaced: root could rename a profile over a device. */
static void only_files_are_replaced(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	close(fd);
	CHECK_INT(mkfifo("fifo", 0600), 0);
	CHECK_INT(mkdir("directory", 0700), 0);
	CHECK_INT(symlink("/dev/null", "link"), 0);
	refuse("/dev/null", S_IFCHR);
	refuse("fifo", S_IFIFO);
	refuse("socket", S_IFSOCK);
	refuse("directory", S_IFDIR);
	refuse("link", S_IFLNK);
	CHECK_INT(entries(), 4);
	unlink("fifo");
	unlink("socket");
	unlink("link");
	rmdir("directory");
}

/* As root would replace /dev/stdout if that leads to a file. */
static void links_into_proc_are_not_replaced(void)
{
	struct hs_dump_file file;
	char target[64];

	write_text("redirected", "kept");
	snprintf(target, sizeof target, "/proc/self/fd/%d", open("redirected", O_WRONLY));
	CHECK_INT(symlink(target, "standard"), 0);
	CHECK_INT(symlink("/proc/self/fd/1000000", "closed"), 0);
	refuse("standard", S_IFLNK);
	refuse("closed", S_IFLNK);
	CHECK_INT(hs_dump_file_create(&file, "standard", false), -EEXIST);
	CHECK_STR(content("standard"), "kept");
	CHECK_INT(entries(), 3);
	close(atoi(strrchr(target, '/') + 1));
	unlink("redirected");
	unlink("standard");
	unlink("closed");
}

static void impossible_paths_are_refused(void)
{
	static char path[2 * HS_PATH_BYTES];
	struct hs_dump_file file;

	CHECK_INT(hs_dump_file_open(&file, "missing/a", false), -ENOENT);
	CHECK(!file.own.is_open);
	CHECK_INT(hs_dump_file_open(&file, "/dev/null/a", false), -ENOTDIR);
	CHECK_INT(hs_dump_file_open(&file, "directory/", false), -EISDIR);
	memset(path, 'a', 300);
	CHECK_INT(hs_dump_file_open(&file, path, false), -ENAMETOOLONG);
	memset(path, 'a', sizeof path - 1);
	CHECK_INT(hs_dump_file_open(&file, path, false), -ENAMETOOLONG);
	/* The path fits, the temporary name does not. */
	memset(path, '/', sizeof path);
	path[HS_PATH_BYTES - 2] = 'a';
	path[HS_PATH_BYTES - 1] = '\0';
	CHECK_INT(hs_dump_file_open(&file, path, false), -ENAMETOOLONG);
	CHECK_INT(mkdir(".a.tmp", 0700), 0);
	CHECK_INT(hs_dump_file_open(&file, "a", false), -EISDIR);
	CHECK(strstr(hs_dump_file_error_text(&file, -EISDIR), "/.a.tmp is in the way") != NULL);
	rmdir(".a.tmp");
	CHECK_INT(entries(), 0);
}

static void read_only_directory_is_refused(void)
{
	struct hs_dump_file file;

	if (geteuid() == 0) {
		printf("not run as root: read_only_directory_is_refused\n");
		return;
	}
	CHECK_INT(mkdir("closed", 0500), 0);
	CHECK_INT(hs_dump_file_open(&file, "closed/a", false), -EACCES);
	rmdir("closed");
}

static long faulty_call;
static int fault = -EIO;

static long fail_call(long number)
{
	return number == faulty_call ? fault : 0;
}

static int commit_with_fault(struct hs_dump_file *file, long number)
{
	int error;

	faulty_call = number;
	atomic_store(&hs_sys_fault, fail_call);
	error = commit_file(file);
	atomic_store(&hs_sys_fault, NULL);
	return error;
}

static void failed_commit_leaves_the_old_file(void)
{
	struct hs_dump_file file;
	static const long calls[] = {SYS_renameat2, SYS_close};

	write_text("a", "old");
	for (size_t i = 0; i < 2; i++) {
		int fd;

		CHECK_INT(hs_dump_file_open(&file, "a", false), 0);
		fd = file.own.fd;
		CHECK_INT(hs_sys_write_all(fd, "new", 3), 0);
		CHECK_INT(commit_with_fault(&file, calls[i]), -EIO);
		CHECK_STR(content("a"), "old");
		CHECK_INT(entries(), 1);
		CHECK(!file.own.is_open);
		if (calls[i] == SYS_close)
			close(fd); /* the injected failure kept it open */
	}
	unlink("a");
	/* A directory in the way. */
	CHECK_INT(hs_dump_file_open(&file, "a", false), 0);
	CHECK_INT(mkdir("a", 0700), 0);
	CHECK_INT(commit_file(&file), -EISDIR);
	CHECK_INT(entries(), 1);
	rmdir("a");
}

static void file_that_cannot_be_told_apart_is_not_left(void)
{
	int (*const open_file[])(struct hs_dump_file *, const char *, bool) = {hs_dump_file_open,
									       hs_dump_file_create};
	struct hs_dump_file file;
	int fd = dup(0);

	close(fd);
	faulty_call = SYS_newfstatat;
	for (size_t i = 0; i < 4; i++) {
		bool is_closed = i < 2; /* by the program, which may have its own there at once */

		fault = is_closed ? -EBADF : -EIO;
		atomic_store(&hs_sys_fault, fail_call);
		CHECK_INT(open_file[i % 2](&file, "a", false), fault);
		atomic_store(&hs_sys_fault, NULL);
		CHECK(!file.own.is_open);
		CHECK_INT(entries(), 0);
		CHECK_INT(fcntl(fd, F_GETFD), is_closed ? FD_CLOEXEC : -1);
		close(fd);
	}
}

/* What a server says of an earlier write; and that it has lost the file is not said of the name. */
static void failure_of_fstat_is_the_files(void)
{
	static const struct {
		int fault, error;
	} cases[] = {{-ENOSPC, -ENOSPC}, {-EIO, -EIO}, {-ESTALE, -EIO}, {-EBADF, -EBADF}};
	struct hs_dump_file file;

	faulty_call = SYS_newfstatat;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		bool is_ours = cases[i].fault != -EBADF;
		int fd;

		CHECK_INT(hs_dump_file_open(&file, "a", false), 0);
		fd = file.own.fd;
		fault = cases[i].fault;
		atomic_store(&hs_sys_fault, fail_call);
		CHECK_INT(hs_dump_file_write(&file, "x", 1), cases[i].error);
		CHECK_INT(hs_dump_file_close(&file, 0), cases[i].error);
		atomic_store(&hs_sys_fault, NULL);
		CHECK(!hs_dump_file_is_taken(&file, cases[i].error));
		CHECK_INT(fcntl(fd, F_GETFD), is_ours ? -1 : FD_CLOEXEC);
		if (!is_ours)
			close(fd);
		hs_dump_file_open_directory(&file);
		CHECK_INT(hs_dump_file_finish(&file, cases[i].error), cases[i].error);
		hs_dump_file_close_other(&file);
		CHECK_INT(entries(), 0);
	}
}

/* Whether the complete file still has its name cannot be told: nobody else has taken that. */
static void name_that_cannot_be_looked_for_is_not_taken(void)
{
	struct hs_dump_file file;

	faulty_call = SYS_newfstatat;
	fault = -EIO;
	CHECK_INT(hs_dump_file_open(&file, "a", false), 0);
	CHECK_INT(hs_dump_file_close(&file, 0), 0);
	hs_dump_file_open_directory(&file);
	atomic_store(&hs_sys_fault, fail_call);
	CHECK_INT(hs_dump_file_finish(&file, 0), -EIO);
	atomic_store(&hs_sys_fault, NULL);
	CHECK(!hs_dump_file_is_taken(&file, -EIO));
	hs_dump_file_close_other(&file);
	unlink(".a.tmp");
}

static void closed_file_is_given_up(void)
{
	struct hs_dump_file file;

	CHECK_INT(hs_dump_file_open(&file, "a", false), 0);
	CHECK_INT(close(file.own.fd), 0);
	CHECK_INT(commit_file(&file), -EBADF);
	CHECK_INT(entries(), 0);
}

static void change_of_directory_does_no_harm(void)
{
	struct hs_dump_file file;

	CHECK_INT(hs_dump_file_open(&file, "a", false), 0);
	CHECK(file.path[0] == '/');
	CHECK_INT(chdir("/"), 0);
	CHECK_INT(commit_file(&file), 0);
	CHECK_INT(chdir(scratch), 0);
	CHECK_STR(content("a"), "");
	unlink("a");
	/* The directory's path cannot be found out: the relative path is used as it is. */
	faulty_call = SYS_getcwd;
	atomic_store(&hs_sys_fault, fail_call);
	CHECK_INT(hs_dump_file_open(&file, "a", false), 0);
	atomic_store(&hs_sys_fault, NULL);
	CHECK_STR(file.path, "a");
	CHECK_STR(file.temporary, ".a.tmp");
	discard_file(&file);
	CHECK_INT(chdir("/"), 0);
	CHECK_INT(hs_dump_file_open(&file, "no-such-directory/a", false), -ENOENT);
	CHECK_STR(file.path, "/no-such-directory/a");
	CHECK_INT(chdir(scratch), 0);
	CHECK_INT(entries(), 0);
}

static void errors_have_words(void)
{
	CHECK_STR(hs_dump_error_text(-ENOSPC), "no space left on the device");
	CHECK_STR(hs_dump_error_text(-ENOSYS), "a system call is refused");
	CHECK_STR(hs_dump_error_text(-EIO), "input/output error");
	/* A single file that a container has from its host cannot be replaced. */
	CHECK(strstr(hs_dump_error_text(-EBUSY), "is mounted there") != NULL);
	/* -ENOMEM may be due to the arena's budget or to setrlimit(). */
	CHECK(strstr(hs_dump_error_text(-ENOMEM), "HEAPSAMPLE_MEMORY") != NULL);
	CHECK(strstr(hs_dump_error_text(-ENOMEM), "limit") != NULL);
	CHECK_STR(hs_dump_error_text(-ENOTTY), "error");
}

int main(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(scratch, sizeof scratch, "%s/hs_dump_file.XXXXXX",
		 base != NULL && strlen(base) < 32 ? base : "/tmp");
	if (mkdtemp(scratch) == NULL || chdir(scratch) != 0)
		SKIP("no scratch directory");
	RUN(letters_are_replaced);
	RUN(substituted_texts_stay_in_the_directory);
	RUN(inherited_pattern_gets_the_pid);
	RUN(bad_patterns_are_refused);
	RUN(long_names_are_refused);
	RUN(number_is_one_that_no_file_has);
	RUN(file_appears_when_complete);
	RUN(longest_name_is_written);
	RUN(discarded_file_leaves_nothing);
	RUN(leftover_is_replaced);
	RUN(writers_of_one_name_do_not_mix);
	RUN(links_are_not_followed);
	RUN(another_directory_is_not_touched);
	RUN(the_open_directory_is_changed);
	RUN(no_descriptor_is_free_at_the_end);
	RUN(only_files_are_replaced);
	RUN(links_into_proc_are_not_replaced);
	RUN(impossible_paths_are_refused);
	RUN(read_only_directory_is_refused);
	RUN(failed_commit_leaves_the_old_file);
	RUN(file_that_cannot_be_told_apart_is_not_left);
	RUN(failure_of_fstat_is_the_files);
	RUN(name_that_cannot_be_looked_for_is_not_taken);
	RUN(closed_file_is_given_up);
	RUN(change_of_directory_does_no_harm);
	RUN(errors_have_words);
	CHECK_INT(rmdir(scratch), 0);
	return CHECK_RESULT();
}
