/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linked with the library's objects into libheapsample_fault: makes calls of the profiler fail,
 * as the environment says.
 *
 *   HS_FAULT=CALL:N:ERRNO    the Nth such call fails with this number; N+: that and all later ones
 *   HS_FAULT=CALL:N:short    the Nth such call transfers one byte only
 *   HS_FAULT_COUNTS=FILE     has two 64-bit numbers, to which the number of such calls and the
 *                            number of faults injected are added, by forked children too
 *
 * CALL is a name in calls[].  Most are system calls, which go through hs_syscall().  Others are
 * wrapped: "thread" (pthread_create for a profiler thread), "futex_wait", "futex_wake", and "arena"
 * (memory of the arena, also for zlib, libelf, libunwind, and for the C library on the profiler's
 * threads).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arch/syscall.h"
#include "base/arena.h"
#include "base/sys.h"
#include "session/session.h"

enum {
	CALL_THREAD = -1,
	CALL_ARENA = -2,
	CALL_FUTEX_WAIT = -3,
	CALL_FUTEX_WAKE = -4,
};

static const struct {
	const char *name;
	long number;
} calls[] = {
	{"clock", SYS_clock_gettime},
	{"thread", CALL_THREAD},
	{"arena", CALL_ARENA},
	{"close", SYS_close},
	{"fcntl", SYS_fcntl},
	{"futex_wait", CALL_FUTEX_WAIT},
	{"futex_wake", CALL_FUTEX_WAKE},
	{"getcwd", SYS_getcwd},
	{"getrandom", SYS_getrandom},
	{"madvise", SYS_madvise},
	{"mmap", SYS_mmap},
	{"mprotect", SYS_mprotect},
	{"munmap", SYS_munmap},
	{"open", SYS_openat},
	{"prctl", SYS_prctl},
	{"pread", SYS_pread64},
	{"prlimit", SYS_prlimit64},
	{"process_vm_readv", SYS_process_vm_readv},
	{"read", SYS_read},
	{"readlink", SYS_readlinkat},
	{"rename", SYS_renameat2},
	{"sched_getaffinity", SYS_sched_getaffinity},
	{"sched_getscheduler", SYS_sched_getscheduler},
	{"sched_setaffinity", SYS_sched_setaffinity},
	{"sigaltstack", SYS_sigaltstack},
	{"sigpending", SYS_rt_sigpending},
	{"sigprocmask", SYS_rt_sigprocmask},
	{"stat", SYS_newfstatat}, /* and fstat: see hs_sys_fstat() */
	{"tgkill", SYS_tgkill},
	{"uname", SYS_uname},
	{"unlink", SYS_unlinkat},
	{"write", SYS_write},
};

struct counts {
	_Atomic uint64_t reached;
	_Atomic uint64_t injected;
};

/* Written before the session starts, and constant afterwards, except for the counts. */
static struct {
	long number;
	uint64_t turn;
	bool goes_on;
	long result; /* of hs_sys_fault */
	struct counts *counts;
} fault;

static struct counts own_counts;

static long fault_of(long number)
{
	uint64_t turn;

	if (number != fault.number)
		return 0;
	turn = atomic_fetch_add(&fault.counts->reached, 1) + 1;
	if (turn != fault.turn && !(fault.goes_on && turn > fault.turn))
		return 0;
	atomic_fetch_add(&fault.counts->injected, 1);
	return fault.result;
}

static bool is_refused(void)
{
	return fault_of(CALL_ARENA) != 0;
}

static void die(void)
{
	hs_arch_syscall(SYS_exit_group, 99, 0, 0, 0, 0, 0);
}

