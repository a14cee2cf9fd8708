/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces what the checked code calls and what is not checked itself: memory, system calls,
 * clocks, stacks.
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/libraries.h"
#include "base/options.h"
#include "base/sys.h"
#include "machine_memory.h"
#include "maps/map_hints.h"
#include "sample/capture.h"
#include "sample/labels.h"
#include "sample/walk.h"
#include "session/memory_parts.h"
#include "unwind/unwinder.h"

static size_t arena_used;

_Atomic hs_closes hs_library_closes;
_Atomic uint64_t hs_library_opens;
_Atomic uint32_t hs_library_closes_unwaited;
struct hs_options hs_options;

#define HERE ((struct model_where){__func__, __LINE__})

void *hs_arena_reserve(size_t bytes)
{
	size_t start = (arena_used + 63) & ~(size_t)63;

	arena_used = start + bytes;
	if (arena_used > MEMORY_ARENA_BYTES)
		machine_give_up("the arena is too small");
	return (char *)memory_arena() + start;
}

size_t memory_arena_used(void)
{
	return arena_used;
}

void hs_arena_unreserve(void *start, size_t bytes)
{
	(void)start;
	(void)bytes;
}

int hs_arena_commit(void *start, size_t bytes)
{
	(void)start;
	(void)bytes;
	return 0;
}

bool hs_memory_begin_books_turn(void)
{
	return false;
}

void hs_memory_end_books_turn(void)
{
}

void *hs_arena_zalloc(size_t bytes)
{
	return hs_arena_reserve(bytes);
}

size_t hs_arena_budget(void)
{
	return MEMORY_ARENA_BYTES * 16;
}

int hs_sys_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
	return model_futex_wait(word, expected, timeout_ns);
}

int hs_sys_futex_wake(_Atomic uint32_t *word, int waiters)
{
	return (int)model_access(HERE, MODEL_FUTEX_WAKE, word, sizeof *word, (uint64_t)waiters, 0);
}

bool hs_sys_thread_is_gone(pid_t tid)
{
	return model_access(HERE, MODEL_IS_GONE, NULL, 0, (uint64_t)tid, 0) != 0;
}

pid_t hs_sys_gettid(void)
{
	return (pid_t)model_tid();
}

pid_t hs_sys_getpid(void)
{
	return 1;
}

bool hs_sys_is_real_time(void)
{
	return false;
}

ssize_t hs_sys_process_vm_read(pid_t tid, uintptr_t address, void *buffer, size_t bytes)
{
	(void)tid;
	memcpy(buffer, (const void *)address, bytes);
	return (ssize_t)bytes;
}

uint64_t hs_sys_monotonic_ns(void)
{
	return model_now_ns();
}

uint64_t hs_sys_clock_ns(clockid_t clock)
{
	(void)clock;
	return model_now_ns();
}

long hs_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	(void)number, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	return -ENOSYS;
}

/* Samples have no stacks. */
void hs_capture_plan(struct hs_thread_state *thread, uintptr_t sp, size_t limit)
{
	(void)sp;
	(void)limit;
	thread->sample.stack = (struct hs_stack_plan){.bytes = 0};
}

void hs_capture_copy(struct hs_thread_state *thread, uintptr_t sp, size_t room,
		     struct hs_record *record)
{
	(void)thread;
	(void)sp;
	(void)room;
	(void)record;
}

void hs_capture_find_end(struct hs_thread_state *thread)
{
	(void)thread;
}

struct hs_record *hs_walk_record(struct hs_thread_state *thread, const struct hs_regs *regs)
{
	(void)thread;
	(void)regs;
	return NULL;
}

bool hs_labels_has_number(uint32_t labels)
{
	return labels == 0;
}

void hs_map_hints_follow(struct hs_map_hints *hints)
{
	(void)hints;
}

void hs_sys_touch(void *start, size_t bytes)
{
	(void)start;
	(void)bytes;
}

size_t hs_unwind(struct hs_unwinder *unwinder, const struct hs_captured *captured, size_t depth,
		 struct hs_frame *frames)
{
	(void)unwinder, (void)captured, (void)depth, (void)frames;
	return 0;
}
