/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples look which pages of a stack can be read.  Meanwhile an mprotect() of another thread ends;
 * or a seccomp filter refuses such looks.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "base/sys.h"
#include "check.h"
#include "sample/capture.h"

#define PAGE 4096u

static _Alignas(PAGE) unsigned char stack[2 * PAGE];
static unsigned looks;
static int result = -EINVAL; /* of a look */

static union {
	struct hs_record record;
	unsigned char bytes[sizeof(struct hs_record) + sizeof stack];
} out;

/* In place of a look at a page: the call ends. */
static void end_protecting(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)number, (void)info;
	if (looks++ == 0)
		hs_capture_protect_ends();
	interrupted->uc_mcontext.gregs[REG_RAX] = result;
}

/* Has the kernel raise SIGSYS for rt_sigprocmask() with the `how` of such a look. */
static bool trap_looks(void)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	const struct sock_fprog filter = {
		.len = sizeof instructions / sizeof *instructions,
		.filter = instructions,
	};
	struct sigaction action = {.sa_sigaction = end_protecting, .sa_flags = SA_SIGINFO};

	return sigaction(SIGSYS, &action, NULL) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void sample(struct hs_thread_state *thread)
{
	out.record.tid = (uint32_t)hs_sys_gettid();
	hs_capture_plan(thread, (uintptr_t)stack, sizeof stack);
	hs_capture_copy(thread, (uintptr_t)stack, sizeof stack, &out.record);
	CHECK_INT(out.record.stack_bytes, sizeof stack);
}

static void test_mprotect_that_ends_meanwhile(void)
{
	struct hs_thread_state thread = {
		.stack_low = (uintptr_t)stack,
		.stack_high = (uintptr_t)stack + sizeof stack,
	};

	hs_capture_protect_begins();
	sample(&thread);
	CHECK_INT(looks, 2);
	/* It may have taken away what had been looked at before. */
	CHECK(!hs_thread_has_read(&thread, (uintptr_t)stack, sizeof stack));
	sample(&thread);
	CHECK(hs_thread_has_read(&thread, (uintptr_t)stack, sizeof stack));
	CHECK_INT(looks, 4);
	/* What is known to be readable is not looked at again. */
	sample(&thread);
	CHECK_INT(looks, 4);
}

/* Then only the rest of the page is certain. */
static void test_looks_that_are_refused(void)
{
	struct hs_thread_state thread = {
		.stack_low = (uintptr_t)stack,
		.stack_high = (uintptr_t)stack + sizeof stack,
	};

	result = -EPERM;
	hs_capture_plan(&thread, (uintptr_t)stack + 100, sizeof stack);
	hs_capture_copy(&thread, (uintptr_t)stack + 100, sizeof stack - 100, &out.record);
	CHECK_INT(out.record.stack_bytes, PAGE - 100);
	CHECK(out.record.flags & HS_RECORD_STACK_CUT);
	CHECK(!hs_thread_has_read(&thread, (uintptr_t)stack + 100, PAGE));
}

int main(void)
{
	if (!trap_looks())
		SKIP("no seccomp filter with SECCOMP_RET_TRAP");
	RUN(test_mprotect_that_ends_meanwhile);
	RUN(test_looks_that_are_refused);
	return CHECK_RESULT();
}
