/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls, raw.  The profiler's calls into the kernel go through hs_syscall(), except for
 * reading clocks, sample/capture.c's look at a stack, and what has to be libc's (threads, handlers
 * of signals).  It never touches errno, never passes through a library function that the program
 * (or another preloaded library) may have replaced, and is the one seam where the tests inject
 * failures.
 *
 * Errors: a negative errno value, as the kernel returns it.
 * Called on: any thread, in signal handlers too.  Errno: preserved.
 */
#ifndef HS_BASE_SYS_H
#define HS_BASE_SYS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/visibility.h"

/*
 * Fault injection, for the tests only: when set, it is called before each system call.  If it
 * returns a value below 0, that is the result and no call is made.  A value above 0 is the most
 * bytes that a read or write asks for, to make it short.
 */
typedef long (*hs_sys_fault_fn)(long number);
extern HS_HIDDEN _Atomic(hs_sys_fault_fn) hs_sys_fault;

long hs_syscall(long number, long a, long b, long c, long d, long e, long f);

/* Adds O_CLOEXEC.  A file that stays open for more than a moment: base/descriptor.h. */
int hs_sys_open(const char *path, int flags, mode_t mode);
int hs_sys_close(int fd);

/* A call that is interrupted is repeated so often at most: no loop goes on for ever. */
#define HS_SYS_REPEATS 1000

/* These repeat a call that fails with EINTR; -EIO if it never stops doing so. */
ssize_t hs_sys_read(int fd, void *buffer, size_t bytes);
ssize_t hs_sys_pread(int fd, void *buffer, size_t bytes, uint64_t offset);

int hs_sys_stat(const char *path, struct stat *out);
int hs_sys_fstat(int fd, struct stat *out);

/* Names in an open directory, or AT_FDCWD.  flags: of renameat2(2). */
int hs_sys_lstat(int directory, const char *name, struct stat *out);
int hs_sys_rename(int directory, const char *from, const char *to, unsigned flags);
int hs_sys_unlink(int directory, const char *name);
ssize_t hs_sys_readlink(const char *path, char *buffer, size_t bytes);

/*
 * The directory that a relative path starts from, absolute.  Returns its length; 0, and "", if it
 * has no name (it was removed, or is outside of the root directory), or one that is too long.
 */
size_t hs_sys_working_directory(char *buffer, size_t capacity);

/* Writes all of it, however many calls that takes.  0 or -errno. */
int hs_sys_write_all(int fd, const void *buffer, size_t bytes);

/*
 * Reads exactly bytes at offset, going on after short reads and EINTR.
 * Returns 0, -errno, or -ENODATA when the file ends before.
 */
int hs_sys_pread_all(int fd, void *buffer, size_t bytes, uint64_t offset);

/* Waits until a write would not block, timeout_ns at most.  False: it still would. */
bool hs_sys_wait_writable(int fd, int64_t timeout_ns);

/*
 * Reads a whole small file (of /proc, whose size is not known before) into a
 * buffer, NUL-terminated.  Returns the bytes read (at most capacity - 1, the
 * rest is cut), or -errno.
 */
ssize_t hs_sys_read_file(const char *path, char *buffer, size_t capacity);

/* The same only of a file that the kernel makes (in a root directory of the program's choice). */
ssize_t hs_sys_read_kernel_file(const char *path, char *buffer, size_t capacity);

/*
 * In the text of a /proc/PID/stat: where the third field begins, the state of the thread; NULL if
 * it is no such text.
 */
const char *hs_sys_state_in_stat(const char *text);

/* The smallest page that there is: memory is mapped and protected in multiples of this. */
#define HS_PAGE_BYTES 4096u

/* Private anonymous memory.  NULL on failure. */
void *hs_sys_map(size_t bytes, int protection);
int hs_sys_unmap(void *address, size_t bytes);
int hs_sys_protect(void *address, size_t bytes, int protection);
int hs_sys_advise(void *address, size_t bytes, int advice);

/*
 * Has the kernel give memory its pages now, without changing what is in it.  Otherwise a page that
 * is read before it is written is mapped twice, and the second time all processors that run the
 * program are interrupted.
 */
