/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwinds stacks of this program and compares the frames with what is known of them. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "base/arena.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "sample/known_pcs.h"
#include "unwind_fixture.h"

static bool is_in_program(const struct hs_frame *frame)
{
	const struct hs_mapping *mapping = hs_mapping_table_get(table, frame->mapping);

	return mapping != NULL && (mapping->flags & HS_MAPPING_MAIN) != 0;
}

/* The return addresses of the stack that is captured, innermost first. */
static uint64_t returns[DEPTH];
static size_t return_count;

static FRAME void recurse(unsigned levels)
{
	size_t level = return_count++;

	if (levels > 1)
		recurse(levels - 1);
	else
		capture_here();
	returns[level] = (uintptr_t)__builtin_return_address(0);
	NO_TAIL_CALL();
}

static void check_recursion(unsigned levels)
{
	begin();
	return_count = 0;
	recurse(levels);
	unwind();
	CHECK(frame_count > levels);
	CHECK_INT(frames[0].address, capture.captured.regs.pc - 1);
	for (size_t i = 0; i < levels; i++)
		CHECK_INT(frames[i + 1].address + 1, returns[levels - 1 - i]);
	CHECK(is_in_program(&frames[0]));
	CHECK(is_complete());
	end();
}

static void test_recursion(void)
{
	check_recursion(1);
	check_recursion(10);
	check_recursion(100);
}

static int compare_and_capture(const void *a, const void *b)
{
	capture_here();
	return *(const int *)a - *(const int *)b;
}

static void test_callback_from_libc(void)
{
	int numbers[] = { 2, 1 };

	begin();
	qsort(numbers, 2, sizeof numbers[0], compare_and_capture);
	unwind();
	CHECK(is_complete());
	CHECK(is_in_program(&frames[0]));
	CHECK(!is_in_program(&frames[1]));
	end();
}

static void *run_thread(void *argument)
{
	pthread_attr_t attributes;
	size_t bytes;
	void *low;

	(void)argument;
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &bytes);
	pthread_attr_destroy(&attributes);
	capture.top = (uintptr_t)low + bytes;
	return_count = 0;
	recurse(3);
	return NULL;
}

static void test_thread(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	begin();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, CAPTURE_BYTES / 2);
	CHECK_INT(pthread_create(&thread, &attributes, run_thread, NULL), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	unwind();
	CHECK(frame_count >= 6);
	CHECK(is_complete());
	CHECK(strstr(path_of(&frames[frame_count - 1]), "/libc") != NULL);
	end();
}

static uint64_t interrupted_pc;

static void on_signal(int number, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;

	(void)number, (void)info;
	interrupted_pc = (uint64_t)interrupted->uc_mcontext.gregs[REG_RIP];
	capture_here();
}

static void raise_with(int flags)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};

	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_INT(raise(SIGUSR1), 0);
}

/* The number of the frame of the interrupted instruction; 0: none. */
static size_t interrupted_frame(void)
{
	for (size_t i = 1; i < frame_count; i++) {
		if (frames[i].address == interrupted_pc)
			return i;
	}
	return 0;
}

static void test_signal_handler(void)
{
	size_t interrupted;

	begin();
	raise_with(0);
	unwind();
	interrupted = interrupted_frame();
	CHECK(interrupted >= 2);
	/* The frame below it is the code to which the handler returns, by its own address. */
	CHECK(interrupted > 0 && frames[interrupted - 1].mapping == frames[interrupted].mapping);
	CHECK(is_complete());
	end();
}

static void check_alternate_stack(unsigned char *low, size_t bytes)
{
	stack_t alternate = {.ss_sp = low, .ss_size = bytes};
	stack_t none = {.ss_flags = SS_DISABLE};
	uint64_t truncated;

	begin();
	truncated = hs_stats_get(stack_truncated);
	CHECK_INT(sigaltstack(&alternate, NULL), 0);
	capture.top = (uintptr_t)low + bytes;
	raise_with(SA_ONSTACK);
	CHECK_INT(sigaltstack(&none, NULL), 0);
	unwind();
	CHECK_INT(interrupted_frame(), frame_count - 2);
	CHECK(ends_with(HS_PSEUDO_TRUNCATED));
	CHECK_INT(hs_stats_get(stack_truncated), truncated + 1);
	end();
}

static void test_signal_handler_on_its_own_stack(void)
{
	unsigned char *heap = malloc(CAPTURE_BYTES / 4);

	check_alternate_stack(heap, CAPTURE_BYTES / 4);
	free(heap);
}

/* glibc's backtrace(), not a sanitizer's that replaces it. */
static __typeof__(backtrace) *libc_backtrace;

/* glibc's own unwinder at the same place: all return addresses must be equal. */
static FRAME void compare_with_backtrace(unsigned levels)
{
	void *truth[DEPTH];
	int count;

	if (levels > 0) {
		compare_with_backtrace(levels - 1);
		NO_TAIL_CALL();
		return;
	}
	count = libc_backtrace(truth, DEPTH);
	capture_here();
	unwind();
	CHECK_INT(frame_count, count);
	for (size_t i = 1; i < frame_count && i < (size_t)count; i++)
		CHECK_INT(frames[i].address + 1, (uintptr_t)truth[i]);
}

static int compare_in_callback(const void *a, const void *b)
{
	compare_with_backtrace((unsigned)*(const int *)a);
	return *(const int *)a - *(const int *)b;
}

