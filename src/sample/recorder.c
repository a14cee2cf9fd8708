/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sample path.  See recorder.h.
 */
#include "sample/recorder.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/libraries.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/capture.h"
#include "sample/live_set.h"
#include "sample/record.h"
#include "sample/sampler.h"
#include "sample/thread_state.h"

struct hs_recorder hs_recorder;
struct hs_lost hs_lost;
_Atomic uint64_t hs_sequence = 1;

/* A countdown that is not met: sampling is off. */
#define NEVER ((uint64_t)1 << 62)

/* Two stack pointers this near are on the same coroutine's stack. */
#define NEAR_BYTES ((uintptr_t)256 << 10)

static uint32_t tid_of(struct hs_thread_state *thread)
{
	uint32_t tid = thread->tid;

	if (tid == 0) {
		tid = (uint32_t)hs_sys_gettid();
		/* A vfork child runs on this thread's memory, with a tid of its own. */
		if (hs_sys_getpid() ==
		    atomic_load_explicit(&hs_recorder.process_id, memory_order_relaxed))
			thread->tid = tid;
	}
	return tid;
}

/*
 * Close what a slow path left open that will never return: a handler jumped out of it.
 */
static void close_abandoned(struct hs_thread_state *thread)
{
	if (thread->reservation != 0 &&
	    hs_ring_abandon(hs_recorder.ring, hs_ring_ticket(thread->reservation),
			    tid_of(thread))) {
		hs_stats_add(abandoned, 1);
		hs_ring_wake_reader(hs_recorder.ring);
	}
	thread->reservation = 0;
}

static bool on_alternate_stack(void)
{
	stack_t now = {.ss_flags = 0};

	return hs_syscall(SYS_sigaltstack, 0, (long)&now, 0, 0, 0, 0) == 0 &&
	       (now.ss_flags & SS_ONSTACK) != 0;
}

/*
 * Whether the slow path that set the guard will never return: a call from further up the
 * same stack shows that a handler has jumped out of it.  On the thread's own stack that is
 * certain; on another (a coroutine's) calls near each other are on the same one, but for
 * a handler on the alternate stack.
 */
static bool is_gone(const struct hs_thread_state *thread, uintptr_t guard, uintptr_t caller_sp)
{
	bool guard_known = hs_thread_on_known_stack(thread, guard);

	if (caller_sp <= guard || guard_known != hs_thread_on_known_stack(thread, caller_sp))
		return false;
	return guard_known || (caller_sp - guard < NEAR_BYTES && !on_alternate_stack());
}

/*
 * Enter the slow path: from here on this thread's allocations (of signal handlers) come
 * back at once.  False if this is one of them.
 */
static bool enter(struct hs_thread_state *thread, uintptr_t caller_sp)
{
	uintptr_t guard = thread->guard_sp;

	if (guard != 0) {
		if (!is_gone(thread, guard, caller_sp))
			return false;
		close_abandoned(thread);
	}
	/* The fences order the stores for this thread's own signal handlers. */
	atomic_signal_fence(memory_order_seq_cst);
	thread->guard_sp = hs_arch_stack_pointer();
	atomic_signal_fence(memory_order_seq_cst);
	/* Under the guard, for a handler may have changed it.  0: saved by the one that is gone. */
	if (thread->bytes_until_sample != 0)
		thread->guarded_countdown = thread->bytes_until_sample;
	atomic_signal_fence(memory_order_seq_cst);
	thread->bytes_until_sample = 0;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static void leave(struct hs_thread_state *thread, uint64_t countdown)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->bytes_until_sample = countdown;
	atomic_signal_fence(memory_order_seq_cst);
	thread->guard_sp = 0;
}

/* Draw the next countdown with the interval of now. */
static uint64_t draw(struct hs_thread_state *thread)
{
	/* Relaxed: see hs_sampler_interval. */
	uint64_t interval = atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed);

	thread->interval_bytes = interval;
	thread->drawn = interval == 0 ? NEVER : hs_sampler_draw(&thread->random, interval);
	/* The two agree, should a handler jump out before leave(). */
	thread->guarded_countdown = thread->drawn;
	return thread->drawn;
}

static uint64_t current_countdown(struct hs_thread_state *thread)
{
	uint32_t epoch = atomic_load_explicit(&hs_sampler_epoch, memory_order_relaxed);

	if (thread->kind == HS_THREAD_NEW) {
		thread->kind = HS_THREAD_PROGRAM;
		thread->random = hs_sampler_next_stream();
	}
	if (thread->epoch == epoch)
		return thread->guarded_countdown;
	thread->epoch = epoch;
	return draw(thread);
}

