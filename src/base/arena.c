/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arena's range of addresses: reservation, budget, bootstrap part.  Blocks are in
 * arena_heap.c, parts taken for good in arena_parts.c.  See arena.h for the contract.
 *
 * Runs on: profiler threads and start-up; hs_arena_bootstrap_alloc(),
 * hs_arena_follow_limit() and the getters on any thread.
 */
#include "base/arena.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/arena_internal.h"
#include "base/hot.h"
#include "base/sys.h"

#define MIB ((size_t)1 << 20)

/* Without a limit address space costs nothing: the range is so many times the budget, or this. */
#define RANGE_PER_BUDGET 4
#define RANGE_MIN_BYTES (256 * MIB)
/* Under RLIMIT_AS or RLIMIT_DATA: so many times the budget, and this part of the limit, at most. */
#define LIMITED_RANGE_PER_BUDGET 2
#define LIMITED_RANGE_SHARE 4
/*
 * Under a limit that comes later: this part of the wanted size stays free for more blocks; if what
 * is taken does not leave so much, each growing part is cut to have no more than that to grow.
 */
#define ROOM_SHARE 4
/* How long a program's thread waits for the lock: its holder may be a thread that was killed. */
#define FOLLOW_LIMIT_NS 50000000u
/* If the kernel refuses, smaller ranges are tried, down to this one. */
#define RANGE_LAST_TRY_BYTES (32 * MIB)
/* Less is of no use: the bootstrap part and a few blocks. */
#define RANGE_FLOOR_BYTES MIB
/* A larger budget is cut to this: the sums below must not overflow. */
#define BUDGET_CEILING_BYTES ((size_t)1 << 44)

HS_HOT struct hs_arena_range hs_arena_range;
struct hs_arena hs_arena;

int hs_arena_limit(void)
{
	return hs_sys_soft_limit(RLIMIT_DATA) < hs_sys_soft_limit(RLIMIT_AS) ? RLIMIT_DATA
									     : RLIMIT_AS;
}

static size_t wanted_range_bytes(size_t budget)
{
	size_t wanted = hs_arena_round_up(budget * RANGE_PER_BUDGET, MIB);
	uint64_t limit = hs_sys_soft_limit(hs_arena_limit());

	if (wanted < RANGE_MIN_BYTES)
		wanted = RANGE_MIN_BYTES;
	if (limit == UINT64_MAX)
		return wanted;
	if (wanted > budget * LIMITED_RANGE_PER_BUDGET)
		wanted = budget * LIMITED_RANGE_PER_BUDGET;
	if (wanted > limit / LIMITED_RANGE_SHARE)
		wanted = limit / LIMITED_RANGE_SHARE;
	return wanted / MIB * MIB;
}

/* Returns the range's start, and its size in *bytes; NULL when even the smallest is refused. */
static void *map_range(size_t wanted, size_t *bytes)
{
	size_t last = wanted < RANGE_LAST_TRY_BYTES ? wanted : RANGE_LAST_TRY_BYTES;
	void *start = NULL;

	if (wanted < RANGE_FLOOR_BYTES)
		return NULL;
	for (*bytes = wanted; *bytes >= last; *bytes = hs_arena_round_up(*bytes / 2, MIB)) {
		start = hs_sys_map(*bytes, PROT_NONE);
		if (start != NULL || *bytes == MIB)
			break;
	}
	return start;
}

