/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Heaps of the program, and telling them when they are sampled.  See session.h.  Runs on the
 * program's threads, except where session_state.h says otherwise.
 */
#include <errno.h>
#include <heapsample/heapsample.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "base/sys.h"
#include "sample/heap.h"
#include "sample/live_set.h"
#include "session/session_state.h"
#include "session/unlocked.h"

/* How long a registration waits for another one, which takes microseconds. */
#define REGISTER_LIMIT_NS 100000000u

/* How long an unregistration waits for a call of the heap's function, which should not block. */
#define CALL_LIMIT_NS 2000000000u
#define CALL_LOOK_NS 1000000

/* A program may try anew for each of its pools. */
#define MOST_LINES 20u

/* Held while a heap is registered. */
static struct hs_lock lock;

static struct {
	struct heapsample_heap_calls calls; /* written before the heap is registered */
	_Atomic uint32_t caller; /* tid of the thread that may be in one of them, or 0; futex */
	_Atomic bool was_told_on; /* written by the caller */
} told[HS_HEAP_LIMIT];

static void tell_problem(const char *name, const char *problem)
{
	static _Atomic uint32_t lines;

	if (atomic_load(&lines) < MOST_LINES && atomic_fetch_add(&lines, 1) < MOST_LINES)
		hs_log(HS_LOG_WARN, "no heap of the name '%s': %s", name, problem);
}

/* 0, or -errno after logging what is wrong. */
static int check_name(const char *name)
{
	const char *problem = NULL;
	int error = -EINVAL;

	if (name == NULL || name[0] == '\0')
		problem = "it is empty";
	else if (strnlen(name, HS_HEAP_NAME_BYTES) == HS_HEAP_NAME_BYTES)
		problem = "it is longer than 63 bytes", error = -ENAMETOOLONG;
	else if (strpbrk(name, "=,*\n") != NULL)
		problem = "it has '=', ',', '*' or a new line";
	if (problem == NULL)
		return 0;
	tell_problem(name != NULL ? name : "", problem);
	return error;
}

/* The interval that the heap is sampled with; 0: it is not. */
static uint64_t interval_of(uint32_t heap)
{
	if (atomic_load(&hs_heaps[heap].state) != HS_HEAP_REGISTERED || atomic_load(&hs_epoch) == 0)
		return 0;
	return hs_heap_interval(heap);
}

/* Called by the thread that is told[heap].caller. */
static void tell(uint32_t heap)
{
	const struct heapsample_heap_calls calls = told[heap].calls;
	uint64_t interval = interval_of(heap);

	if (atomic_load(&told[heap].was_told_on) == (interval != 0))
		return;
	atomic_store(&told[heap].was_told_on, interval != 0);
	if (interval != 0 && calls.enabled != NULL)
		calls.enabled(calls.context, interval);
	else if (interval == 0 && calls.disabled != NULL)
		calls.disabled(calls.context);
}

/*
 * Tells the heap whether it is sampled.  One thread does it at a time.  Another one leaves it to
 * that one, which checks again afterwards (all of these accesses are sequentially consistent).  So
 * nobody waits, and the heap's last call is true.
 */
static void notify(uint32_t heap)
{
	while (atomic_load(&told[heap].was_told_on) != (interval_of(heap) != 0)) {
		uint32_t nobody = 0;

		if (!atomic_compare_exchange_strong(&told[heap].caller, &nobody,
						    (uint32_t)hs_sys_gettid()))
			return;
		tell(heap);
		atomic_store(&told[heap].caller, 0);
	}
}