static void count_lost(struct hs_thread_state *thread, size_t size)
{
	uint64_t weight = hs_sampler_weight(size, thread->interval_bytes);
	unsigned __int128 bytes;

	atomic_fetch_add_explicit(&hs_lost.objects_weight, weight, memory_order_relaxed);
	/* Rounded: cut off, the sum would be short by half a byte per sample. */
	bytes = ((unsigned __int128)weight * size + HS_WEIGHT_ONE / 2) >> HS_WEIGHT_SHIFT;
	atomic_fetch_add_explicit(&hs_lost.bytes, (uint64_t)bytes, memory_order_relaxed);
}

/*
 * Reserve room: with the stack, else (where that is allowed) without it.  Not inlined: its
 * frame is to be gone when the stack is captured.
 */
static __attribute__((noinline)) struct hs_record *
reserve(struct hs_thread_state *thread, struct hs_capture *capture, uint64_t cookie, bool stackless)
{
	uint32_t tid = tid_of(thread);
	struct hs_record *record;

	record = hs_ring_reserve(hs_recorder.ring, sizeof *record + capture->bytes,
				 HS_RING_ORDINARY, tid, cookie, &thread->reservation);
	if (record != NULL || !stackless)
		return record;
	capture->bytes = 0;
	record = hs_ring_reserve(hs_recorder.ring, sizeof *record, HS_RING_KEPT, tid, cookie,
				 &thread->reservation);
	if (record != NULL && !hs_recorder.stream)
		hs_stats_add(stackless, 1);
	return record;
}

enum outcome { RECORDED, NO_SLOT, NO_ROOM };

static enum outcome try_record(struct hs_thread_state *thread, const void *address, size_t size,
			       const struct hs_regs *regs, bool stackless)
{
	struct hs_live_ticket ticket;
	struct hs_capture capture;
	struct hs_record *record;
	uint64_t number;
	uint32_t place;

	if (!hs_live_set_take(&ticket))
		return NO_SLOT;
	hs_capture_plan(&capture, thread, regs->sp,
			hs_recorder.stream ? 0 : hs_recorder.stack_limit_bytes);
	record = reserve(thread, &capture, ((uint64_t)ticket.slot + 1) << 32 | ticket.generation,
			 stackless);
	if (record == NULL) {
		hs_live_set_cancel(ticket);
		return NO_ROOM;
	}
	place = hs_ring_ticket(thread->reservation);
	*record = (struct hs_record){
		.address = (uint64_t)(uintptr_t)address,
		.size = size,
		.interval_bytes = thread->interval_bytes,
		.slot = ticket.slot,
		.generation = ticket.generation,
		.tid = tid_of(thread),
		.kind = HS_RECORD_ALLOCATION,
		.closes_unwaited = hs_closes_unwaited(),
		.regs = *regs,
	};
	record->closes = hs_closes_now();
	if (hs_recorder.stream)
		record->time_ns = hs_sys_clock_ns(CLOCK_MONOTONIC_COARSE);
	else if (capture.bytes > 0)
		hs_capture_copy(&capture, record);
	else
		record->flags = HS_RECORD_STACKLESS | HS_RECORD_STACK_CUT;

	if (!hs_live_set_insert(ticket, address)) {
		hs_ring_abandon(hs_recorder.ring, place, tid_of(thread));
		thread->reservation = 0;
		hs_ring_wake_reader(hs_recorder.ring);
		return NO_SLOT;
	}
	number = atomic_fetch_add_explicit(&hs_sequence, 1, memory_order_acq_rel);
	hs_ring_note_sequence(hs_recorder.ring, place, number);
	hs_ring_commit(hs_recorder.ring, place);
	atomic_signal_fence(memory_order_seq_cst);
	thread->reservation = 0;
	hs_ring_wake_reader(hs_recorder.ring);
	return RECORDED;
}

bool hs_record_may_wait(uintptr_t sp)
{
	const struct hs_thread_state *thread = &hs_thread;
	long policy;

	if (thread->no_wait || !hs_thread_on_known_stack(thread, sp) ||
	    !atomic_load_explicit(&hs_recorder.reader_runs, memory_order_acquire))
		return false;
	/* A vfork child shares our memory but must not hold up its parent. */
	if (hs_sys_getpid() != atomic_load_explicit(&hs_recorder.process_id, memory_order_relaxed))
		return false;
	policy = hs_syscall(SYS_sched_getscheduler, 0, 0, 0, 0, 0, 0);
	return policy != SCHED_FIFO && policy != SCHED_RR;
}