int hs_arena_init(size_t budget_bytes)
{
	size_t bytes = 0;
	void *start;
	int error;

	if (budget_bytes > BUDGET_CEILING_BYTES)
		budget_bytes = BUDGET_CEILING_BYTES;
	if (hs_arena_range.bytes != 0) {
		hs_arena.asked_budget = budget_bytes;
		hs_arena_follow_limit();
		hs_arena_set_budget(budget_bytes);
		return 0;
	}
	start = map_range(wanted_range_bytes(budget_bytes), &bytes);
	if (start == NULL)
		return -ENOMEM;
	/* Copies of stacks do not belong in a core file, to which gcore would write it all. */
	hs_sys_advise(start, bytes, MADV_DONTDUMP);
	/* Most parts are used a page here and there; huge pages would be cleared as a whole. */
	hs_sys_advise(start, bytes, MADV_NOHUGEPAGE);
	error = hs_sys_protect(start, HS_ARENA_BOOTSTRAP_BYTES, PROT_READ | PROT_WRITE);
	if (error < 0) {
		hs_sys_unmap(start, bytes);
		return error;
	}
	hs_arena.page_bytes = getauxval(AT_PAGESZ);
	hs_arena.heap_next = (uintptr_t)start + HS_ARENA_BOOTSTRAP_BYTES;
	/* Relaxed: single-threaded. */
	atomic_store_explicit(&hs_arena.heap_end, hs_arena.heap_next, memory_order_relaxed);
	hs_arena.reserved_start = hs_arena.reserved_end = (uintptr_t)start + bytes;
	hs_arena.kept_most = bytes;
	hs_arena.asked_budget = budget_bytes;
	atomic_store_explicit(&hs_arena.addresses, bytes, memory_order_relaxed);
	hs_arena_range.start = (uintptr_t)start;
	hs_arena_range.bytes = bytes;
	hs_arena_set_budget(budget_bytes);
	return 0;
}

size_t hs_arena_most(void)
{
	size_t addresses = atomic_load_explicit(&hs_arena.addresses, memory_order_relaxed);

	return addresses < HS_ARENA_BOOTSTRAP_BYTES ? 0 : addresses - HS_ARENA_BOOTSTRAP_BYTES;
}

void hs_arena_set_budget(size_t budget_bytes)
{
	size_t most = hs_arena_most();

	/* Relaxed: a number, it publishes nothing. */
	atomic_store_explicit(&hs_arena.budget, budget_bytes < most ? budget_bytes : most,
			      memory_order_relaxed);
}

void hs_arena_keep_room(size_t bytes)
{
	/* Relaxed: see hs_arena_set_budget(). */
	atomic_store_explicit(&hs_arena.kept_room, bytes, memory_order_relaxed);
}

static size_t heap_room_locked(void)
{
	return hs_arena.reserved_start -
	       atomic_load_explicit(&hs_arena.heap_end, memory_order_relaxed);
}

/* Leaves at most `keep` bytes of room. */
static void cut_room_locked(size_t keep, struct hs_arena_cuts *cuts)
{
	size_t room = heap_room_locked();
	uintptr_t end = hs_arena.reserved_start;

	if (keep >= room)
		return;
	hs_arena.reserved_start -= room - keep;
	hs_arena_cut_locked(cuts, hs_arena.reserved_start, end);
}

/* Shrinks the arena to `wanted` bytes of address space, as far as what is taken allows. */
static void cut_locked(size_t wanted, struct hs_arena_cuts *cuts)
{
	size_t least = wanted / ROOM_SHARE;
	size_t taken = hs_arena.addresses - heap_room_locked(), keep;

	if (wanted < taken + least) {
		hs_arena_cut_parts_locked(least, cuts);
		taken = hs_arena.addresses - heap_room_locked();
	}
	keep = wanted > taken + least ? wanted - taken : least;
	cut_room_locked(hs_arena_round_up(keep, hs_arena.page_bytes), cuts);
	hs_arena.kept_most = heap_room_locked() / 2;
	/* The parts are behind the end then.  They are never passed to free(). */
	hs_arena_end_range_locked();
}

void hs_arena_follow_limit(void)
{
	struct hs_arena_cuts cuts = {0};
	size_t wanted;

	if (hs_arena_range.start == 0)
		return;
	wanted = wanted_range_bytes(hs_arena.asked_budget);
	if (!hs_lock_acquire_within(&hs_arena.lock, FOLLOW_LIMIT_NS))
		return;
	if (hs_arena.addresses > wanted)
		cut_locked(wanted, &cuts);
	hs_lock_release(&hs_arena.lock);
	/* Nobody else knows of these any more: no lock needed. */
	for (unsigned i = 0; i < cuts.count; i++)
		hs_sys_unmap((void *)cuts.at[i].start, cuts.at[i].end - cuts.at[i].start);
}

