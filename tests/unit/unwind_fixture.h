/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of the unwinder: an unwinder, a stack of the test itself, captured as the sampler does
 * it, and the frames that were found.
 */
#ifndef HS_TESTS_UNWIND_FIXTURE_H
#define HS_TESTS_UNWIND_FIXTURE_H

#include <stdlib.h>
#include <sys/mman.h>

#include "arch/regs.h"
#include "check.h"
#include "unwind/unwinder.h"

#define CAPTURE_BYTES ((size_t)1 << 20)
#define NEW_STACK_BYTES ((size_t)128 << 10)
#define DEPTH 512

/* For a function that must have a frame of its own; after a call that must not be a tail call. */
#define FRAME __attribute__((noinline))
#define NO_TAIL_CALL() __asm__ volatile("" : : : "memory")

extern void *__libc_stack_end;

struct capture {
	struct hs_captured captured;
	uintptr_t top;        /* the stack is copied up to here */
	unsigned char *bytes; /* CAPTURE_BYTES */
};

static struct hs_mapping_table *table;
static struct hs_unwinder *unwinder;
static struct capture capture;
static struct hs_frame frames[DEPTH + 1];
static size_t frame_count;

/*
 * Captures the stack from here to capture.top; may be called in a signal handler.  Copies by
 * assembly, because sanitizers guard parts of a stack.
 */
static inline __attribute__((always_inline)) void capture_here(void)
{
	struct hs_captured *captured = &capture.captured;

	hs_arch_capture(&captured->regs);
	captured->stack = capture.bytes;
	captured->stack_bytes = capture.top - captured->regs.sp;
	captured->stack_cut = false;
	if (captured->stack_bytes > CAPTURE_BYTES)
		abort();
	hs_arch_copy(capture.bytes, (const void *)(uintptr_t)captured->regs.sp,
		     captured->stack_bytes);
}

/* Begins without libunwind, which is loaded when it is needed. */
static inline void begin_unloaded(uintptr_t own, enum hs_leave (*before_engine)(bool))
{
	table = hs_mapping_table_create();
	hs_mapping_table_set_own(table, own);
	unwinder = hs_unwinder_create(table, before_engine);
	CHECK(unwinder != NULL);
	capture.top = (uintptr_t)__libc_stack_end;
	if (capture.bytes == NULL)
		capture.bytes = malloc(CAPTURE_BYTES);
}

static inline void begin_with_own(uintptr_t own)
{
	begin_unloaded(own, NULL);
	CHECK_INT(hs_unwinder_load_engine(unwinder), 0);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
}

static inline void begin(void)
{
	begin_with_own(0);
}

/* Changes the maps and changes them back: only what is known of code is dropped. */
static inline void change_maps(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(code != MAP_FAILED);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	munmap(code, 4096);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
}

/* A stack to run on, which is captured up to its end. */
static inline unsigned char *new_stack(int protection)
{
	unsigned char *stack =
		mmap(NULL, NEW_STACK_BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(stack != MAP_FAILED);
	capture.top = (uintptr_t)stack + NEW_STACK_BYTES;
	return stack;
}

static inline void end(void)
{
	hs_unwinder_destroy(unwinder);
	hs_mapping_table_destroy(table);
}

/* Unwinds in the same batch as before. */
static inline void unwind_another(size_t depth)
{
	frame_count = hs_unwind(unwinder, &capture.captured, depth, frames);
	CHECK(frame_count >= 1 && frame_count <= depth + 1);
}

static inline void unwind_to_depth(size_t depth)
{
	hs_unwinder_begin_batch(unwinder);
	unwind_another(depth);
}

static inline void unwind(void)
{
	unwind_to_depth(DEPTH);
}

/* Whether the stack ends with a frame of the program, so that nothing is missing. */
static inline bool is_complete(void)
{
	return frames[frame_count - 1].mapping != HS_MAPPING_NONE;
}

static inline bool ends_with(enum hs_pseudo_frame pseudo)
{
	return !is_complete() && frames[frame_count - 1].address == pseudo;
}

/* The path of a frame's mapping; "" for a pseudo frame. */
static inline const char *path_of(const struct hs_frame *frame)
{
	const struct hs_mapping *mapping = hs_mapping_table_get(table, frame->mapping);

	return mapping != NULL ? mapping->path : "";
}

#endif
