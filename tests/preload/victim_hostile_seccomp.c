/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that forbids itself system calls by a seccomp filter and continues.
 *
 * usage: victim_hostile_seccomp WHEN ACTION [all] CALL...
 *
 * WHEN: "start" (of main), "later" (after samples), or "term" (as "later", and ends by SIGTERM).
 * ACTION: "errno" (EPERM), "nosys" (ENOSYS), "trap" (a handler answers EPERM), "kill" (the calling
 * thread), "end" (the process).  all: for all threads that exist.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "victim_hostile.h"

#define CALLS 64

#define CALL(name)                                                                                 \
	{                                                                                          \
#name, SYS_##name                                                                  \
	}

static const struct {
	const char *name;
	long number;
} known[] = {
	CALL(futex),
	CALL(openat),
	CALL(open),
	CALL(ppoll),
	CALL(mmap),
	CALL(munmap),
	CALL(mprotect),
	CALL(madvise),
	CALL(process_vm_readv),
	CALL(clone),
	CALL(clone3),
	CALL(getrandom),
	CALL(sched_getscheduler),
	CALL(sched_setscheduler),
	CALL(sched_getparam),
	CALL(sched_setaffinity),
	CALL(sched_getaffinity),
	CALL(sched_setparam),
	CALL(sched_setattr),
	CALL(ioprio_set),
	CALL(setpriority),
	CALL(setrlimit),
	CALL(mbind),
	CALL(migrate_pages),
	CALL(move_pages),
	CALL(set_mempolicy),
	CALL(prctl),
	CALL(getpid),
	CALL(gettid),
	CALL(tgkill),
	CALL(rt_sigprocmask),
	CALL(rt_sigaction),
	CALL(rt_sigpending),
	CALL(rt_sigtimedwait),
	CALL(sigaltstack),
	CALL(read),
	CALL(pread64),
	CALL(close),
	CALL(newfstatat),
	CALL(fstat),
	CALL(readlinkat),
	CALL(renameat2),
	CALL(unlinkat),
	CALL(getcwd),
	CALL(uname),
	CALL(fcntl),
	CALL(prlimit64),
	CALL(getdents64),
	CALL(ptrace),
	CALL(rseq),
	CALL(set_robust_list),
	CALL(clock_gettime),
	CALL(clock_nanosleep),
	CALL(sysinfo),
	CALL(fsync),
	CALL(lseek),
	CALL(sched_yield),
	CALL(exit),
	CALL(brk),
	CALL(setuid),
};

static struct sock_filter filter[2 * CALLS + 8];
static unsigned short used;

static void add(struct sock_filter instruction)
{
	check(used < sizeof filter / sizeof filter[0], "too many calls");
	filter[used++] = instruction;
}

static uint32_t action_of(const char *name)
{
	if (strcmp(name, "kill") == 0)
		return SECCOMP_RET_KILL_THREAD;
	if (strcmp(name, "end") == 0)
		return SECCOMP_RET_KILL_PROCESS;
	if (strcmp(name, "trap") == 0)
		return SECCOMP_RET_TRAP;
	return SECCOMP_RET_ERRNO | (strcmp(name, "nosys") == 0 ? ENOSYS : EPERM);
}

/* On the thread that made the call. */
static void answer_call(int number, siginfo_t *info, void *interrupted)
{
	ucontext_t *context = interrupted;

	(void)number;
	(void)info;
	context->uc_mcontext.gregs[REG_RAX] = -EPERM;
}

static void forbid(const char *name, uint32_t action)
{
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		if (strcmp(known[i].name, name) != 0)
			continue;
		add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						 (unsigned)known[i].number, 0, 1));
		add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
		return;
	}
	check(0, name);
}

/* calls: maybe "all", names, NULL. */
static void install(char **calls, uint32_t action)
{
	const struct sigaction answering = {.sa_sigaction = answer_call, .sa_flags = SA_SIGINFO};
	unsigned flags = 0;
	struct sock_fprog program = {.filter = filter};

	if (*calls != NULL && strcmp(*calls, "all") == 0) {
		flags = SECCOMP_FILTER_FLAG_TSYNC;
		calls++;
	}
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					 offsetof(struct seccomp_data, nr)));
	for (; *calls != NULL; calls++)
		forbid(*calls, action);
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	program.len = used;
	if (action == SECCOMP_RET_TRAP)
		check(sigaction(SIGSYS, &answering, NULL) == 0, "sigaction");
	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS");
	check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0, "seccomp");
}

/* Reaches stack pages that no sample has read before. */
static SITE unsigned long churn_deeper(int frames)
{
	char room[5000], *kept = room;
	unsigned long sum;

	USE(kept);
	sum = frames > 0 ? churn_deeper(frames - 1) : churn(500);
	USE(kept);
	return sum;
}

int main(int argc, char **argv)
{
	unsigned long sum = 0;

	if (argc < 4)
		return 9;
	if (strcmp(argv[1], "start") != 0) {
		sum = churn(500);
		usleep(30000);
	}
	install(argv + 3, action_of(argv[2]));
	/* libc aborts if threads have different results. */
	if (strcmp(argv[argc - 1], "setuid") == 0)
		printf("%d\n", setuid(getuid()));
	for (int i = 0; i < 10; i++)
		sum += churn_deeper(i);
	printf("%lu\n", sum);
	fflush(stdout);
	if (strcmp(argv[1], "term") == 0)
		kill(getpid(), SIGTERM);
	return 5;
}
