/* SPDX-License-Identifier: BSD-2-Clause */
/* Stack bounds and the stack copy: known stacks, unknown ones, refused system calls. */
#include "sample/capture.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "arch/regs.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "process_vm.h"

#define PAGE 4096u
#define LIMIT 65536u

static union {
	struct hs_record record;
	unsigned char bytes[sizeof(struct hs_record) + LIMIT + PAGE];
} out;

static void run(struct hs_thread_state *thread, uintptr_t sp, size_t limit)
{
	memset(&out, 0xee, sizeof out);
	out.record.flags = 0;
	out.record.tid = (uint32_t)hs_sys_gettid();
	hs_capture_plan(thread, sp, limit);
	CHECK(thread->sample.stack.bytes <= limit);
	hs_capture_copy(thread, sp, thread->sample.stack.bytes, &out.record);
	CHECK(out.record.stack_bytes <= thread->sample.stack.bytes);
	CHECK(out.record.stack[thread->sample.stack.bytes] == 0xee); /* nothing past it */
}

static void test_known_stack(void)
{
	static unsigned char stack[20000];
	struct hs_thread_state thread = {
		.stack_low = (uintptr_t)stack,
		.stack_high = (uintptr_t)stack + sizeof stack,
	};

	for (size_t i = 0; i < sizeof stack; i++)
		stack[i] = (unsigned char)(i * 7 + i / 256);
	run(&thread, (uintptr_t)stack + 100, LIMIT);
	CHECK_INT(out.record.stack_bytes, sizeof stack - 100);
	CHECK_INT(out.record.flags, 0);
	CHECK(memcmp(out.record.stack, stack + 100, sizeof stack - 100) == 0);
	run(&thread, (uintptr_t)stack + sizeof stack - 1, LIMIT);
	CHECK_INT(out.record.stack_bytes, 1);

	run(&thread, (uintptr_t)stack + 8, 8192);
	CHECK_INT(out.record.stack_bytes, 8192);
	CHECK_INT(out.record.flags, HS_RECORD_STACK_CUT);
	CHECK(memcmp(out.record.stack, stack + 8, 8192) == 0);
	/* With just as many bytes nothing is missing. */
	run(&thread, (uintptr_t)stack + sizeof stack - 8192, 8192);
	CHECK_INT(out.record.stack_bytes, 8192);
	CHECK_INT(out.record.flags, 0);
}

/* Maps five pages as the thread's stack; each can be protected. */
static unsigned char *map_pages(struct hs_thread_state *thread)
{
	unsigned char *stack = mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(stack != MAP_FAILED);
	thread->stack_low = (uintptr_t)stack;
	thread->stack_high = (uintptr_t)stack + 5 * PAGE;
	return stack;
}

/* Pages without access within the known stack, as between coroutines' stacks. */
static void test_guard_page_in_the_stack(void)
{
	struct hs_thread_state thread = {0};
	unsigned char *stack = map_pages(&thread);

	memset(stack, 7, 5 * PAGE);
	CHECK_INT(mprotect(stack + 2 * PAGE, PAGE, PROT_NONE), 0);
	/* Above the guard page all can be read, the second time without the kernel. */
	for (int again = 0; again < 2; again++) {
		run(&thread, (uintptr_t)stack + 3 * PAGE, LIMIT);
		CHECK_INT(out.record.stack_bytes, 2 * PAGE);
		CHECK_INT(out.record.flags, 0);
		CHECK(hs_thread_has_read(&thread, (uintptr_t)stack + 3 * PAGE, 2 * PAGE));
	}
	for (int again = 0; again < 2; again++) {
		run(&thread, (uintptr_t)stack + PAGE, LIMIT);
		CHECK_INT(out.record.stack_bytes, PAGE);
		CHECK_INT(out.record.flags, HS_RECORD_STACK_CUT);
		/* Up to it all is known. */
		CHECK(hs_thread_has_read(&thread, (uintptr_t)stack + PAGE, PAGE));
		CHECK(!hs_thread_has_read(&thread, (uintptr_t)stack + PAGE, PAGE + 1));
	}
	/* What was read on its other side is known separately. */
	run(&thread, (uintptr_t)stack, 2 * PAGE);
	CHECK_INT(out.record.stack_bytes, 2 * PAGE);
	CHECK(hs_thread_has_read(&thread, (uintptr_t)stack, 2 * PAGE));
	CHECK(!hs_thread_has_read(&thread, (uintptr_t)stack, 3 * PAGE));
	/* The stack pointer may be in the page without access. */
	run(&thread, (uintptr_t)stack + 2 * PAGE, LIMIT);
	CHECK_INT(out.record.stack_bytes, 0);
	CHECK_INT(out.record.flags, HS_RECORD_STACK_CUT);
	munmap(stack, 5 * PAGE);
}

