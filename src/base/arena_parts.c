/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of the arena that are taken for good.  See arena.h for the contract and arena_internal.h
 * for the layout.
 *
 * Runs on: profiler threads and start-up; hs_arena_commit_from_host() and, when the program limits
 * its addresses, hs_arena_cut_parts_locked() on any thread.
 */
#include "base/arena.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/arena_internal.h"
#include "base/sys.h"

/*
 * Parts of at least so many bytes are committed bit by bit, upwards.  What is not committed yet may
 * be given back under a limit.
 */
#define GROWING_BYTES ((size_t)8 << 20)

/* Under hs_arena.lock. */
static struct growing {
	uintptr_t start;  /* 0: no part */
	uintptr_t usable; /* committed up to here */
	uintptr_t end;    /* may be committed up to here */
	uintptr_t last;   /* the end as it was reserved */
} growing[HS_ARENA_GROWING_PARTS];

/* The growing part that holds the address, or NULL. */
static struct growing *find_growing_locked(uintptr_t address)
{
	for (int i = 0; i < HS_ARENA_GROWING_PARTS; i++)
		if (address - growing[i].start < growing[i].last - growing[i].start)
			return &growing[i];
	return NULL;
}

static void note_growing_locked(uintptr_t start, size_t bytes)
{
	for (int i = 0; i < HS_ARENA_GROWING_PARTS; i++) {
		if (growing[i].start == 0) {
			growing[i] = (struct growing){start, start, start + bytes, start + bytes};
			return;
		}
	}
}

void *hs_arena_reserve(size_t bytes)
{
	uintptr_t end, start = 0;

	if (bytes == 0 || bytes > __atomic_load_n(&hs_arena_range.bytes, __ATOMIC_RELAXED))
		return NULL;
	bytes = hs_arena_round_up(bytes, hs_arena.page_bytes);
	hs_lock_acquire(&hs_arena.lock);
	end = atomic_load_explicit(&hs_arena.heap_end, memory_order_relaxed);
	if (hs_arena_has_room_locked(end, bytes)) {
		start = hs_arena.reserved_start - bytes;
		hs_arena.reserved_start = start;
		if (bytes >= GROWING_BYTES)
			note_growing_locked(start, bytes);
	}
	hs_lock_release(&hs_arena.lock);
	return (void *)start;
}

void hs_arena_unreserve(void *start, size_t bytes)
{
	struct growing *part;

	hs_lock_acquire(&hs_arena.lock);
	part = find_growing_locked((uintptr_t)start);
	if ((uintptr_t)start == hs_arena.reserved_start &&
	    (part == NULL || part->end == part->last)) {
		hs_arena.reserved_start += hs_arena_round_up(bytes, hs_arena.page_bytes);
		/* The heap may grow there. */
		if (hs_arena_range.bytes < hs_arena.reserved_start - hs_arena_range.start)
			hs_arena_end_range_locked();
		if (part != NULL)
			*part = (struct growing){0};
	}
	hs_lock_release(&hs_arena.lock);
}

static bool is_reserved_locked(uintptr_t start, size_t bytes)
{
	uintptr_t end = hs_arena.reserved_end;

	return start % hs_arena.page_bytes == 0 && start >= hs_arena.reserved_start &&
	       start <= end && bytes <= end - start;
}

/* -ENOMEM: over the budget, or given back. */
static int commit_locked(uintptr_t start, size_t bytes)
{
	struct growing *part = find_growing_locked(start);
	int error;

	if ((part != NULL && start + bytes > part->end) || !hs_arena_charge_locked(bytes))
		return -ENOMEM;
	error = hs_sys_protect((void *)start, bytes, PROT_READ | PROT_WRITE);
	if (error < 0)
		hs_arena_refund_locked(bytes);
	else if (part != NULL && start + bytes > part->usable)
		part->usable = start + bytes;
	return error;
}

int hs_arena_commit(void *start, size_t bytes)
{
	int error = -EINVAL;

	if (bytes == 0)
		return 0;
	if (hs_arena_range.start == 0)
		return -EINVAL;
	hs_lock_acquire(&hs_arena.lock);
	if (is_reserved_locked((uintptr_t)start, bytes))
		error = commit_locked((uintptr_t)start,
				      hs_arena_round_up(bytes, hs_arena.page_bytes));
	hs_lock_release(&hs_arena.lock);
	return error;
}

int hs_arena_commit_from_host(void *start, size_t bytes, _Atomic bool *is_done)
{
	size_t used = hs_arena_used(), budget = hs_arena_budget();
	int error;

	if (used > budget || bytes > budget - used)
		return -ENOMEM;
	error = hs_sys_protect(start, bytes, PROT_READ | PROT_WRITE);
	if (error < 0)
		return error;
	if (!atomic_exchange_explicit(is_done, true, memory_order_acq_rel))
		atomic_fetch_add_explicit(&hs_arena.used, bytes, memory_order_relaxed);
	return 0;
}

void hs_arena_end_range_locked(void)
{
	/* Release: the range ends before anything behind is unmapped, and perhaps mapped anew. */
	__atomic_store_n(&hs_arena_range.bytes, hs_arena.reserved_start - hs_arena_range.start,
			 __ATOMIC_RELEASE);
}

void hs_arena_cut_locked(struct hs_arena_cuts *cuts, uintptr_t start, uintptr_t end)
{
	cuts->at[cuts->count].start = start;
	cuts->at[cuts->count].end = end;
	cuts->count++;
	atomic_fetch_sub_explicit(&hs_arena.addresses, end - start, memory_order_relaxed);
}

void hs_arena_cut_parts_locked(size_t keep, struct hs_arena_cuts *cuts)
{
	keep = hs_arena_round_up(keep, hs_arena.page_bytes);
	for (int i = 0; i < HS_ARENA_GROWING_PARTS; i++) {
		uintptr_t before = growing[i].end, end = growing[i].usable + keep;

		if (end < before) {
			growing[i].end = end;
			hs_arena_cut_locked(cuts, end, before);
		}
	}
}
