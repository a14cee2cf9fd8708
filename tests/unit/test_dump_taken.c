/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are new, among those that other processes write or have left under their names, in a
 * scratch directory of the test's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sys.h"
#include "check.h"
#include "output/dump_file.h"
#include "output/written_file.h"
#include "whole_file.h"

static char scratch[64];

static const char *content(const char *path)
{
	static char bytes[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof bytes - 1);

	bytes[got < 0 ? 0 : got] = '\0';
	close(fd);
	return got < 0 ? NULL : bytes;
}

/* age_s: since it was written. */
static void write_aged(const char *path, const char *text, time_t age_s)
{
	struct timespec then = {.tv_sec = time(NULL) - age_s}, times[2] = {then, then};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK_INT(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	CHECK_INT(futimens(fd, times), 0);
	close(fd);
}

static void write_text(const char *path, const char *text, bool is_old)
{
	write_aged(path, text, is_old ? time(NULL) : 0);
}

/* The descriptor that the next open() returns. */
static int next_descriptor(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

/* Opens a new file, and writes into it. */
static void open_new(struct hs_dump_file *file, const char *path)
{
	CHECK_INT(hs_dump_file_open(file, path, true), 0);
	CHECK_INT(hs_sys_write_all(file->own.fd, "new", 3), 0);
}

static void a_new_file_gets_its_name(void)
{
	struct hs_dump_file file;

	open_new(&file, "a");
	CHECK_INT(commit_file(&file), 0);
	CHECK(!hs_dump_file_is_taken(&file, 0));
	CHECK_STR(content("a"), "new");
	CHECK_INT(unlink("a"), 0);
}

static void the_first_of_two_has_the_name(void)
{
	struct hs_dump_file first, second;
	int next = next_descriptor();

	open_new(&first, "a");
	CHECK_INT(hs_dump_file_open(&second, "a", true), -EEXIST);
	CHECK(!second.own.is_open);
	CHECK(hs_dump_file_is_taken(&second, -EEXIST));
	CHECK(strstr(hs_dump_file_error_text(&second, -EEXIST), "another process") != NULL);
	CHECK_INT(commit_file(&first), 0);
	CHECK_INT(hs_dump_file_open(&second, "a", true), -EEXIST);
	CHECK_INT(next_descriptor(), next);
	CHECK(access(".a.tmp", F_OK) != 0);
	CHECK_STR(content("a"), "new");
	CHECK_INT(unlink("a"), 0);
}

/* Whatever the kernel and the file system can do. */
static int refusals; /* of renameat2(), the first calls */
static int refusal;
static bool is_link_refused;

static long refuse(long number)
{
	if (number == SYS_linkat && is_link_refused)
		return -EPERM;
	return number == SYS_renameat2 && refusals-- > 0 ? refusal : 0;
}

static int commit_refused(struct hs_dump_file *file, bool link_too)
{
	int error;

	refusals = 1;
	refusal = link_too ? -ENOSYS : -EINVAL;
	is_link_refused = link_too;
	atomic_store(&hs_sys_fault, refuse);
	error = commit_file(file);
	atomic_store(&hs_sys_fault, NULL);
	return error;
}

/* A server that is asked twice, because its answer was lost, finds the name there. */
static void own_name_is_not_anothers(void)
{
	struct hs_dump_file file;
	struct stat status;

	open_new(&file, "a");
	CHECK_INT(link(".a.tmp", "a"), 0);
	CHECK_INT(commit_refused(&file, false), 0);
	CHECK(access(".a.tmp", F_OK) != 0);
	CHECK(stat("a", &status) == 0 && status.st_nlink == 1);
	CHECK_INT(unlink("a"), 0);
}

static void nothing_is_replaced(void)
{
	struct hs_dump_file file;

	open_new(&file, "a");
	write_text("a", "precious", false);
	CHECK_INT(commit_file(&file), -EEXIST);
	for (int link_too = 0; link_too < 2; link_too++) {
		CHECK_STR(content("a"), "precious");
		CHECK(access(".a.tmp", F_OK) != 0);
		CHECK_INT(unlink("a"), 0);
		open_new(&file, "a");
		CHECK_INT(commit_refused(&file, link_too), 0);
		CHECK_STR(content("a"), "new");
		CHECK_INT(unlink("a"), 0);
		open_new(&file, "a");
		write_text("a", "precious", false);
		CHECK_INT(commit_refused(&file, link_too), -EEXIST);
	}
	CHECK_INT(unlink("a"), 0);
	CHECK(access(".a.tmp", F_OK) != 0);
}

static void what_another_has_left_is_replaced_when_it_is_old(void)
{
	struct hs_dump_file file;

	write_text(".a.tmp", "being written", false);
	CHECK_INT(hs_dump_file_open(&file, "a", true), -EEXIST);
	write_aged(".a.tmp", "being written", 30);
	CHECK_INT(hs_dump_file_open(&file, "a", true), -EEXIST);
	CHECK_STR(content(".a.tmp"), "being written");
	write_aged(".a.tmp", "left behind", 100);
	open_new(&file, "a");
	CHECK_INT(commit_file(&file), 0);
	CHECK(access(".a.tmp", F_OK) != 0);
	CHECK_INT(unlink("a"), 0);
}

static void what_nobody_can_have_left_stays(void)
{
	static const struct timespec long_ago[2];
	struct hs_dump_file file;

	CHECK_INT(symlink("missing", ".a.tmp"), 0);
	CHECK_INT(utimensat(AT_FDCWD, ".a.tmp", long_ago, AT_SYMLINK_NOFOLLOW), 0);
	CHECK_INT(hs_dump_file_open(&file, "a", true), -EEXIST);
	CHECK_INT(unlink(".a.tmp"), 0);
}

static int looks, replaced_fd; /* the descriptor is replaced at the last of so many looks */

static long replace(long number)
{
	if (number == SYS_newfstatat && --looks == 0) {
		int own = open("/dev/null", O_RDONLY | O_CLOEXEC);

		dup2(own, replaced_fd);
		close(own);
		(void)rename("another", ".a.tmp");
	}
	return 0;
}

/* While the path is looked at, which may take seconds, the program puts a file of its own there. */
static void a_descriptor_of_the_program_stays_open(void)
{
	struct hs_dump_file file;

	write_text("a", "precious", false);
	replaced_fd = dup(0);
	close(replaced_fd);
	/* Is a file left behind?  What was created?  Has another got the path? */
	looks = 3;
	atomic_store(&hs_sys_fault, replace);
	CHECK_INT(hs_dump_file_open(&file, "a", true), -EEXIST);
	atomic_store(&hs_sys_fault, NULL);
	CHECK(looks <= 0);
	CHECK(fcntl(replaced_fd, F_GETFD) >= 0);
	CHECK(!file.own.is_open);
	CHECK(access(".a.tmp", F_OK) != 0);
	/* Nor is another's temporary file removed. */
	write_text("another", "being written", false);
	looks = 3;
	atomic_store(&hs_sys_fault, replace);
	CHECK_INT(hs_dump_file_open(&file, "a", true), -EEXIST);
	atomic_store(&hs_sys_fault, NULL);
	CHECK_STR(content(".a.tmp"), "being written");
	CHECK_INT(unlink(".a.tmp"), 0);
	close(replaced_fd);
	CHECK_INT(unlink("a"), 0);
}

static long no_unlink(long number)
{
	return number == SYS_unlinkat ? -EPERM : 0;
}

/* As of another user's file in a directory like /tmp. */
static void what_cannot_be_removed_is_told(void)
{
	struct hs_dump_file file;

	for (int is_new = 0; is_new < 2; is_new++) {
		write_text(".a.tmp", "another user's", true);
		atomic_store(&hs_sys_fault, no_unlink);
		CHECK_INT(hs_dump_file_open(&file, "a", is_new), -EPERM);
		atomic_store(&hs_sys_fault, NULL);
		CHECK(hs_dump_file_is_taken(&file, -EPERM));
		CHECK(strstr(hs_dump_file_error_text(&file, -EPERM),
			     "/.a.tmp is in the way: permission denied") != NULL);
		CHECK(!hs_dump_file_is_taken(&file, -ENOSPC));
		CHECK_STR(hs_dump_file_error_text(&file, -ENOSPC), "no space left on the device");
		CHECK_INT(unlink(".a.tmp"), 0);
	}
	/* That of the file before is forgotten. */
	CHECK_INT(hs_dump_file_open(&file, "missing/a", true), -ENOENT);
	CHECK(!hs_dump_file_is_taken(&file, -ENOENT));
	CHECK(!hs_dump_file_is_taken(&file, -EPERM));
}

static int commit_not_permitted(const char *path, bool is_new, struct hs_dump_file *file)
{
	int error;

	CHECK_INT(hs_dump_file_open(file, path, is_new), 0);
	refusals = 1;
	refusal = -EPERM;
	is_link_refused = false;
	atomic_store(&hs_sys_fault, refuse);
	error = commit_file(file);
	atomic_store(&hs_sys_fault, NULL);
	CHECK(access(".a.tmp", F_OK) != 0);
	return error;
}

/* Another user's file is in the way of one that replaces; a new one has met none. */
static void what_cannot_be_replaced_is_told(void)
{
	struct hs_dump_file file;

	CHECK_INT(commit_not_permitted("a", false, &file), -EPERM);
	CHECK(hs_dump_file_is_taken(&file, -EPERM));
	CHECK(strstr(hs_dump_file_error_text(&file, -EPERM),
		     "/a is in the way: permission denied") != NULL);
	CHECK_INT(commit_not_permitted("a", true, &file), -EPERM);
	CHECK(!hs_dump_file_is_taken(&file, -EPERM));
	CHECK_STR(hs_dump_file_error_text(&file, -EPERM), "permission denied");
}

static void a_new_stream_replaces_nothing(void)
{
	struct hs_dump_file file;

	write_text("a", "running", false);
	CHECK_INT(hs_dump_file_create(&file, "a", true), -EEXIST);
	CHECK_STR(content("a"), "running");
	CHECK_INT(unlink("a"), 0);
	CHECK_INT(hs_dump_file_create(&file, "a", true), 0);
	hs_dump_file_forget(&file);
	CHECK_INT(unlink("a"), 0);
}

/* A link that leads nowhere has its name too: another user's cannot be replaced. */
static void names_of_links_are_passed_over(void)
{
	struct hs_dump_name name = {.number = 3};
	struct hs_dump_file file;
	char path[64];

	CHECK_INT(symlink("missing", "0003"), 0);
	CHECK_INT(hs_dump_file_open(&file, "0003", true), -EEXIST);
	CHECK_INT(hs_dump_name_expand_free("%n", &name, path, sizeof path), 0);
	CHECK_STR(path, "0004");
	CHECK_INT(unlink("0003"), 0);
}

static void the_next_name(void)
{
	struct hs_dump_name name = {.reason = "exit", .number = 3};
	char path[64];

	CHECK(!hs_dump_name_is_new("a.%e.%h.%p.%r.%t.%%n", &name));
	CHECK(!hs_dump_name_advance("a", &name));
	CHECK(hs_dump_name_is_new("a.%n", &name));
	CHECK(hs_dump_name_advance("a.%n", &name));
	CHECK_INT(hs_dump_name_expand("a.%n", &name, path, sizeof path), 0);
	CHECK_STR(path, "a.0004");
}

/* The peaks of earlier lives, or of a heap whose name looks the same in a file's. */
static void the_next_name_of_a_peak(void)
{
	struct hs_dump_name name = {.program = "app", .reason = "peak-gpu/0", .pid = 1};
	char path[64];

	write_text("app.1.peak-gpu_0.gz", "earlier", false);
	CHECK(hs_dump_name_is_new("a", &name));
	CHECK_INT(hs_dump_name_expand_free("%e.%p.%n.gz", &name, path, sizeof path), 0);
	CHECK_STR(path, "app.1.peak-gpu_0.2.gz");
	write_text(path, "earlier", false);
	CHECK_INT(hs_dump_name_expand_free("%e.%p.%n.gz", &name, path, sizeof path), 0);
	CHECK_STR(path, "app.1.peak-gpu_0.3.gz");
	CHECK_INT(name.copy, 2);
	CHECK_INT(hs_dump_name_expand("%r.gz", &name, path, sizeof path), 0);
	CHECK_STR(path, "peak-gpu_0.3.gz");
	CHECK_INT(hs_dump_name_expand("all.gz", &name, path, sizeof path), 0);
	CHECK_STR(path, "all.peak-gpu_0.3.gz");
	name.inherited = true;
	CHECK_INT(hs_dump_name_expand("all.gz", &name, path, sizeof path), 0);
	CHECK_STR(path, "all.1.peak-gpu_0.3.gz");
	CHECK_INT(unlink("app.1.peak-gpu_0.gz"), 0);
	CHECK_INT(unlink("app.1.peak-gpu_0.2.gz"), 0);
}

/* Also where it has the inode of the other: many file systems give them out again. */
static void a_written_file_is_told_from_another(void)
{
	struct hs_written_file none = {.inode = 0}, written, other;

	CHECK_INT(hs_written_file_note(&written, "a"), -ENOENT);
	CHECK(!hs_written_file_is_same(&written, &none));
	write_aged("a", "written", 100);
	CHECK(!hs_written_file_is_at(&none, "a"));
	CHECK_INT(hs_written_file_note(&written, "a"), 0);
	CHECK(hs_written_file_is_at(&written, "a"));
	for (unsigned i = 0; i < 5; i++) {
		other = written;
		other.device += i == 0;
		other.inode += i == 1;
		other.bytes += i == 2;
		other.modified.tv_sec += i == 3;
		other.modified.tv_nsec += i == 4;
		CHECK(!hs_written_file_is_same(&written, &other));
	}
	CHECK_INT(rename("a", "b"), 0);
	CHECK(!hs_written_file_is_at(&written, "a"));
	CHECK_INT(symlink("b", "a"), 0);
	CHECK(!hs_written_file_is_at(&written, "a"));
	CHECK(hs_written_file_is_at(&written, "b"));
	CHECK_INT(unlink("a"), 0);
	CHECK_INT(unlink("b"), 0);
}

int main(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(scratch, sizeof scratch, "%s/hs_dump_taken.XXXXXX",
		 base != NULL && strlen(base) < 32 ? base : "/tmp");
	if (mkdtemp(scratch) == NULL || chdir(scratch) != 0)
		SKIP("no scratch directory");
	RUN(a_new_file_gets_its_name);
	RUN(the_first_of_two_has_the_name);
	RUN(own_name_is_not_anothers);
	RUN(nothing_is_replaced);
	RUN(what_another_has_left_is_replaced_when_it_is_old);
	RUN(what_nobody_can_have_left_stays);
	RUN(a_descriptor_of_the_program_stays_open);
	RUN(what_cannot_be_removed_is_told);
	RUN(what_cannot_be_replaced_is_told);
	RUN(a_new_stream_replaces_nothing);
	RUN(names_of_links_are_passed_over);
	RUN(the_next_name);
	RUN(the_next_name_of_a_peak);
	RUN(a_written_file_is_told_from_another);
	CHECK_INT(rmdir(scratch), 0);
	return CHECK_RESULT();
}