static void protect(unsigned char *page, int protection)
{
	hs_capture_protect_begins();
	CHECK_INT(mprotect(page, PAGE, protection), 0);
	hs_capture_protect_ends();
}

/* A page loses access after samples have read it; a handler is sampled during mprotect(). */
static void test_guard_page_that_comes_later(void)
{
	struct hs_thread_state thread = {0};
	unsigned char *stack = map_pages(&thread);

	run(&thread, (uintptr_t)stack, LIMIT);
	CHECK_INT(out.record.stack_bytes, 5 * PAGE);
	CHECK(hs_thread_has_read(&thread, (uintptr_t)stack, 5 * PAGE));
	protect(stack + 2 * PAGE, PROT_NONE);
	CHECK(!hs_thread_has_read(&thread, (uintptr_t)stack, 5 * PAGE));
	run(&thread, (uintptr_t)stack, LIMIT);
	CHECK_INT(out.record.stack_bytes, 2 * PAGE);

	/* Only what has been read again since then is known again. */
	run(&thread, (uintptr_t)stack + 3 * PAGE, LIMIT);
	CHECK(hs_thread_has_read(&thread, (uintptr_t)stack + 3 * PAGE, 2 * PAGE));
	CHECK(!hs_thread_has_read(&thread, (uintptr_t)stack, 5 * PAGE));

	hs_capture_protect_begins();
	run(&thread, (uintptr_t)stack + 3 * PAGE, LIMIT);
	CHECK(!hs_thread_has_read(&thread, (uintptr_t)stack + 3 * PAGE, 2 * PAGE));
	CHECK_INT(mprotect(stack + 4 * PAGE, PAGE, PROT_NONE), 0);
	run(&thread, (uintptr_t)stack + 3 * PAGE, LIMIT);
	CHECK_INT(out.record.stack_bytes, PAGE);
	CHECK(!hs_thread_has_read(&thread, (uintptr_t)stack + 3 * PAGE, PAGE));

	/* As in a child whose parent's other threads were in such a call. */
	hs_capture_after_fork();
	run(&thread, (uintptr_t)stack + 3 * PAGE, PAGE);
	CHECK(hs_thread_has_read(&thread, (uintptr_t)stack + 3 * PAGE, PAGE));
	munmap(stack, 5 * PAGE);
}

static long no_reading(long number)
{
	CHECK(number != SYS_process_vm_readv);
	return 0;
}

/* A seccomp filter may kill a process for that call. */
static void test_known_stack_is_not_read_by_the_kernel(void)
{
	static unsigned char stack[20000];
	struct hs_thread_state thread = {
		.stack_low = (uintptr_t)stack,
		.stack_high = (uintptr_t)stack + sizeof stack,
	};

	hs_sys_fault = no_reading;
	run(&thread, (uintptr_t)stack + 100, LIMIT);
	hs_sys_fault = NULL;
	CHECK_INT(out.record.stack_bytes, sizeof stack - 100);
}

static void test_read_again_further_down(void)
{
	static unsigned char stack[20000];
	struct hs_thread_state thread = {
		.stack_low = (uintptr_t)stack,
		.stack_high = (uintptr_t)stack + sizeof stack,
	};

	for (size_t down = 1000; down < sizeof stack; down += 1000) {
		uintptr_t sp = thread.stack_high - down;

		CHECK(!hs_thread_has_read(&thread, sp, down));
		run(&thread, sp, LIMIT);
		CHECK(hs_thread_has_read(&thread, sp, down));
	}
	CHECK_INT(thread.read_high - thread.read_low, 19000);
}

