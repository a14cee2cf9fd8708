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

int main(void)
{
	RUN(one_that_is_ours_is_closed_once);
	RUN(zero_is_closed);
	RUN(another_s_is_left_open);
	RUN(one_that_cannot_be_told_apart_is_closed);
	RUN(errors_leave_it_closed);
	return CHECK_RESULT();
}
