/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The speed of unwinding.  This library is preloaded into a program.  It copies the main thread's
 * stack at up to STACKS of its allocations.  When it has them all, or the program ends, it unwinds
 * them repeatedly: by cached rows with libunwind as the fallback, as the worker does, and by
 * libunwind alone.  It writes one line to standard error.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/stats.h"
#include "unwind/libunwind_use.h"
#include "unwind/unwinder.h"

#define EXPORT __attribute__((visibility("default")))

#define STACKS 4000u
/* Every STRIDE-th allocation is recorded, but not the first ones, of the program's start. */
#define STRIDE 37u
#define LEFT_OUT 1000u
#define STACK_BYTES ((size_t)64 << 10)
#define DEPTH 512
#define LEAST_SECONDS 1.0

extern void *__libc_stack_end;

static void *(*next_malloc)(size_t);
static struct hs_captured stacks[STACKS];
static size_t stack_count;
static size_t allocations;
static unsigned char *copies; /* STACKS * STACK_BYTES; NULL: not recording */
static __thread int is_main __attribute__((tls_model("initial-exec")));

static struct hs_mapping_table *table;
static struct hs_unwinder *unwinder;
static struct hs_libunwind_engine *engine;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static size_t unwind_by_rows(const struct hs_captured *captured)
{
	static struct hs_frame frames[DEPTH + 1];

	return hs_unwind(unwinder, captured, DEPTH, frames);
}

static size_t unwind_by_libunwind(const struct hs_captured *captured)
{
	struct hs_stack_window window = {.start = captured->regs.sp,
					 .bytes = captured->stack,
					 .size = captured->stack_bytes,
					 .cut = captured->stack_cut};
	struct hs_regs regs = captured->regs;
	uint64_t pc, sp;
	size_t count = 1;

	regs.pc--;
	hs_libunwind_engine_begin(engine, &regs, &window);
	while (count < DEPTH && hs_libunwind_engine_step(engine, &pc, &sp) == HS_STEP_FRAME)
		count++;
	return count;
}

struct speed {
	double seconds; /* per pass over all stacks */
	size_t frames;
};

static struct speed measure(size_t (*unwind)(const struct hs_captured *), double least_seconds)
{
	double start = now(), seconds;
	struct speed speed = {0, 0};
	unsigned passes = 0;

	do {
		speed.frames = 0;
		for (size_t i = 0; i < stack_count; i++)
			speed.frames += unwind(&stacks[i]);
		passes++;
		seconds = now() - start;
	} while (seconds < least_seconds);
	speed.seconds = seconds / passes;
	return speed;
}

static int make_unwinders(void)
{
	struct hs_libunwind_use reference = {.is = HS_LIBUNWIND_NOT_LOADED};

	if (hs_arena_init((size_t)256 << 20) < 0)
		return -1;
	table = hs_mapping_table_create();
	unwinder = hs_unwinder_create(table, NULL);
	if (unwinder == NULL || hs_unwinder_load_engine(unwinder) < 0)
		return -1;
	reference.table = table;
	reference.memory = hs_memory_cache_create(table);
	engine = hs_libunwind_engine_create(table, reference.memory, hs_hint_frames_create());
	reference.engine = engine;
	return engine != NULL && hs_libunwind_may_be_used(&reference) ? 0 : -1;
}

static void print(const char *what, const struct speed *speed)
{
	dprintf(2, "; %s %.2f M frames/s, %.0f stacks/s", what,
		(double)speed->frames / speed->seconds / 1e6, (double)stack_count / speed->seconds);
}

static void run(void)
{
	uint64_t by_row, by_libunwind, made;
	struct speed cold, hot, reference;

	if (make_unwinders() < 0) {
		dprintf(2, "bench_unwind: libunwind cannot be used\n");
		_exit(1);
	}
	cold = measure(unwind_by_rows, 0);
	made = hs_stats_get(unwind_rows_made);
	by_row = hs_stats_get(unwind_rows_hit);
	by_libunwind = hs_stats_get(unwind_rows_fallback);
	hot = measure(unwind_by_rows, LEAST_SECONDS);
	measure(unwind_by_libunwind, 0);
	reference = measure(unwind_by_libunwind, LEAST_SECONDS);
	dprintf(2, "%s: %zu stacks of %.1f frames, %zu rows, %zu of %zu steps left to libunwind",
		program_invocation_short_name, stack_count,
		(double)hot.frames / (double)stack_count, (size_t)made, (size_t)by_libunwind,
		(size_t)(by_row + by_libunwind));
	print("first time", &cold);
	print("then", &hot);
	print("libunwind alone", &reference);
	dprintf(2, "; %.0f times as fast\n",
		(double)hot.frames / hot.seconds * reference.seconds / (double)reference.frames);
}

/* Runs the measurement once: when there are enough stacks, or at exit. */
static void finish(void)
{
	unsigned char *recorded = copies;

	copies = NULL;
	if (recorded != NULL && stack_count > 0)
		run();
}

static __attribute__((noinline)) void record(void)
{
	struct hs_captured *captured = &stacks[stack_count];
	unsigned char *copy = copies + stack_count * STACK_BYTES;
	size_t bytes;

	hs_arch_capture(&captured->regs);
	bytes = (uintptr_t)__libc_stack_end - captured->regs.sp;
	captured->stack_cut = bytes > STACK_BYTES;
	captured->stack_bytes = bytes > STACK_BYTES ? STACK_BYTES : bytes;
	captured->stack = copy;
	hs_arch_copy(copy, (const void *)(uintptr_t)captured->regs.sp, captured->stack_bytes);
	if (++stack_count == STACKS)
		finish();
}

__attribute__((constructor)) static void start(void)
{
	void *memory = mmap(NULL, STACKS * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return;
	is_main = 1;
	copies = memory;
}

__attribute__((destructor)) static void end(void)
{
	finish();
}

EXPORT void *malloc(size_t bytes)
{
	void *block;

	if (next_malloc == NULL)
		*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
	block = next_malloc(bytes);
	if (is_main && copies != NULL && ++allocations > LEFT_OUT && allocations % STRIDE == 0)
		record();
	return block;
}
