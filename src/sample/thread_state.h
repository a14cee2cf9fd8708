/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the profiler keeps per thread: all of it in initial-exec TLS, zeroed by the
 * loader.  No key, no destructor, no registry; a thread that never allocates costs
 * nothing.
 *
 * Written and read by the owning thread only, including its signal handlers; the
 * slow path orders its stores against its own handlers with signal fences.
 */
#ifndef HS_SAMPLE_THREAD_STATE_H
#define HS_SAMPLE_THREAD_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/likely.h"
#include "base/visibility.h"

/* What kind of thread this is; decides before anything else in the slow path. */
enum hs_thread_kind {
	HS_THREAD_NEW = 0,  /* of the program, first allocation still to come */
	HS_THREAD_PROGRAM,
	HS_THREAD_PROFILER, /* ours: allocates from the arena, is never sampled */
};

/* How far this thread is in thrd_create(), whose next definition may call our pthread_create(). */
enum hs_c11_create {
	HS_C11_NONE = 0,
	HS_C11_BEGUN,
	HS_C11_CAME_BACK, /* pthread_create() counts the thread */
	HS_C11_FAILED,    /* that, in vain */
};

/* How the stack of a sample is recorded: see hs_capture_plan(). */
struct hs_stack_plan {
	uint32_t bytes; /* from the stack pointer on, at most */
	bool is_known;  /* the bounds of the stack are known */
	bool is_cut;    /* the stack goes on past `bytes` */
	bool walks;     /* walked in place, if possible; else copied */
};

/* An allocation that was chosen, of any heap. */
struct hs_sample {
	uint64_t id;   /* the address; in a reported heap, the program's id */
	uint64_t size; /* requested bytes */
	union {
		uint64_t interval_bytes; /* the countdown was drawn with it */
		uint64_t weight;         /* if is_weighed: units of 1 / HS_WEIGHT_ONE */
	};
	uint8_t heap;
	bool is_refused; /* known to find no room: it has no plan, and nothing was prefetched */
	bool is_weighed;
	bool is_dense; /* see HS_DENSE_INTERVAL: prefetches for the next sample too */
	uint32_t epoch; /* hs_epoch */
	struct hs_stack_plan stack;
};

struct hs_thread_state {
	/*
	 * Bytes until the next sampled byte.  0 sends every allocation to the slow path:
	 * the first one of a thread, those of profiler threads, and those made while
	 * this thread is inside the slow path (a signal handler).
	 */
	uint64_t bytes_until_sample;
	uint64_t drawn; /* bytes_until_sample plus what was allocated since last settled */
	uint64_t interval_bytes; /* the interval the countdown was drawn with */
	uint64_t scaled_interval, scale; /* an interval, or 0, and its hs_sampler_scale() */
	uint64_t random;         /* generator state */

	/* For all heaps that the program reports: see sample/report.h. */
	uint64_t reported_countdown;
	uint64_t reported_interval; /* it was drawn with; 0: not drawn yet */

	uintptr_t guard_sp;        /* the struct hs_guard of the slow path that runs; 0 = none */
	uint64_t guarded_countdown; /* bytes_until_sample, while guard_sp is set */
	uint64_t reservation;      /* the open ring reservation: ticket + 1; 0 = none */

	uintptr_t stack_low;  /* known stack [low, high): both 0 if it is not known */
	uintptr_t stack_high;
	uintptr_t caller_sp; /* while stack_high is only a bound, see hs_stack_end; else 0 */
	uintptr_t read_low; /* the part of it that samples have read before; both 0: none */
	uintptr_t read_high;
	uint64_t block_end_ns;   /* monotonic time until which this sample waits; 0: it does not */
	uint64_t block_after_ns; /* monotonic time before which this thread does not wait again */
	uint64_t close_end_ns;   /* ... until which it waits inside dlclose(); 0: it does not */

	/* The sample being taken: here, because a program's stack may be small. */
	struct hs_sample sample;

	/*
	 * Inside an aligned operator new: the size asked for, plus 1 (0: not inside).  The
	 * C++ library rounds it up before it calls aligned_alloc().
	 */
	uint64_t requested_size;

	uint32_t tid;
	uint8_t kind;   /* enum hs_thread_kind */
	uint8_t c11_create; /* enum hs_c11_create */
	bool is_creating;   /* inside the program's pthread_create() or thrd_create() */
	bool met_full_ring; /* its last sample found no room */
	_Atomic uint32_t labels; /* its set of labels, 0: none.  Handlers may change it */
	uint16_t walk_room; /* frames that a walk in place gets room for; 0: the usual number */
	uint8_t walk_rest;  /* samples until the next walk in place */
	uint8_t walk_fails; /* failed walks in a row */
	bool has_drawn; /* a countdown, its first */
	bool no_wait;   /* inside a hook that must not wait or start threads (fork and others) */
	bool asking;  /* inside hs_ask() of session/ask.h */
	uint8_t closing; /* how many dlclose() calls the thread is in */
	uint32_t read_protects; /* hs_protects_begun when [read_low, read_high) was read */
};

extern HS_HIDDEN __thread struct hs_thread_state hs_thread;

_Static_assert(sizeof(struct hs_thread_state) <= 256, "static TLS is scarce: at most 256 bytes");

static inline bool hs_on_profiler_thread(void)
{
	return hs_unlikely(hs_thread.kind == HS_THREAD_PROFILER);
}

/* Whether an address lies on the thread's known stack. */
static inline bool hs_thread_on_known_stack(const struct hs_thread_state *thread, uintptr_t sp)
{
	return sp - thread->stack_low < thread->stack_high - thread->stack_low;
}

/* How many calls of mprotect() that make memory unreadable have begun.  Any thread, relaxed. */
extern HS_HIDDEN _Atomic uint32_t hs_protects_begun;

/*
 * Whether bytes of the stack from sp on are known to be readable: they have been read before, and
 * not been protected since.  Otherwise there may be guard pages, of coroutines' stacks within the
 * thread's own.
 */
static inline bool hs_thread_has_read(const struct hs_thread_state *thread, uintptr_t sp,
				      size_t bytes)
{
	return sp >= thread->read_low && sp + bytes <= thread->read_high &&
	       thread->read_protects ==
		       atomic_load_explicit(&hs_protects_begun, memory_order_relaxed);
}

#endif
