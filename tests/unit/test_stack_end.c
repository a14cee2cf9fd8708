/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the stacks of threads end: what the worker finds out, and how threads use it. */
#include "sample/capture.h"

#include <pthread.h>

#include "base/arena.h"
#include "unwind_fixture.h"

#define STACK_BYTES (CAPTURE_BYTES / 2)

static struct hs_thread_state state;

/* The C library puts it between the thread's stack and its control block. */
static __thread volatile char local[1024];

static FRAME void capture_to(uintptr_t end)
{
	capture.top = end;
	capture_here();
	NO_TAIL_CALL();
	unwind();
}

/* As the function with which the library's pthread_create() has threads begin. */
static FRAME void *begin_thread(void *body)
{
	local[0] = 1;
	state = (struct hs_thread_state){0};
	hs_capture_init_thread(&state, STACK_BYTES, (uintptr_t)__builtin_dwarf_cfa(),
			       (uintptr_t)__builtin_return_address(0));
	(*(void (**)(void))body)();
	NO_TAIL_CALL();
	return NULL;
}

static void in_thread(void (*body)(void))
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	CHECK_INT(pthread_create(&thread, &attributes, begin_thread, &body), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

static void forget(void)
{
	hs_stack_end = (struct hs_stack_end){0};
}

/* At first only a bound is known; after one stack the true end, which is below it. */
static void learn(void)
{
	uintptr_t bound = state.stack_high, caller_sp = state.caller_sp;
	size_t count;

	CHECK(bound <= hs_arch_thread_pointer());
	hs_capture_find_end(&state);
	CHECK_INT(state.stack_high, bound);
	CHECK_INT(hs_stack_end_wanted(), hs_stack_end.caller_pc);
	capture_to(bound);
	CHECK(is_complete());
	count = frame_count;
	CHECK_INT(hs_stack_end_wanted(), 0);

	hs_capture_find_end(&state);
	CHECK(state.stack_high > caller_sp && state.stack_high < bound);
	CHECK_INT(state.caller_sp, 0);
	capture_to(state.stack_high);
	CHECK(is_complete());
	CHECK_INT(frame_count, count);
	capture_to(state.stack_high - 1);
	CHECK(!is_complete());
}

static void learn_from_another(void)
{
	uintptr_t bound = state.stack_high;

	hs_capture_find_end(&state);
	CHECK(state.stack_high < bound);
	CHECK_INT(state.caller_sp, 0);
	capture_to(state.stack_high);
	CHECK(is_complete());
}

static void test_first_thread_and_the_next(void)
{
	forget();
	begin();
	in_thread(learn);
	in_thread(learn_from_another);
	end();
}

/* Threads that are started otherwise have another word there, or their stacks end further down. */
static void see_another_word(void)
{
	uintptr_t bound = state.stack_high;

	hs_stack_end.last_word++;
	hs_capture_find_end(&state);
	CHECK_INT(state.stack_high, bound);
	CHECK_INT(state.caller_sp, 0);
	hs_stack_end.last_word--;
}

static void see_a_nearer_bound(void)
{
	uintptr_t bound = state.caller_sp + 8;

	state.stack_high = bound;
	hs_capture_find_end(&state);
	CHECK_INT(state.stack_high, bound);
}

static void test_threads_that_begin_otherwise(void)
{
	forget();
	begin();
	in_thread(learn);
	in_thread(see_another_word);
	in_thread(see_a_nearer_bound);
	end();
}

static void test_ends_that_make_no_sense(void)
{
	static const uint64_t words[] = {1, 2, 0, 4};
	struct hs_stack_window stack = {
		.start = 1 << 20, .bytes = (const uint8_t *)words, .size = sizeof words};

	forget();
	hs_stack_end_found(&stack, stack.start, stack.start + 40);      /* was not copied */
	hs_stack_end_found(&stack, stack.start, stack.start + 24);      /* no return address */
	hs_stack_end_found(&stack, stack.start + 8, stack.start + 8);   /* nothing there */
	hs_stack_end_found(&stack, stack.start + 16, stack.start + 8);  /* below it */
	hs_stack_end_found(&stack, stack.start - 8192, stack.start + 8); /* too far */
	CHECK_INT(hs_stack_end.bytes, 0);
	hs_stack_end_found(&stack, stack.start + 8, stack.start + 32);
	CHECK_INT(hs_stack_end.bytes, 24);
	CHECK_INT(hs_stack_end.last_word, 4);
}

/* Nothing is learned from a stack that does not end at such a caller, as main's. */
static void test_main_thread(void)
{
	forget();
	begin();
	hs_stack_end.caller_pc = (uintptr_t)__builtin_return_address(0);
	capture_to((uintptr_t)__libc_stack_end);
	CHECK(is_complete());
	forget();
	hs_stack_end.caller_pc = 1;
	capture_to((uintptr_t)__libc_stack_end);
	CHECK_INT(hs_stack_end.bytes, 0);
	end();
}

int main(void)
{
	if (hs_arena_init((size_t)256 << 20) < 0)
		return 99;
	RUN(test_first_thread_and_the_next);
	RUN(test_threads_that_begin_otherwise);
	RUN(test_ends_that_make_no_sense);
	RUN(test_main_thread);
	free(capture.bytes);
	return CHECK_RESULT();
}