/* The heap is closed: tells it, and waits until no other thread is in one of its functions. */
static void end_calls(uint32_t heap)
{
	uint64_t end_ns = hs_sys_monotonic_ns() + CALL_LIMIT_NS;
	uint32_t caller;
	bool was_told_on;

	for (;;) {
		notify(heap);
		/* In this order: a thread that sets was_told_on is still the caller after that. */
		was_told_on = atomic_load(&told[heap].was_told_on);
		caller = atomic_load(&told[heap].caller);
		if ((caller == 0 && !was_told_on) || caller == (uint32_t)hs_sys_gettid() ||
		    hs_sys_monotonic_ns() >= end_ns)
			return;
		hs_sys_futex_wait(&told[heap].caller, caller, CALL_LOOK_NS);
	}
}

void hs_heaps_notify(void)
{
	for (uint32_t heap = HS_HEAP_FIRST_REPORTED;
	     heap < HS_HEAP_LIMIT && hs_heaps[heap].name[0] != '\0'; heap++)
		notify(heap);
}

int hs_session_heap_register(const char *name, const struct heapsample_heap_calls *calls)
{
	static const struct heapsample_heap_calls none;
	int saved_errno = errno, heap;
	uint64_t interval;

	if (atomic_load(&hs_session.phase) == HS_SESSION_OFF)
		return -ENOSYS;
	heap = check_name(name);
	if (heap != 0)
		return heap;
	if (!hs_lock_acquire_within(&lock, REGISTER_LIMIT_NS))
		return -EAGAIN;
	/* 0 before the options are read; hs_heaps_start() sets it then. */
	interval = hs_options_heap_interval(&hs_options, name);
	heap = hs_heap_make(name, interval, hs_options_block_ns(&hs_options, interval) != 0);
	if (heap > 0) {
		told[heap].calls = calls != NULL ? *calls : none;
		hs_heap_register((uint32_t)heap);
	}
	hs_lock_release(&lock);
	if (heap > 0)
		notify((uint32_t)heap);
	else
		tell_problem(name, heap == -EEXIST ? "there is one" : "there have been too many");
	errno = saved_errno;
	return heap;
}

int hs_session_heap_unregister(uint32_t heap)
{
	int saved_errno = errno, error = 0;

	/* One that is registered ends even if profiling has ended: nothing may call it then. */
	if (heap < HS_HEAP_FIRST_REPORTED || heap >= HS_HEAP_LIMIT || !hs_heap_unregister(heap))
		return atomic_load(&hs_session.phase) == HS_SESSION_OFF ? -ENOSYS : -EINVAL;
	end_calls(heap);
	if (hs_live_set_used() == 0)
		hs_heap_gone(heap);
	else
		error = hs_session_close_heap(heap);
	errno = saved_errno;
	return error;
}

void hs_heaps_start(void)
{
	for (uint32_t heap = HS_HEAP_MALLOC;
	     heap < HS_HEAP_LIMIT && hs_heaps[heap].name[0] != '\0'; heap++) {
		uint64_t asked = hs_options_heap_interval(&hs_options, hs_heaps[heap].name);

		hs_heap_set(heap, asked, hs_options_block_ns(&hs_options, asked) != 0);
	}
}

void hs_heaps_after_fork(void)
{
	hs_lock_reset(&lock);
	for (uint32_t heap = 0; heap < HS_HEAP_LIMIT; heap++)
		atomic_store(&told[heap].caller, 0);
}

static bool is_known(const char *name)
{
	for (uint32_t heap = HS_HEAP_MALLOC; heap < HS_HEAP_LIMIT; heap++) {
		if (strcmp(hs_heaps[heap].name, name) == 0)
			return true;
	}
	return false;
}

void hs_heaps_check_names(void)
{
	static bool checked;
	struct hs_heap_entry entry;
	const char *next = hs_options.heaps;

	if (checked)
		return;
	checked = true;
	while ((next = hs_options_next_heap(next, &entry)) != NULL) {
		if (strcmp(entry.name, "*") != 0 && !is_known(entry.name))
			hs_unlocked_log(HS_LOG_WARN,
					"HEAPSAMPLE_HEAPS: %s has registered no heap '%s' so far",
					hs_session.program, entry.name);
	}
}
