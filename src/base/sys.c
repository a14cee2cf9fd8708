/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system calls of the profiler.  See sys.h for the contract.
 */
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "arch/syscall.h"
#include "base/descriptor.h"
#include "base/likely.h"

/* The pause in place of a wait that the kernel refuses. */
#define REFUSED_NS 1000000

/* How long a real-time thread gives the processor away before it sleeps, and then at a time. */
#define YIELD_NS 1000000

_Atomic(hs_sys_fault_fn) hs_sys_fault;

long hs_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	/* Relaxed: set by a test before the code under test runs. */
	hs_sys_fault_fn fault = atomic_load_explicit(&hs_sys_fault, memory_order_relaxed);

	if (hs_unlikely(fault != NULL)) {
		long injected = fault(number);
		if (injected < 0)
			return injected;
		if (injected > 0 && injected < c)
			c = injected;
	}
	return hs_arch_syscall(number, a, b, c, d, e, f);
}

/* Repeats after EINTR.  -EIO at the end, not -EINTR: callers (libelf) would repeat that too. */
static long repeat(long number, long a, long b, long c, long d)
{
	unsigned repeats = 0;
	long result;

	do
		result = hs_syscall(number, a, b, c, d, 0, 0);
	while (result == -EINTR && ++repeats < HS_SYS_REPEATS);
	return result == -EINTR ? -EIO : result;
}

int hs_sys_open(const char *path, int flags, mode_t mode)
{
	return (int)hs_syscall(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, mode, 0, 0);
}