void hs_sys_touch(void *start, size_t bytes);

/*
 * Sleeps while *word equals expected, at most timeout_ns (below 0: no limit).
 * Returns 0, -EAGAIN, -EINTR or -ETIMEDOUT.  Where the kernel refuses the call: its error, after a
 * short pause, so that a caller who looks again does not spin.
 */
int hs_sys_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);

/*
 * The same for two words: sleeps while both have their expected values.  The second may belong to
 * memory shared with other processes, or not be mapped (-EFAULT).  Returns 0 or 1, which of the two
 * was woken, or -errno: -ENOSYS before Linux 5.16.
 */
int hs_sys_futex_wait_either(_Atomic uint32_t *word, uint32_t expected, uintptr_t shared,
			     uint32_t shared_expected, int64_t timeout_ns);

/* Returns how many were woken, or -errno. */
int hs_sys_futex_wake(_Atomic uint32_t *word, int waiters);

/* Whether the kernel refused the last wake: a sleeper may not have been woken. */
bool hs_sys_is_wake_refused(void);

pid_t hs_sys_getpid(void);
pid_t hs_sys_gettid(void);

/* Whether thread tid of this process is gone (ESRCH). */
bool hs_sys_thread_is_gone(pid_t tid);

/* The calling thread's policy, such as SCHED_OTHER; none that exists if it cannot be read. */
int hs_sys_policy(void);

/* Whether the calling thread has the policy SCHED_FIFO or SCHED_RR. */
bool hs_sys_is_real_time(void);

/*
 * For each round of a wait, begun at start_ns (monotonic), for something that another thread does
 * at once: gives the processor away.  After a millisecond a real-time thread, which may have it all
 * to itself, sleeps; no other does, for a seccomp filter may kill whoever calls futex().
 */
void hs_sys_let_others_run(uint64_t start_ns);

/* The address of a signal's handler, or SIG_DFL or SIG_IGN.  Returns 0 or -errno. */
int hs_sys_signal_handler(int number, uintptr_t *handler);

/* The process's soft limit of a resource (RLIMIT_*); UINT64_MAX: none, or it cannot be read. */
uint64_t hs_sys_soft_limit(int resource);

/*
 * Copies bytes of this process's own memory from an address that may not be
 * mapped.  Never faults.  Returns the bytes copied, which is less than asked
 * for where the mapping ends, or -errno (-EFAULT: nothing mapped there).
 */
ssize_t hs_sys_read_memory(uintptr_t address, void *buffer, size_t bytes);

/* Exactly bytes of it.  Returns 0 or -errno (-EFAULT: some are not mapped). */
int hs_sys_read_memory_all(uintptr_t address, void *buffer, size_t bytes);

/*
 * The same with one system call (process_vm_readv) and no fall-back: for the program's threads.
 * tid: the caller's.  Not that of the process: once the main thread has left by pthread_exit(), its
 * id gives access to no memory.  -EPERM or -ENOSYS where a seccomp filter refuses it.
 */
ssize_t hs_sys_process_vm_read(pid_t tid, uintptr_t address, void *buffer, size_t bytes);

#define HS_SECOND_NS 1000000000u

/* A time in nanoseconds; that of a file may be below 0. */
static inline int64_t hs_sys_time_ns(struct timespec time)
{
	return (int64_t)((uint64_t)time.tv_sec * HS_SECOND_NS + (uint64_t)time.tv_nsec);
}

/*
 * Clocks in nanoseconds, by the vDSO once hs_sys_clock_start() has found it.  0 if the clock cannot
 * be read; but hs_sys_monotonic_ns() then advances a little with each call, so that every wait
 * ends, and it goes on where CLOCK_MONOTONIC goes back, as in a time namespace.
 */
void hs_sys_clock_start(void);
uint64_t hs_sys_clock_ns(clockid_t clock);
uint64_t hs_sys_monotonic_ns(void);
uint64_t hs_sys_realtime_ns(void);

/* 64 random bits from the kernel; if it refuses, of the clock and an address. */
uint64_t hs_sys_random(void);

#endif