static void test_equal_to_backtrace(void)
{
	uint64_t unwound = hs_stats_get(unwound);
	void *address = dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_LOCAL), "backtrace");

	memcpy(&libc_backtrace, &address, sizeof address);
	begin();
	for (int i = 0; i < 500; i++) {
		int numbers[] = { i % 73, 0 };
		compare_with_backtrace((unsigned)i % 150);
		qsort(numbers, 2, sizeof numbers[0], compare_in_callback);
	}
	CHECK(hs_stats_get(unwound) - unwound >= 1000);
	end();
}

static void test_depth_limit(void)
{
	uint64_t truncated;
	size_t all;

	begin();
	return_count = 0;
	recurse(20);
	unwind();
	all = frame_count;
	truncated = hs_stats_get(depth_truncated);
	unwind_to_depth(5);
	CHECK_INT(frame_count, 6);
	CHECK(ends_with(HS_PSEUDO_TRUNCATED));
	CHECK_INT(hs_stats_get(depth_truncated), truncated + 1);
	unwind_to_depth(all - 1);
	CHECK_INT(frame_count, all);
	CHECK(ends_with(HS_PSEUDO_TRUNCATED));
	unwind_to_depth(all);
	CHECK_INT(frame_count, all);
	CHECK(is_complete());
	CHECK_INT(hs_stats_get(depth_truncated), truncated + 2);
	end();
}

/* Wherever it is cut, the stack is a part of the whole one, and ends with the cut reported. */
static void test_cut_stack(void)
{
	static struct hs_frame whole[DEPTH + 1];
	uint64_t errors, truncated;
	size_t count, bytes, good = 0;

	begin();
	return_count = 0;
	recurse(30);
	bytes = capture.captured.stack_bytes;
	unwind();
	count = frame_count;
	memcpy(whole, frames, sizeof whole);
	capture.captured.stack_cut = true;
	truncated = hs_stats_get(stack_truncated);
	for (size_t cut = 0; cut < bytes; cut += bytes / 500 + 1) {
		capture.captured.stack_bytes = cut;
		unwind();
		if (is_complete()) /* what is above the outermost frame is not needed */
			CHECK_INT(frame_count, count);
		else
			CHECK(ends_with(HS_PSEUDO_TRUNCATED));
		/* If nothing at all was copied it is counted as that instead. */
		truncated += !is_complete() && cut > 0;
		CHECK_INT(hs_stats_get(stack_truncated), truncated);
		CHECK(memcmp(frames, whole, (frame_count - 1) * sizeof frames[0]) == 0);
		good += frame_count > 20;
	}
	CHECK(good > 100);
	/* If the sampler has not said that it cut the stack, the same is an error. */
	errors = hs_stats_get(unwind_bad_frame);
	capture.captured.stack_cut = false;
	capture.captured.stack_bytes = 256;
	unwind();
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	CHECK_INT(hs_stats_get(unwind_bad_frame), errors + 1);
	end();
}

static void test_program_counters_of_nowhere(void)
{
	uint64_t errors = hs_stats_get(unwind_no_mapping), reads;

	begin();
	return_count = 0;
	recurse(1);
	reads = hs_stats_get(map_reads);
	capture.captured.regs.pc = 0x1234;
	unwind();
	CHECK_INT(frame_count, 2);
	CHECK_INT(frames[0].mapping, HS_MAPPING_UNKNOWN);
	CHECK_INT(frames[0].address, 0x1234 - 1);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	CHECK_INT(hs_stats_get(unwind_no_mapping), errors + 1);
	CHECK_INT(hs_stats_get(map_reads), reads + 1);
	errors = hs_stats_get(empty_stacks);
	capture.captured.regs.pc = 0;
	unwind();
	CHECK_INT(frame_count, 1);
	CHECK_INT(hs_stats_get(empty_stacks), errors + 1);
	CHECK(ends_with(HS_PSEUDO_UNKNOWN));
	end();
}

static long refuse_open(long number)
{
	return number == SYS_openat ? -EACCES : 0;
}

/* What is known of code then is not for walks in place, which would keep it for good. */
static void test_unreadable_maps(void)
{
	begin_unloaded(0, NULL);
	return_count = 0;
	recurse(3);
	atomic_store(&hs_sys_fault, refuse_open);
	unwind();
	atomic_store(&hs_sys_fault, NULL);
	CHECK_STR(path_of(&frames[0]), "[unreadable maps]");
	CHECK(!hs_known_pcs_hold(hs_unwinder_known_pcs(unwinder)));
	/* Maps that were read in vain are read again after a rest. */
	for (int turn = 0; turn < 10000 && !is_in_program(&frames[0]); turn++) {
		usleep(1000);
		unwind();
	}
	CHECK(is_in_program(&frames[0]));
	CHECK(is_complete());
	CHECK(hs_known_pcs_hold(hs_unwinder_known_pcs(unwinder)));
	end();
}

static void test_own_frames_are_left_out(void)
{
	int numbers[] = { 2, 1 };

	begin_with_own((uintptr_t)&begin);
	qsort(numbers, 2, sizeof numbers[0], compare_and_capture);
	unwind();
	CHECK(is_complete());
	CHECK(frame_count >= 2);
	for (size_t i = 0; i < frame_count; i++)
		CHECK(!is_in_program(&frames[i]));
	end();
}

int main(void)
{
	if (hs_arena_init((size_t)256 << 20) < 0)
		return 99;
	RUN(test_recursion);
	RUN(test_callback_from_libc);
	RUN(test_thread);
	RUN(test_signal_handler);
	RUN(test_signal_handler_on_its_own_stack);
	RUN(test_equal_to_backtrace);
	RUN(test_depth_limit);
	RUN(test_cut_stack);
	RUN(test_program_counters_of_nowhere);
	RUN(test_unreadable_maps);
	RUN(test_own_frames_are_left_out);
	free(capture.bytes);
	return CHECK_RESULT();
}