int hs_sys_close(int fd)
{
	return (int)hs_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

ssize_t hs_sys_read(int fd, void *buffer, size_t bytes)
{
	return repeat(SYS_read, fd, (long)buffer, (long)bytes, 0);
}

ssize_t hs_sys_pread(int fd, void *buffer, size_t bytes, uint64_t offset)
{
	return repeat(SYS_pread64, fd, (long)buffer, (long)bytes, (long)offset);
}

int hs_sys_stat(const char *path, struct stat *out)
{
	return (int)hs_syscall(SYS_newfstatat, AT_FDCWD, (long)path, (long)out, 0, 0, 0);
}

int hs_sys_fstat(int fd, struct stat *out)
{
	return (int)hs_syscall(SYS_newfstatat, fd, (long)"", (long)out, AT_EMPTY_PATH, 0, 0);
}

int hs_sys_lstat(int directory, const char *name, struct stat *out)
{
	return (int)hs_syscall(SYS_newfstatat, directory, (long)name, (long)out,
			       AT_SYMLINK_NOFOLLOW, 0, 0);
}

int hs_sys_rename(int directory, const char *from, const char *to, unsigned flags)
{
	return (int)hs_syscall(SYS_renameat2, directory, (long)from, directory, (long)to, flags, 0);
}

int hs_sys_unlink(int directory, const char *name)
{
	return (int)hs_syscall(SYS_unlinkat, directory, (long)name, 0, 0, 0, 0);
}

ssize_t hs_sys_readlink(const char *path, char *buffer, size_t bytes)
{
	return hs_syscall(SYS_readlinkat, AT_FDCWD, (long)path, (long)buffer, (long)bytes, 0, 0);
}

size_t hs_sys_working_directory(char *buffer, size_t capacity)
{
	long bytes = hs_syscall(SYS_getcwd, (long)buffer, (long)capacity, 0, 0, 0, 0);

	/* "(unreachable)/..." is outside of the root directory. */
	if (bytes > 1 && buffer[0] == '/')
		return (size_t)bytes - 1;
	buffer[0] = '\0';
	return 0;
}

int hs_sys_write_all(int fd, const void *buffer, size_t bytes)
{
	const char *next = buffer;

	while (bytes > 0) {
		long written = repeat(SYS_write, fd, (long)next, (long)bytes, 0);
		if (written < 0)
			return (int)written;
		if (written == 0)
			return -EIO;
		next += written;
		bytes -= (size_t)written;
	}
	return 0;
}

bool hs_sys_wait_writable(int fd, int64_t timeout_ns)
{
	struct pollfd wanted = {.fd = fd, .events = POLLOUT};
	/* What is left of it, after each call. */
	struct timespec limit = {
		.tv_sec = timeout_ns / HS_SECOND_NS,
		.tv_nsec = timeout_ns % HS_SECOND_NS,
	};

	/* If a seccomp filter refuses the wait, the write is tried. */
	return repeat(SYS_ppoll, (long)&wanted, 1, (long)&limit, 0) != 0;
}

int hs_sys_pread_all(int fd, void *buffer, size_t bytes, uint64_t offset)
{
	char *next = buffer;

	while (bytes > 0) {
		ssize_t got = hs_sys_pread(fd, next, bytes, offset);
		if (got < 0)
			return (int)got;
		if (got == 0)
			return -ENODATA;
		next += got;
		offset += (uint64_t)got;
		bytes -= (size_t)got;
	}
	return 0;
}

/* of_kernel: only a file that the kernel makes, which has contents and no size. */
static ssize_t read_file(const char *path, char *buffer, size_t capacity, bool of_kernel)
{
	struct hs_descriptor opened;
	struct stat file;
	ssize_t got = hs_descriptor_open(&opened, path, O_RDONLY, 0, &file);
	size_t used = 0;

	if (got != 0)
		return got;
	got = of_kernel && file.st_size != 0 ? -EINVAL : 0;
	while (got >= 0 && used + 1 < capacity) {
		got = hs_sys_pread(opened.fd, buffer + used, capacity - 1 - used, used);
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	/* Whose number it is by now may be another file's, also what was read. */
	if (hs_descriptor_close(&opened) == -EBADF)
		got = -EBADF;
	buffer[used] = '\0';
	return got < 0 ? got : (ssize_t)used;
}

ssize_t hs_sys_read_file(const char *path, char *buffer, size_t capacity)
{
	return read_file(path, buffer, capacity, false);
}

ssize_t hs_sys_read_kernel_file(const char *path, char *buffer, size_t capacity)
{
	return read_file(path, buffer, capacity, true);
}

const char *hs_sys_state_in_stat(const char *text)
{
	/* "pid (name) S ...": the name may contain anything, what follows it no ')'. */
	const char *name_end = strrchr(text, ')');

	return name_end != NULL && name_end[1] == ' ' ? name_end + 2 : NULL;
}

void *hs_sys_map(size_t bytes, int protection)
{
	long address = hs_syscall(SYS_mmap, 0, (long)bytes, protection,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return address < 0 && address > -4096 ? NULL : (void *)address;
}

int hs_sys_unmap(void *address, size_t bytes)
{
	return (int)hs_syscall(SYS_munmap, (long)address, (long)bytes, 0, 0, 0, 0);
}

int hs_sys_protect(void *address, size_t bytes, int protection)
{
	return (int)hs_syscall(SYS_mprotect, (long)address, (long)bytes, protection, 0, 0, 0);
}

int hs_sys_advise(void *address, size_t bytes, int advice)
{
	return (int)hs_syscall(SYS_madvise, (long)address, (long)bytes, advice, 0, 0, 0);
}

/* Unseen by ThreadSanitizer: what other threads store there meanwhile, atomically or not, stays. */
__attribute__((no_sanitize("thread"))) void hs_sys_touch(void *start, size_t bytes)
{
	uintptr_t at = (uintptr_t)start, end = at + bytes;
	unsigned char none = 0;

	/* If clang knows that it is 0, it only reads the pages. */
	__asm__("" : "+r"(none));
	for (; at < end; at = (at | (HS_PAGE_BYTES - 1)) + 1)
		__atomic_fetch_or((unsigned char *)at, none, __ATOMIC_RELAXED);
}

int hs_sys_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
	struct timespec limit = {
		.tv_sec = timeout_ns / HS_SECOND_NS,
		.tv_nsec = timeout_ns % HS_SECOND_NS,
	};
	long result = hs_syscall(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, (long)expected,
				 timeout_ns < 0 ? 0 : (long)&limit, 0, 0);

	/* A seccomp filter refuses it.  Callers look again at once: they must not spin. */
	if (result < 0 && result != -EAGAIN && result != -EINTR && result != -ETIMEDOUT) {
		limit = (struct timespec){.tv_nsec = REFUSED_NS};
		hs_syscall(SYS_nanosleep, (long)&limit, 0, 0, 0, 0, 0);
	}
	return (int)result;
}

/* Of headers before Linux 5.16. */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

int hs_sys_futex_wait_either(_Atomic uint32_t *word, uint32_t expected, uintptr_t shared,
			     uint32_t shared_expected, int64_t timeout_ns)
{
	enum { WORD_OF_32_BITS = 2 };
	/* struct futex_waitv */
	const struct {
		uint64_t expected, address;
		uint32_t flags, reserved;
	} words[] = {
		{expected, (uintptr_t)word, WORD_OF_32_BITS | FUTEX_PRIVATE_FLAG, 0},
		{shared_expected, shared, WORD_OF_32_BITS, 0},
	};
	/* The kernel's, which hs_sys_monotonic_ns() may be ahead of. */
	uint64_t end_ns = hs_sys_clock_ns(CLOCK_MONOTONIC) + (uint64_t)timeout_ns;
	const struct timespec end = {
		.tv_sec = (time_t)(end_ns / HS_SECOND_NS),
		.tv_nsec = (long)(end_ns % HS_SECOND_NS),
	};

	return (int)hs_syscall(SYS_futex_waitv, (long)words, 2, 0,
			       timeout_ns < 0 ? 0 : (long)&end, CLOCK_MONOTONIC, 0);
}

/* Of the last wake.  Relaxed: a hint. */
static _Atomic bool is_wake_refused;

bool hs_sys_is_wake_refused(void)
{
	return atomic_load_explicit(&is_wake_refused, memory_order_relaxed);
}

int hs_sys_futex_wake(_Atomic uint32_t *word, int waiters)
{
	int result = (int)hs_syscall(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, waiters, 0, 0, 0);

	if ((result < 0) != hs_sys_is_wake_refused())
		atomic_store_explicit(&is_wake_refused, result < 0, memory_order_relaxed);
	return result;
}

pid_t hs_sys_getpid(void)
{
	return (pid_t)hs_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

pid_t hs_sys_gettid(void)
{
	return (pid_t)hs_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

bool hs_sys_thread_is_gone(pid_t tid)
{
	return hs_syscall(SYS_tgkill, hs_sys_getpid(), tid, 0, 0, 0, 0) == -ESRCH;
}

int hs_sys_policy(void)
{
	long policy = hs_syscall(SYS_sched_getscheduler, 0, 0, 0, 0, 0, 0);

	return (int)(policy & ~(long)SCHED_RESET_ON_FORK);
}

bool hs_sys_is_real_time(void)
{
	int policy = hs_sys_policy();

	return policy == SCHED_FIFO || policy == SCHED_RR;
}

void hs_sys_let_others_run(uint64_t start_ns)
{
	_Atomic uint32_t word = 0;

	if (hs_sys_monotonic_ns() - start_ns < YIELD_NS || !hs_sys_is_real_time())
		hs_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	else
		hs_sys_futex_wait(&word, 0, YIELD_NS);
}

int hs_sys_signal_handler(int number, uintptr_t *handler)
{
	uint64_t action[4] = {0}; /* the kernel's: handler, flags, restorer and mask */
	int result = (int)hs_syscall(SYS_rt_sigaction, number, 0, (long)action, sizeof action[3], 0,
				     0);

	*handler = action[0];
	return result;
}

uint64_t hs_sys_soft_limit(int resource)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	_Static_assert(RLIM_INFINITY == UINT64_MAX, "no limit");
	hs_syscall(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0);
	return limit.rlim_cur;
}

ssize_t hs_sys_process_vm_read(pid_t tid, uintptr_t address, void *buffer, size_t bytes)
{
	struct iovec to = {.iov_base = buffer, .iov_len = bytes};
	struct iovec from = {.iov_base = (void *)address, .iov_len = bytes};

	/* Not repeated, which takes stack: nothing but the thread's end interrupts it. */
	return hs_syscall(SYS_process_vm_readv, tid, (long)&to, 1, (long)&from, 1, 0);
}

uint64_t hs_sys_random(void)
{
	uint64_t value = 0;

	if (hs_syscall(SYS_getrandom, (long)&value, sizeof value, 1 /* GRND_NONBLOCK */, 0, 0, 0) !=
	    (long)sizeof value)
		value = hs_sys_monotonic_ns() ^ ((uint64_t)(uintptr_t)&value << 16);
	return value;
}
