/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries, before a glibc thread is created, the system calls it depends on: if a seccomp filter of
 * the program refuses one, glibc would end the process.
 *
 * Runs on the program's threads, and on the worker before it loads libunwind.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "arch/regs.h"
#include "arch/syscall.h"
#include "base/sys.h"
#include "session/libc_threads.h"
#include "session/session_state.h"
#include "session/threads.h"
#include "unwind/libunwind_use.h"

#define TRIAL_STACK_BYTES 16384
#define TRIAL_LIMIT_NS 1000000000u

/* Not a possible result of a system call. */
#define NO_ANSWER LONG_MIN

/* What rseq() answered at start-up; NO_ANSWER: libc does not call it. */
static long rseq_answer;

struct trial {
	_Atomic uint32_t word;
	_Atomic pid_t tid; /* 0 when it is over */
	pid_t parent_tid;
	bool loads;
	long futex, rseq;
};

/* Whatever glibc has registered, the kernel refuses these arguments, unless a filter does. */
static long try_rseq(void)
{
	return hs_syscall(SYS_rseq, 0, 0, 0, 0, 0, 0);
}

void hs_thread_trial_init(void)
{
	rseq_answer = hs_session.next.registers_rseq ? try_rseq() : NO_ANSWER;
}

/*
 * The system calls of dlopen(), in which a thread that is killed would leave the loader locked, and
 * those of libunwind's first call.
 */
static void try_loading(void)
{
	struct stat file;
	char byte;
	int ends[2];
	int fd = hs_sys_open("/proc/self/exe", O_RDONLY, 0);
	long page;

	hs_sys_fstat(fd, &file);
	hs_sys_read(fd, &byte, 1);
	hs_sys_pread(fd, &byte, 1, 0);
	page = hs_syscall(SYS_mmap, 0, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (page >= 0)
		hs_syscall(SYS_munmap, page, 1, 0, 0, 0, 0);
	hs_sys_close(fd);
	if (hs_syscall(SYS_pipe2, (long)ends, O_CLOEXEC, 0, 0, 0, 0) == 0) {
		/* In this order: if the program writes to the number of one, it gets no SIGPIPE. */
		hs_sys_close(ends[1]);
		hs_sys_close(ends[0]);
	}
}

/* Runs on the trial thread, which shares its creator's thread-local storage. */
static void try_calls(void *memory)
{
	struct trial *trial = memory;

	if (trial->loads)
		try_loading();
	trial->futex = hs_sys_futex_wake(&trial->word, 1);
	trial->rseq = rseq_answer != NO_ANSWER ? try_rseq() : NO_ANSWER;
}

#ifdef __SANITIZE_THREAD__
#define LOOKS 100000000

/*
 * What ThreadSanitizer changes in each call is in thread-local storage, which both threads have: as
 * a rule the trial is over before its creator makes the next call.
 */
__attribute__((no_sanitize("thread"))) static void let_it_run(struct trial *trial)
{
	for (int i = 0; i < LOOKS && atomic_load(&trial->tid) != 0; i++)
		;
}
#else
static void let_it_run(struct trial *trial)
{
	(void)trial;
}
#endif

/*
 * Whether a glibc thread would survive: if futex() or rseq() is refused, glibc ends the process.
 * Tried on a raw thread, because the filter may kill whoever tries.
 */
bool hs_threads_would_live(bool loads)
{
	/* pthread_create()'s, which a filter must allow, without CLONE_SETTLS. */
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	uint64_t start_ns = hs_sys_monotonic_ns();
	char *stack = hs_sys_map(TRIAL_STACK_BYTES, PROT_READ | PROT_WRITE);
	struct trial *trial = (struct trial *)(void *)stack;
	pid_t tid = 1;
	bool live;

	if (stack == NULL)
		return false;
	/* At the low end of its stack, which is not unmapped if the thread does not end in time. */
	*trial = (struct trial){.tid = tid, .loads = loads, .futex = NO_ANSWER, .rseq = NO_ANSWER};
	if (hs_arch_clone(flags, stack + TRIAL_STACK_BYTES, try_calls, trial, &trial->parent_tid,
			  &trial->tid, hs_arch_thread_pointer()) < 0) {
		hs_sys_unmap(stack, TRIAL_STACK_BYTES);
		return false;
	}
	let_it_run(trial);
	while ((tid = atomic_load(&trial->tid)) != 0 &&
	       hs_sys_monotonic_ns() - start_ns < TRIAL_LIMIT_NS)
		hs_sys_let_others_run(start_ns);
	live = tid == 0 && trial->futex >= 0 && trial->rseq == rseq_answer;
	if (tid == 0)
		hs_sys_unmap(stack, TRIAL_STACK_BYTES);
	return live;
}

enum hs_leave hs_threads_before_libunwind(bool is_first)
{
	if (!hs_libc_before_libunwind())
		return HS_LEAVE_NOT_NOW;
	if (!is_first || hs_threads_would_live(true))
		return HS_LEAVE_GIVEN;
	hs_libunwind_log_unused("what loads it would be ended", -EPERM);
	return HS_LEAVE_NEVER;
}