/* Parts that touch are known as one, whichever was read first. */
static void test_read_in_parts(void)
{
	static unsigned char stack[20000];
	uintptr_t start = (uintptr_t)stack;
	struct hs_thread_state thread = {
		.stack_low = start,
		.stack_high = start + sizeof stack,
	};

	run(&thread, start + 8000, 4000);
	run(&thread, start + 4000, 6000);
	CHECK(hs_thread_has_read(&thread, start + 4000, 8000));
	run(&thread, start + 12000, 8000);
	CHECK(hs_thread_has_read(&thread, start + 4000, 16000));
	run(&thread, start, 4000);
	CHECK(hs_thread_has_read(&thread, start, 20000));
}

static long refuse_reading(long number)
{
	return number == SYS_process_vm_readv ? -EPERM : 0;
}

static struct hs_thread_state unknown;
static ucontext_t back, coroutine;
static unsigned char *coroutine_end;
static uintptr_t coroutine_sp;

static void coroutine_body(void)
{
	coroutine_sp = hs_arch_stack_pointer();
	run(&unknown, coroutine_sp, LIMIT);
}

/* A coroutine's stack: a guard page right above it. */
static void run_on_coroutine(void)
{
	unsigned char *area = mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	coroutine_end = area + 4 * PAGE;
	mprotect(coroutine_end, PAGE, PROT_NONE);
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = area;
	coroutine.uc_stack.ss_size = 4 * PAGE;
	coroutine.uc_link = &back;
	makecontext(&coroutine, coroutine_body, 0);
	swapcontext(&back, &coroutine);
}

static void test_coroutine_stack(void)
{
	size_t used;

	hs_stats.stack_unknown = 0;
	run_on_coroutine();
	used = (uintptr_t)coroutine_end - coroutine_sp;
	CHECK_INT(out.record.stack_bytes, used);
	CHECK_INT(out.record.flags, HS_RECORD_STACK_CUT);
	CHECK_INT(hs_stats_get(stack_unknown), 1);
	/* The stack above the running function is copied as it is. */
	CHECK(memcmp(out.record.stack + used - 16, coroutine_end - 16, 16) == 0);
	munmap(coroutine_end - 4 * PAGE, 5 * PAGE);
}

static void test_coroutine_stack_read_refused(void)
{
	hs_sys_fault = refuse_reading;
	run_on_coroutine();
	hs_sys_fault = NULL;
	CHECK_INT(out.record.stack_bytes, -coroutine_sp % PAGE);
	munmap(coroutine_end - 4 * PAGE, 5 * PAGE);
}

/* The caller's stack pointer may be the very end of the stack. */
static void test_stack_pointer_at_the_end(void)
{
	unsigned char *area = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(area + PAGE, PAGE, PROT_NONE);
	run(&unknown, (uintptr_t)area + PAGE, LIMIT);
	CHECK_INT(out.record.stack_bytes, 0);
	run(&unknown, (uintptr_t)area + PAGE - 24, LIMIT);
	CHECK_INT(out.record.stack_bytes, 24);
	hs_sys_fault = refuse_reading;
	run(&unknown, (uintptr_t)area + PAGE, LIMIT);
	CHECK_INT(out.record.stack_bytes, 0);
	run(&unknown, (uintptr_t)area + PAGE - 24, LIMIT);
	CHECK_INT(out.record.stack_bytes, 24);
	hs_sys_fault = NULL;
	munmap(area, 2 * PAGE);
}

static void test_unknown_is_limited(void)
{
	static _Alignas(PAGE) unsigned char stack[3 * HS_CAPTURE_UNKNOWN_BYTES];

	if (may_read_by_process_vm()) {
		run(&unknown, (uintptr_t)stack, LIMIT);
		CHECK_INT(out.record.stack_bytes, HS_CAPTURE_UNKNOWN_BYTES);
		CHECK_INT(out.record.flags, HS_RECORD_STACK_CUT);
	}
	run(&unknown, (uintptr_t)stack, 100);
	CHECK_INT(out.record.stack_bytes, 100);
	hs_sys_fault = refuse_reading;
	run(&unknown, (uintptr_t)stack + 8, 100);
	hs_sys_fault = NULL;
	CHECK_INT(out.record.stack_bytes, 100);
}

static void test_main_stack(void)
{
	extern void *__libc_stack_end;
	struct hs_thread_state thread = { 0 };
	uintptr_t here = hs_arch_stack_pointer();

	hs_capture_init_main(&thread, (uintptr_t)__libc_stack_end);
	CHECK(hs_thread_on_known_stack(&thread, here));
	CHECK(!hs_thread_on_known_stack(&thread, thread.stack_high));
	CHECK(!hs_thread_on_known_stack(&thread, thread.stack_low - 1));
	CHECK(thread.stack_high - thread.stack_low <= (uintptr_t)128 << 20);
	run(&thread, here, LIMIT);
	CHECK(out.record.stack_bytes > 0);
}

