/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of the program's threads to the producer.  See ask.h. */
#include "session/ask.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/sys.h"
#include "sample/heap.h"
#include "sample/live_set.h"
#include "sample/thread_state.h"
#include "session/epoch.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/threads.h"

/* Held by the thread that asks until it has the answer, or has given up. */
static struct hs_lock lock;

static struct hs_ask asked;
static int result;
static char result_path[HS_PATH_BYTES];

/*
 * Numbers of requests.  number: of the last one made; released after `asked`.  begun: of the last
 * one that the producer has begun.  done: of the last one served; released after `result`; futex.
 */
static _Atomic uint32_t number, begun, done;

bool hs_ask_is_waiting(void)
{
	return atomic_load_explicit(&number, memory_order_acquire) !=
	       atomic_load_explicit(&done, memory_order_relaxed);
}

/* waited_ns: for how long the caller has waited before. */
static int wait_done(uint32_t ask, uint64_t waited_ns)
{
	uint64_t start_ns = hs_sys_monotonic_ns();
	uint32_t now;

	/* Acquire: pairs with the release in hs_ask_serve(). */
	while ((now = atomic_load_explicit(&done, memory_order_acquire)) != ask) {
		if (waited_ns >= HS_PROFILE_LIMIT_NS || hs_threads_died() ||
		    hs_threads_cannot_wake(start_ns, begun != ask))
			return -ETIMEDOUT;
		waited_ns += hs_threads_wait_slice(&done, now);
	}
	return 0;
}

static int copy_path(char *path, size_t capacity)
{
	size_t bytes = strlen(result_path) + 1;

	if (path == NULL)
		return 0;
	if (bytes > capacity)
		return -ENAMETOOLONG;
	memcpy(path, result_path, bytes);
	return 0;
}

static int ask_and_wait(const struct hs_ask *ask, uint64_t waited_ns, char *path, size_t capacity)
{
	uint32_t mine = atomic_load_explicit(&number, memory_order_relaxed) + 1;
	int error;

	/* The one before may have run out of time, and still be served. */
	if (atomic_load_explicit(&done, memory_order_acquire) != mine - 1)
		return -EBUSY;
	asked = *ask;
	atomic_store_explicit(&number, mine, memory_order_release);
	hs_ring_wake_reader(&hs_session.ring);
	hs_event_signal(&hs_session.producer_event);
	error = wait_done(mine, waited_ns);
	if (error == 0)
		error = result;
	return error == 0 && ask->kind == HS_ASK_DUMP ? copy_path(path, capacity) : error;
}

int hs_ask(const struct hs_ask *ask, char *path, size_t capacity)
{
	uint64_t start_ns = hs_sys_monotonic_ns();
	int error;

	/* This signal handler has interrupted a request of its thread, which may hold the lock. */
	if (hs_thread.asking)
		return -EBUSY;
	hs_thread.asking = true;
	atomic_signal_fence(memory_order_seq_cst);
	error = -EBUSY;
	if (hs_lock_acquire_within(&lock, HS_PROFILE_LIMIT_NS)) {
		error = ask_and_wait(ask, hs_sys_monotonic_ns() - start_ns, path, capacity);
		hs_lock_release(&lock);
	}
	atomic_signal_fence(memory_order_seq_cst);
	hs_thread.asking = false;
	return error;
}

static int dump(const char *reason)
{
	hs_drain_now();
	if (!hs_dump_write(reason, 0))
		return -EIO;
	memcpy(result_path, hs_profile_file_last(), strlen(hs_profile_file_last()) + 1);
	return 0;
}

static int close_heap(uint32_t heap)
{
	uint32_t freed;

	/* Another request has closed it already. */
	if (atomic_load(&hs_heaps[heap].state) != HS_HEAP_CLOSING)
		return -EINVAL;
	hs_drain_now();
	freed = hs_live_set_free_heap(heap);
	hs_heap_count_frees(heap, freed);
	/* Takes all slots that are on the freed list. */
	hs_threads_process();
	hs_heap_gone(heap);
	return 0;
}

static int serve(const struct hs_ask *ask)
{
	switch (ask->kind) {
	case HS_ASK_DUMP:
		return dump(ask->reason);
	case HS_ASK_START:
		return hs_epoch_start();
	case HS_ASK_STOP:
		return hs_epoch_stop();
	case HS_ASK_RESET:
		return hs_epoch_reset();
	case HS_ASK_CLOSE_HEAP:
		return close_heap(ask->heap);
	}
	return -EINVAL;
}

void hs_ask_serve(void)
{
	uint32_t mine = atomic_load_explicit(&number, memory_order_acquire);

	if (mine == atomic_load_explicit(&done, memory_order_relaxed))
		return;
	begun = mine;
	result = serve(&asked);
	atomic_store_explicit(&done, mine, memory_order_release);
	hs_sys_futex_wake(&done, INT_MAX);
}

void hs_ask_after_fork(void)
{
	hs_lock_reset(&lock);
	atomic_store(&done, atomic_load(&number));
}