static void read_fault(const char *text)
{
	size_t length = strcspn(text, ":"), i;
	char *next;

	for (i = 0; i < sizeof calls / sizeof *calls; i++) {
		if (strlen(calls[i].name) == length && memcmp(calls[i].name, text, length) == 0)
			break;
	}
	if (i == sizeof calls / sizeof *calls || text[length] != ':')
		die();
	fault.number = calls[i].number;
	fault.turn = strtoull(text + length + 1, &next, 10);
	fault.goes_on = *next == '+';
	next += fault.goes_on;
	if (*next++ != ':')
		die();
	fault.result = strcmp(next, "short") == 0 ? 1 : -strtol(next, NULL, 10);
}

static void map_counts(const char *path)
{
	long fd, memory;

	fault.counts = &own_counts;
	if (path == NULL)
		return;
	fd = hs_arch_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0);
	memory = hs_arch_syscall(SYS_mmap, 0, sizeof *fault.counts, PROT_READ | PROT_WRITE,
				 MAP_SHARED, fd, 0);
	if (fd < 0 || memory < 0)
		die();
	hs_arch_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	fault.counts = (struct counts *)memory;
}

/* The linker replaces calls of a function X by calls of its __wrap_X (-Wl,--wrap=X). */
#define WRAPPED(result, name, ...)                                                                 \
	result __real_##name(__VA_ARGS__);                                                         \
	result __wrap_##name(__VA_ARGS__);                                                         \
	result __wrap_##name(__VA_ARGS__)

static struct hs_session_next next;

static int create_thread(pthread_t *thread, const pthread_attr_t *attributes,
			 void *(*start)(void *), void *argument)
{
	long injected = fault_of(CALL_THREAD);

	return injected != 0 ? (int)-injected
			     : next.pthread_create(thread, attributes, start, argument);
}

WRAPPED(void, hs_session_start, char **environment, bool interposed,
	const struct hs_session_next *given)
{
	const struct hs_session_next ours = {.pthread_create = create_thread};

	next = *given;
	map_counts(getenv("HS_FAULT_COUNTS"));
	if (getenv("HS_FAULT") != NULL) {
		read_fault(getenv("HS_FAULT"));
		hs_sys_fault = fault_of;
	}
	__real_hs_session_start(environment, interposed, &ours);
}

/* Without the vDSO's clocks, which would not pass through hs_syscall(). */
void __wrap_hs_sys_clock_start(void);
void __wrap_hs_sys_clock_start(void)
{
}

WRAPPED(int, hs_sys_futex_wait, _Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
	long injected = fault_of(CALL_FUTEX_WAIT);

	return injected != 0 ? (int)injected : __real_hs_sys_futex_wait(word, expected, timeout_ns);
}

WRAPPED(int, hs_sys_futex_wake, _Atomic uint32_t *word, int waiters)
{
	long injected = fault_of(CALL_FUTEX_WAKE);

	return injected != 0 ? (int)injected : __real_hs_sys_futex_wake(word, waiters);
}

WRAPPED(void *, hs_arena_alloc, size_t bytes)
{
	return is_refused() ? NULL : __real_hs_arena_alloc(bytes);
}

WRAPPED(void *, hs_arena_zalloc, size_t bytes)
{
	return is_refused() ? NULL : __real_hs_arena_zalloc(bytes);
}

WRAPPED(void *, hs_arena_aligned_alloc, size_t alignment, size_t bytes)
{
	return is_refused() ? NULL : __real_hs_arena_aligned_alloc(alignment, bytes);
}

WRAPPED(void *, hs_arena_realloc, void *block, size_t bytes)
{
	return is_refused() ? NULL : __real_hs_arena_realloc(block, bytes);
}

WRAPPED(void *, hs_arena_reserve, size_t bytes)
{
	return is_refused() ? NULL : __real_hs_arena_reserve(bytes);
}

WRAPPED(int, hs_arena_commit, void *start, size_t bytes)
{
	return is_refused() ? -ENOMEM : __real_hs_arena_commit(start, bytes);
}

WRAPPED(int, hs_arena_commit_from_host, void *start, size_t bytes, _Atomic bool *is_done)
{
	return is_refused() ? -ENOMEM : __real_hs_arena_commit_from_host(start, bytes, is_done);
}
