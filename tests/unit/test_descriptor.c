/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that the program may close or take: they are told apart by their file. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/sys.h"
#include "check.h"

static long refuse_fstat(long number)
{
	return number == SYS_newfstatat ? -ENOSYS : 0;
}

static int next_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static struct hs_descriptor open_null(void)
{
	struct hs_descriptor descriptor;
	struct stat file;

	CHECK_INT(hs_descriptor_open(&descriptor, "/dev/null", O_RDONLY, 0, &file), 0);
	CHECK(descriptor.is_open && S_ISCHR(file.st_mode));
	CHECK(descriptor.device == file.st_dev && descriptor.inode == file.st_ino);
	CHECK_INT(fcntl(descriptor.fd, F_GETFD), FD_CLOEXEC);
	return descriptor;
}

static void one_that_is_ours_is_closed_once(void)
{
	int fd = next_fd();
	struct hs_descriptor descriptor = open_null();

	CHECK_INT(hs_descriptor_check(&descriptor), 0);
	CHECK_INT(hs_descriptor_close(&descriptor), 0);
	CHECK(!descriptor.is_open && descriptor.fd == -1);
	CHECK_INT(next_fd(), fd);
	CHECK_INT(hs_descriptor_check(&descriptor), -EBADF);
	CHECK_INT(hs_descriptor_close(&descriptor), -EBADF);
}

static void zero_is_closed(void)
{
	struct hs_descriptor none = {.is_open = false};

	CHECK_INT(hs_descriptor_check(&none), -EBADF);
	CHECK_INT(hs_descriptor_close(&none), -EBADF);
	CHECK(fcntl(STDIN_FILENO, F_GETFD) >= 0);
}

static void another_s_is_left_open(void)
{
	struct hs_descriptor descriptor = open_null();
	int fd = descriptor.fd, other = open("/dev/zero", O_RDONLY);

	CHECK_INT(dup2(other, fd), fd);
	CHECK_INT(hs_descriptor_check(&descriptor), -EBADF);
	CHECK_INT(hs_descriptor_close(&descriptor), -EBADF);
	CHECK(!descriptor.is_open);
	CHECK_INT(close(fd), 0);
	CHECK_INT(close(other), 0);
}

/* It is not kept, but not left open either. */
static void one_that_cannot_be_told_apart_is_closed(void)
{
	struct hs_descriptor descriptor = open_null(), second;
	int fd = descriptor.fd;

	atomic_store(&hs_sys_fault, refuse_fstat);
	CHECK_INT(hs_descriptor_check(&descriptor), -ENOSYS);
	CHECK_INT(hs_descriptor_open(&second, "/dev/null", O_RDONLY, 0, NULL), -ENOSYS);
	CHECK(!second.is_open);
	CHECK_INT(hs_descriptor_close(&descriptor), 0);
	atomic_store(&hs_sys_fault, NULL);
	CHECK_INT(next_fd(), fd);
}

static void errors_leave_it_closed(void)
{
	struct hs_descriptor descriptor;
	struct stat file;
	int fd = next_fd();

	CHECK_INT(hs_descriptor_open(&descriptor, "/no/such/file", O_RDONLY, 0, NULL), -ENOENT);
	CHECK(!descriptor.is_open);
	CHECK_INT(hs_descriptor_open_regular(&descriptor, "/dev/null", &file), -EINVAL);
	CHECK(!descriptor.is_open);
	CHECK_INT(hs_descriptor_note(&descriptor, fd, NULL), -EBADF);
	CHECK(!descriptor.is_open);
	hs_sys_fault = refuse_fstat;
	CHECK_INT(hs_descriptor_open(&descriptor, "/dev/null", O_RDONLY, 0, NULL), -ENOSYS);
	hs_sys_fault = NULL;
	CHECK(!descriptor.is_open);
	CHECK_INT(next_fd(), fd);
}

/* 1 << fd: a standard descriptor that the program has closed and goes on writing to. */
static unsigned closed;

static long write_to_closed(long number)
{
	(void)number;
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if ((closed & 1u << fd) != 0)
			CHECK(write(fd, "x", 1) < 0 && errno == EBADF);
	}
	return 0;
}

/* As if closed were, before each of its system calls and behind it. */
static int open_with_closed(const char *path)
{
	int saved[STDERR_FILENO + 1], fd;

	for (int i = 0; i <= STDERR_FILENO; i++) {
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if ((closed & 1u << i) != 0)
			close(i);
	}
	atomic_store(&hs_sys_fault, write_to_closed);
	fd = hs_open_to_write(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	atomic_store(&hs_sys_fault, NULL);
	write_to_closed(0);
	for (int i = 0; i <= STDERR_FILENO; i++) {
		if ((closed & 1u << i) != 0)
			CHECK(fcntl(i, F_GETFD) < 0 && errno == EBADF);
		dup2(saved[i], i);
		close(saved[i]);
	}
	return fd;
}

static int opens;

/* Another thread of the program's gives 1 a file, while it is held. */
static long take_standard_output(long number)
{
	if (number == SYS_openat && ++opens == 2)
		CHECK_INT(dup2(STDERR_FILENO, STDOUT_FILENO), STDOUT_FILENO);
	return 0;
}

static void file_of_the_program_is_not_closed(void)
{
	static const char path[] = "test_descriptor.taken";
	int saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), fd;

	close(STDOUT_FILENO);
	atomic_store(&hs_sys_fault, take_standard_output);
	fd = hs_open_to_write(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	atomic_store(&hs_sys_fault, NULL);
	CHECK(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
	CHECK(fd > STDERR_FILENO && unlink(path) == 0 && close(fd) == 0);
	dup2(saved, STDOUT_FILENO);
	close(saved);
}

static void standard_ones_are_never_ours(void)
{
	static const char path[] = "test_descriptor.closed";
	struct stat file;
	int lowest = next_fd(), fd;

	for (closed = 0; closed < 1u << (STDERR_FILENO + 1); closed++) {
		fd = open_with_closed(path);
		CHECK(fd > STDERR_FILENO);
		CHECK_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
		CHECK_INT(write(fd, "ours", 4), 4);
		CHECK(fstat(fd, &file) == 0 && file.st_size == 4);
		CHECK_INT(open_with_closed(path), -EEXIST);
		CHECK_INT(unlink(path), 0);
		CHECK_INT(close(fd), 0);
		CHECK_INT(next_fd(), lowest);
	}
}

int main(void)
{
	RUN(one_that_is_ours_is_closed_once);
	RUN(zero_is_closed);
	RUN(another_s_is_left_open);
	RUN(one_that_cannot_be_told_apart_is_closed);
	RUN(errors_leave_it_closed);
	RUN(standard_ones_are_never_ours);
	RUN(file_of_the_program_is_not_closed);
	return CHECK_RESULT();
}