static bool record_waiting(struct hs_thread_state *thread, const void *address, size_t size,
			   const struct hs_regs *regs)
{
	uint64_t end_ns = hs_sys_monotonic_ns() + hs_recorder.block_ns;

	hs_stats_add(blocked, 1);
	while (atomic_load_explicit(&hs_recorder.reader_runs, memory_order_acquire)) {
		uint32_t space = hs_ring_space_counter(hs_recorder.ring);

		if (try_record(thread, address, size, regs, false) == RECORDED)
			return true;
		if (!hs_ring_wait_slice(hs_recorder.ring, space, end_ns)) {
			thread->block_after_ns = end_ns + HS_BLOCK_PAUSE_NS;
			hs_stats_add(block_expired, 1);
			break;
		}
	}
	return false;
}

static bool record_sample(struct hs_thread_state *thread, const void *address, size_t size,
			  const struct hs_regs *regs)
{
	enum outcome outcome;

	hs_stats_add(samples, 1);
	if (hs_recorder.block_ns != 0) {
		if (try_record(thread, address, size, regs, false) == RECORDED)
			return true;
		if (hs_sys_monotonic_ns() >= thread->block_after_ns &&
		    hs_record_may_wait(regs->sp) && record_waiting(thread, address, size, regs))
			return true;
	}
	outcome = try_record(thread, address, size, regs, true);
	if (outcome == RECORDED)
		return true;
	if (outcome == NO_SLOT) {
		hs_stats_add(lost_live_set, 1);
		/* Slots may be free for long, but not given back: frees alone wake nobody. */
		hs_ring_wake_reader(hs_recorder.ring);
	} else {
		hs_stats_add(lost_ring, 1);
	}
	count_lost(thread, size);
	return false;
}

bool hs_record_allocation(const void *address, size_t size, const struct hs_regs *regs)
{
	struct hs_thread_state *thread = &hs_thread;
	uint64_t bytes = size + (size == 0);
	uint64_t countdown;
	bool recorded;

	/* gcc 12 folds the address of a TLS variable so that -fsanitize=null takes it for NULL. */
	__asm__("" : "+r"(thread));
	if (address == NULL || !enter(thread, regs->sp))
		return false;
	if (atomic_load_explicit(&hs_sampler_epoch, memory_order_relaxed) == 0) {
		leave(thread, 0); /* not started yet: look again each time */
		return false;
	}
	countdown = current_countdown(thread);
	if (bytes < countdown) {
		leave(thread, countdown - bytes);
		return false;
	}
	hs_stats_add(allocated_bytes, thread->drawn - countdown + bytes);
	thread->drawn = countdown;
	/* Sampling was switched off after this countdown was drawn: it ends here. */
	recorded = atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed) != 0 &&
		   record_sample(thread, address, size, regs);
	leave(thread, draw(thread));
	return recorded;
}

void hs_record_free(const void *address)
{
	if (hs_live_set_free(address, &hs_sequence))
		hs_stats_add(frees, 1);
}

uint32_t hs_record_move_begin(const void *address)
{
	return hs_live_set_begin_move(address, &hs_sequence);
}

/*
 * Deliver a number that stands for nothing.  Without room, or in a handler that has
 * interrupted the slow path, it becomes a gap, which the producer notices.
 */
static void record_tombstone(uint64_t number)
{
	struct hs_thread_state *thread = &hs_thread;
	struct hs_record *record;
	uint32_t place;

	/* The guard, so that a reservation that a handler jumps out of is found. */
	if (!enter(thread, (uintptr_t)__builtin_frame_address(0)))
		return;
	record = hs_ring_reserve(hs_recorder.ring, sizeof *record, HS_RING_KEPT, tid_of(thread), 0,
				 &thread->reservation);
	if (record != NULL) {
		place = hs_ring_ticket(thread->reservation);
		hs_ring_note_sequence(hs_recorder.ring, place, number);
		*record = (struct hs_record){.kind = HS_RECORD_TOMBSTONE};
		hs_ring_commit(hs_recorder.ring, place);
		atomic_signal_fence(memory_order_seq_cst);
		thread->reservation = 0;
		hs_ring_wake_reader(hs_recorder.ring);
	}
	leave(thread, thread->guarded_countdown);
}

void hs_record_move_end(uint32_t token, bool moved)
{
	if (token == HS_SLOT_NONE)
		return;
	if (moved) {
		hs_live_set_end_move(token);
		hs_stats_add(frees, 1);
	} else {
		record_tombstone(hs_live_set_cancel_move(token));
	}
}

void hs_record_settle(void)
{
	struct hs_thread_state *thread = &hs_thread;

	if (thread->guard_sp == 0 && thread->interval_bytes != 0)
		hs_sampler_settle(thread, thread->bytes_until_sample);
}

void hs_record_stop_thread(void)
{
	close_abandoned(&hs_thread);
	hs_record_settle();
}

bool hs_record_after_fork(void)
{
	hs_thread.tid = 0;
	return hs_thread.guard_sp == 0;
}