/* The stack is as large as its limit allows, if that is not larger than what mmap() leaves free. */
static void test_main_stack_limits(void)
{
	static const rlim_t limits[] = {1 << 20, 100 << 20, 300 << 20, RLIM_INFINITY};
	struct hs_thread_state thread = {0};
	struct rlimit before, limit;

	CHECK_INT(getrlimit(RLIMIT_STACK, &before), 0);
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		limit = (struct rlimit){limits[i], before.rlim_max};
		if (setrlimit(RLIMIT_STACK, &limit) != 0)
			continue; /* the hard limit is lower */
		hs_capture_init_main(&thread, 1 << 30);
		CHECK_INT(thread.stack_high, 1 << 30);
		CHECK_INT(thread.stack_high - thread.stack_low, i < 2 ? limits[i] : 128 << 20);
	}
	CHECK_INT(setrlimit(RLIMIT_STACK, &before), 0);
}

static size_t stack_bytes;

/* The C library puts it at the upper end of each thread's stack. */
static __thread volatile char local[PAGE * 3];

static void *thread_body(void *unused)
{
	struct hs_thread_state thread = { 0 };
	uintptr_t here = hs_arch_stack_pointer();
	unsigned char byte;
	pthread_attr_t attributes;
	void *start;
	size_t bytes;

	local[0] = 1;
	hs_capture_init_thread(&thread, stack_bytes, here,
			       (uintptr_t)__builtin_return_address(0));
	CHECK_INT(pthread_getattr_np(pthread_self(), &attributes), 0);
	CHECK_INT(pthread_attr_getstack(&attributes, &start, &bytes), 0);
	pthread_attr_destroy(&attributes);
	if (thread.stack_high == 0) /* the attributes leave no room to be sure of */
		return unused;
	CHECK(thread.stack_low >= (uintptr_t)start);
#ifndef __SANITIZE_THREAD__ /* its thread-local variables may leave nothing of a small stack */
	CHECK(thread.stack_low < thread.stack_high);
#endif
	CHECK(thread.stack_high <= (uintptr_t)start + bytes);
	/* Thread-local variables are not part of the stack, except for those next to its frames. */
	CHECK(thread.stack_high <= here + PAGE);
	/* ThreadSanitizer makes small stacks larger than asked for, by its own TLS. */
	CHECK(bytes > stack_bytes || hs_thread_on_known_stack(&thread, here));
	for (uintptr_t at = here; at < thread.stack_high; at++)
		hs_arch_copy(&byte, (const void *)at, 1); /* not seen by the sanitizer */
	return &out;
}

static void test_thread_stacks(void)
{
	static const size_t guards[] = { 0, PAGE, 65536 };

	for (stack_bytes = 16384; stack_bytes <= (size_t)8 << 20; stack_bytes *= 2) {
		for (unsigned i = 0; i < 3; i++) {
			pthread_attr_t attributes;
			pthread_t thread;
			void *known = NULL;

			pthread_attr_init(&attributes);
			CHECK_INT(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
			CHECK_INT(pthread_attr_setguardsize(&attributes, guards[i]), 0);
			if (pthread_create(&thread, &attributes, thread_body, NULL) == 0)
				pthread_join(thread, &known);
			/* May fail: the sanitizer's TLS does not fit the smallest stacks. */
			CHECK(known != NULL || stack_bytes <= 65536);
			pthread_attr_destroy(&attributes);
		}
	}
}

int main(void)
{
	RUN(test_known_stack);
	RUN(test_guard_page_in_the_stack);
	RUN(test_guard_page_that_comes_later);
	RUN(test_known_stack_is_not_read_by_the_kernel);
	RUN(test_read_again_further_down);
	RUN(test_read_in_parts);
	RUN(test_coroutine_stack);
	RUN(test_coroutine_stack_read_refused);
	RUN(test_stack_pointer_at_the_end);
	RUN(test_unknown_is_limited);
	RUN(test_main_stack);
	RUN(test_main_stack_limits);
	RUN(test_thread_stacks);
	return CHECK_RESULT();
}