size_t hs_arena_used(void)
{
	/* Relaxed: a number that may be old when the caller looks at it. */
	return atomic_load_explicit(&hs_arena.used, memory_order_relaxed);
}

size_t hs_arena_budget(void)
{
	return atomic_load_explicit(&hs_arena.budget, memory_order_relaxed);
}

bool hs_arena_charge_locked(size_t bytes)
{
	size_t used = hs_arena_used(), budget = hs_arena_budget();

	if (used > budget || bytes > budget - used)
		return false;
	/* Atomic: hs_arena_commit_from_host() changes it without the lock.  Relaxed: a number. */
	atomic_fetch_add_explicit(&hs_arena.used, bytes, memory_order_relaxed);
	return true;
}

void hs_arena_refund_locked(size_t bytes)
{
	atomic_fetch_sub_explicit(&hs_arena.used, bytes, memory_order_relaxed);
}

bool hs_arena_has_room_locked(uintptr_t start, size_t bytes)
{
	size_t kept = atomic_load_explicit(&hs_arena.kept_room, memory_order_relaxed);
	size_t room = hs_arena.reserved_start - start;

	if (kept > hs_arena.kept_most)
		kept = hs_arena.kept_most;
	return start <= hs_arena.reserved_start && bytes <= room && kept <= room - bytes;
}

uintptr_t hs_arena_extend_locked(size_t bytes, size_t alignment)
{
	uintptr_t start = hs_arena_round_up(hs_arena.heap_next, alignment);
	uintptr_t end = atomic_load_explicit(&hs_arena.heap_end, memory_order_relaxed);

	if (!hs_arena_has_room_locked(start, bytes))
		return 0;
	if (start + bytes > end) {
		size_t grow = hs_arena_round_up(start + bytes - end, HS_ARENA_STEP_BYTES);

		if (grow > hs_arena.reserved_start - end)
			grow = hs_arena.reserved_start - end;
		if (hs_sys_protect((void *)end, grow, PROT_READ | PROT_WRITE) < 0)
			return 0;
		/* Release: who loads it (live_block()) may read up to there. */
		atomic_store_explicit(&hs_arena.heap_end, end + grow, memory_order_release);
	}
	hs_arena.heap_next = start + bytes;
	return start;
}

void *hs_arena_bootstrap_alloc(size_t bytes)
{
	struct hs_arena_block *block;
	size_t total, used;

	if (hs_arena_range.bytes == 0 || bytes > HS_ARENA_BOOTSTRAP_BYTES)
		return NULL;
	total = sizeof *block + hs_arena_round_up(bytes == 0 ? 1 : bytes, 16);
	/*
	 * Relaxed: the part is handed out once, so nothing is published.  The first
	 * look keeps refused calls from moving the number on without end.
	 */
	used = atomic_load_explicit(&hs_arena.bootstrap_used, memory_order_relaxed);
	if (used > HS_ARENA_BOOTSTRAP_BYTES || total > HS_ARENA_BOOTSTRAP_BYTES - used)
		return NULL;
	used = atomic_fetch_add_explicit(&hs_arena.bootstrap_used, total, memory_order_relaxed);
	if (used > HS_ARENA_BOOTSTRAP_BYTES || total > HS_ARENA_BOOTSTRAP_BYTES - used)
		return NULL;
	block = (struct hs_arena_block *)(hs_arena_range.start + used);
	block->class = HS_ARENA_CLASS_BOOTSTRAP;
	block->bytes = total - sizeof *block;
	atomic_store_explicit(&block->mark, hs_arena_mark(block, HS_ARENA_MARK_LIVE),
			      memory_order_relaxed);
	return block + 1;
}

void hs_arena_after_fork(void)
{
	hs_lock_reset(&hs_arena.lock);
}
