/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stack bounds and the stack copy.  See capture.h.
 */
#include "sample/capture.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "arch/regs.h"
#include "arch/syscall.h"
#include "base/likely.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/heap.h"

/* More than the frames above a thread's first function need: some 300 bytes of glibc, or a tool. */
#define STARTERS_BYTES 4096u

struct hs_stack_end hs_stack_end;

HS_SAMPLE_WORDS _Atomic uint32_t hs_protects_begun;
static _Atomic uint32_t protects_over;

void hs_capture_protect_begins(void)
{
	atomic_fetch_add_explicit(&hs_protects_begun, 1, memory_order_relaxed);
}

void hs_capture_protect_ends(void)
{
	/* Release: pairs with the acquire in hs_capture_look(); what it protects is protected. */
	atomic_fetch_add_explicit(&protects_over, 1, memory_order_release);
}

void hs_capture_after_fork(void)
{
	atomic_store_explicit(&protects_over,
			      atomic_load_explicit(&hs_protects_begun, memory_order_relaxed),
			      memory_order_relaxed);
}

/*
 * The kernel keeps at least this much address space below the main stack free of
 * mmap's choices, whatever RLIMIT_STACK says.  Source: MIN_GAP, arch/x86/mm/mmap.c.
 */
#define MAIN_STACK_GAP ((uintptr_t)128 << 20)

/*
 * Stacks are walked in place where samples are dense: steps and frames are still in the processor's
 * caches.  Otherwise a walk waits for them and a copy is faster, except of larger stacks than this,
 * whose copies also sweep the caches and fill the ring.
 */
#define WALK_LARGE_STACK_BYTES 8192u

static bool is_dense(const struct hs_sample *sample)
{
	uint64_t interval = hs_unlikely(sample->is_weighed) ? hs_heap_interval(sample->heap)
							    : sample->interval_bytes;

	return interval <= HS_DENSE_INTERVAL;
}

void hs_capture_plan(struct hs_thread_state *thread, uintptr_t sp, size_t limit)
{
	struct hs_stack_plan *plan = &thread->sample.stack;
	bool known = hs_thread_on_known_stack(thread, sp);
	size_t used = hs_likely(known) ? thread->stack_high - sp : HS_CAPTURE_UNKNOWN_BYTES;

	plan->is_known = known;
	plan->is_cut = hs_unlikely(!known) || used > limit;
	plan->bytes = (uint32_t)(used < limit ? used : limit);
	thread->sample.is_dense = is_dense(&thread->sample);
	plan->walks = known && plan->bytes > 0 &&
		      (thread->sample.is_dense || plan->bytes >= WALK_LARGE_STACK_BYTES);
}

/*
 * How much of the thread's own stack can be read, found out without reading it: rt_sigprocmask()
 * with an invalid `how` reads a signal set from each page and then fails with EINVAL, or with
 * EFAULT.  If a seccomp filter refuses the call: what is left of the page.  Faster than a copy by
 * the kernel (2 us for 64 KiB, not 4.6), and allowed where process_vm_readv() is not.
 * Not inlined, and by the bare system call, to use little of a small stack.
 */
static __attribute__((noinline)) size_t readable_bytes(uintptr_t sp, size_t bytes)
{
	uintptr_t page = sp + -sp % HS_PAGE_BYTES;

	for (; page < sp + bytes; page += HS_PAGE_BYTES)
		if (hs_arch_syscall(SYS_rt_sigprocmask, -1, (long)page, 0, 8, 0, 0) != -EINVAL)
			return page - sp;
	return bytes;
}

/*
 * protects: how many calls of mprotect() were over before the stack was read.  Nothing is noted if
 * more have begun by now: what one of them protects may have been read before.
 */
static void note_read(struct hs_thread_state *thread, uintptr_t low, uintptr_t high,
		      uint32_t protects)
{
	bool touches = protects == thread->read_protects && low <= thread->read_high &&
		       high >= thread->read_low;

	if (protects != atomic_load_explicit(&hs_protects_begun, memory_order_relaxed))
		return;
	thread->read_low = touches && thread->read_low < low ? thread->read_low : low;
	thread->read_high = touches && thread->read_high > high ? thread->read_high : high;
	thread->read_protects = protects;
}

size_t hs_capture_look(struct hs_thread_state *thread, uintptr_t sp, size_t bytes)
{
	/* Acquire: pairs with hs_capture_protect_ends(). */
	uint32_t protects = atomic_load_explicit(&protects_over, memory_order_acquire);
	size_t known = hs_thread_has_read(thread, sp, 1) ? thread->read_high - sp : 0, readable;

	if (known > bytes)
		known = bytes;
	readable = known + readable_bytes(sp + known, bytes - known);
	if (readable > known)
		note_read(thread, sp, sp + readable, protects);
	return readable;
}

