/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes whose threads end without libc knowing: by a seccomp filter that kills one, in strict
 * mode, by the bare system call.
 *
 * usage: victim_left_alone MODE [MILLISECONDS]     rests first, see modes[]
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "victim_hostile.h"

static useconds_t rest_us;

/* say() flushes stdout: these ends do not. */
static void rest(const char *what)
{
	say(what);
	usleep(rest_us);
}

/* Linux 5.16; headers may not have it. */
#define FUTEX_WAITV 449

/* action: what happens to a thread that makes this call. */
static void forbid(unsigned call, unsigned action, unsigned flags)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS");
	check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0, "seccomp");
}

static void mode_filter(void)
{
	rest("main");
	forbid(SYS_getppid, SECCOMP_RET_KILL_THREAD, 0);
	syscall(SYS_getppid);
	say("still here");
}

/* Before the first sample, so the profiler's threads inherit the filter. */
static void mode_filter_first(void)
{
	forbid(SYS_getppid, SECCOMP_RET_KILL_THREAD, 0);
	rest("main");
	syscall(SYS_getppid);
	say("still here");
}

static void mode_filter_all(void)
{
	rest("main");
	forbid(SYS_getppid, SECCOMP_RET_KILL_THREAD, SECCOMP_FILTER_FLAG_TSYNC);
	syscall(SYS_getppid);
	say("still here");
}

/* The filter kills the process for a call that the program does not make. */
static void mode_unknown_call(void)
{
	forbid(FUTEX_WAITV, SECCOMP_RET_KILL_PROCESS, 0);
	rest("main");
}

static void mode_unknown_call_later(void)
{
	rest("main");
	forbid(FUTEX_WAITV, SECCOMP_RET_KILL_PROCESS, SECCOMP_FILTER_FLAG_TSYNC);
	rest("with a filter");
}

/* Not called: the filter kills all the same. */
static void on_sigsys(int number)
{
	(void)number;
	say("in the handler");
}

static void mode_filter_handled(void)
{
	signal(SIGSYS, on_sigsys);
	mode_filter();
}

static void mode_strict(void)
{
	rest("main");
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0, "PR_SET_SECCOMP");
	syscall(SYS_exit, 3);
}

static void mode_strict_killed(void)
{
	rest("main");
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0, "PR_SET_SECCOMP");
	syscall(SYS_getppid);
}

static void mode_exit(void)
{
	rest("main");
	syscall(SYS_exit, 7);
}

static void *go_on(void *unused)
{
	usleep(1000000);
	say("after main");
	exit(4);
	return unused;
}

static void *end_later(void *unused)
{
	usleep(1000000);
	say("after main");
	syscall(SYS_exit, 7); /* as main: newer kernels report the last thread's status */
	return unused;
}

static void *join_main(void *main_thread)
{
	check(pthread_join(*(pthread_t *)main_thread, NULL) == 0, "join");
	say("after main");
	exit(4);
	return NULL;
}

/* Ends main, while another thread goes on. */
static void end_beside(void *(*other)(void *))
{
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	check(pthread_create(&thread, NULL, other, &self) == 0, "thread");
	rest("main");
	syscall(SYS_exit, 7);
}

static void mode_other_goes_on(void)
{
	end_beside(go_on);
}

static void mode_other_ends(void)
{
	end_beside(end_later);
}

static void mode_joined(void)
{
	end_beside(join_main);
}

/* Begins to wait for main when the profiler's threads sleep already. */
static void *join_main_late(void *main_thread)
{
	usleep(rest_us / 2);
	return join_main(main_thread);
}

static void mode_joined_late(void)
{
	end_beside(join_main_late);
}

/* Ends the main thread of a child, which is the thread that forked. */
static void *fork_and_end(void *unused)
{
	int status;
	pid_t child = fork();

	check(child >= 0, "fork");
	if (child == 0) {
		rest("child");
		syscall(SYS_exit, 8);
	}
	check(waitpid(child, &status, 0) == child, "waitpid");
	printf("child: %#x\n", (unsigned)status);
	return unused;
}

static void mode_fork(void)
{
	rest("main");
	fork_and_end(NULL);
}

static void mode_fork_in_thread(void)
{
	pthread_t thread;

	rest("main");
	check(pthread_create(&thread, NULL, fork_and_end, NULL) == 0, "thread");
	check(pthread_join(thread, NULL) == 0, "join");
}

static void mode_vfork(void)
{
	int status;
	pid_t child;

	rest("main");
	child = vfork();
	if (child == 0)
		syscall(SYS_exit, 8);
	check(waitpid(child, &status, 0) == child, "waitpid");
	usleep(rest_us);
	printf("child: %#x\n", (unsigned)status);
}

static const struct mode modes[] = {
	{"filter", mode_filter},
	{"filter-first", mode_filter_first},
	{"filter-all", mode_filter_all},
	{"unknown-call", mode_unknown_call},
	{"unknown-call-later", mode_unknown_call_later},
	{"filter-handled", mode_filter_handled},
	{"strict", mode_strict},
	{"strict-killed", mode_strict_killed},
	{"exit", mode_exit},
	{"other-goes-on", mode_other_goes_on},
	{"other-ends", mode_other_ends},
	{"joined", mode_joined},
	{"joined-late", mode_joined_late},
	{"fork", mode_fork},
	{"fork-in-thread", mode_fork_in_thread},
	{"vfork", mode_vfork},
};

int main(int argc, char **argv)
{
	rest_us = argc > 2 ? (useconds_t)atoi(argv[2]) * 1000 : 0;
	return run_mode(modes, sizeof modes / sizeof modes[0], argv[1]);
}