/*
 * How many bytes of a stack of unknown bounds the kernel has copied.  got: the result of the call,
 * less than asked for if a page cannot be read.  If a seccomp filter refuses it, the rest of the
 * page is copied here: the return address just below the stack pointer shows that it is mapped.
 * The call itself is the caller's: one frame less on a small stack.
 */
static HS_RARE size_t copied(ssize_t got, unsigned char *to, uintptr_t sp, size_t bytes)
{
	size_t certain = -sp % HS_PAGE_BYTES;

	if (got >= 0)
		return (size_t)got;
	if (got == -EFAULT)
		return 0; /* the stack ends at the stack pointer */
	bytes = bytes > certain ? certain : bytes;
	hs_arch_copy(to, (const void *)sp, bytes);
	return bytes;
}

size_t hs_capture_copy_known(struct hs_thread_state *thread, uintptr_t sp, size_t bytes, void *to)
{
	if (hs_unlikely(!hs_thread_has_read(thread, sp, bytes)))
		bytes = hs_capture_look(thread, sp, bytes);
	hs_arch_copy(to, (const void *)sp, bytes);
	return bytes;
}

void hs_capture_copy(struct hs_thread_state *thread, uintptr_t sp, size_t room,
		     struct hs_record *record)
{
	const struct hs_stack_plan *plan = &thread->sample.stack;
	size_t bytes = room;

	if (hs_likely(plan->is_known)) {
		bytes = hs_capture_copy_known(thread, sp, bytes, record->stack);
	} else {
		ssize_t got =
			hs_sys_process_vm_read((pid_t)record->tid, sp, record->stack, bytes);

		bytes = copied(got, record->stack, sp, bytes);
		hs_stats_add(stack_unknown, 1);
	}
	record->stack_bytes = (uint32_t)bytes;
	if (hs_unlikely(plan->is_cut || bytes < room))
		record->flags |= HS_RECORD_STACK_CUT;
}

void hs_capture_read_on(struct hs_thread_state *thread)
{
	uintptr_t low = thread->read_high, high = thread->stack_high;

	if (high <= low)
		return;
	hs_capture_look(thread, low, high - low < HS_READ_ON_BYTES ? high - low : HS_READ_ON_BYTES);
}

void hs_capture_init_main(struct hs_thread_state *thread, uintptr_t end)
{
	struct rlimit limit = {0, 0};
	uintptr_t room = MAIN_STACK_GAP;

	if (hs_syscall(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit, 0, 0) == 0 &&
	    limit.rlim_cur < room)
		room = limit.rlim_cur;
	thread->stack_high = end;
	thread->stack_low = end - room;
}

void hs_capture_init_thread(struct hs_thread_state *thread, size_t stack_bytes,
			    uintptr_t caller_sp, uintptr_t caller_pc)
{
	/*
	 * glibc allocates stack_bytes, with static TLS and the thread control block at the upper
	 * end, and a guard below.  Measured from the control block, that many bytes would reach
	 * into the guard; a page is left out for the control block.
	 */
	uintptr_t high = hs_arch_thread_pointer();
	/* The stack ends below the static TLS, which may be large. */
	uintptr_t starters_end = caller_sp + STARTERS_BYTES;

	if (stack_bytes <= HS_PAGE_BYTES)
		return;
	thread->stack_high = high < starters_end ? high : starters_end;
	thread->stack_low = high - (stack_bytes - HS_PAGE_BYTES);
	thread->caller_sp = caller_sp;
	if (atomic_load_explicit(&hs_stack_end.caller_pc, memory_order_relaxed) == 0)
		atomic_store_explicit(&hs_stack_end.caller_pc, caller_pc, memory_order_relaxed);
}

void hs_stack_end_found(const struct hs_stack_window *stack, uint64_t caller_sp, uint64_t end)
{
	uint64_t word, bytes = end - caller_sp;

	if (bytes < sizeof word || bytes > STARTERS_BYTES ||
	    !hs_stack_window_read(stack, end - sizeof word, &word) || word == 0)
		return;
	hs_stack_end.last_word = word;
	/* Release: last_word; pairs with hs_capture_find_end(). */
	atomic_store_explicit(&hs_stack_end.bytes, (uint32_t)bytes, memory_order_release);
}

void hs_capture_find_end(struct hs_thread_state *thread)
{
	/* Acquire: pairs with hs_stack_end_found(). */
	uint32_t bytes = atomic_load_explicit(&hs_stack_end.bytes, memory_order_acquire);
	uintptr_t end = thread->caller_sp + bytes;
	uint64_t word = 0;

	if (bytes == 0)
		return;
	thread->caller_sp = 0;
	if (end > thread->stack_high)
		return;
	hs_arch_copy(&word, (const void *)(end - sizeof word), sizeof word);
	/* Another word: the thread was started in another way, and its end stays a bound. */
	if (word == hs_stack_end.last_word)
		thread->stack_high = end;
}
