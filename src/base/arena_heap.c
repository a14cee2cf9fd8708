/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arena's blocks: size classes, four per octave, with a free list each.  See
 * arena.h for the contract and arena_internal.h for the layout.
 *
 * A block keeps its class for good.  Of a large one only the pages that were asked for are used,
 * and counted.  A free one stays on its list; what it held is not counted as used any more, and
 * the pages of a large one go back to the kernel.
 *
 * Runs on: profiler threads and start-up; hs_arena_free_from_host() and
 * hs_arena_usable_size() on any thread.
 */
#include "base/arena.h"

#include <string.h>
#include <sys/mman.h>

#include "base/arena_internal.h"
#include "base/sys.h"

#define UNIT ((size_t)16)
#define HEADER_BYTES sizeof(struct hs_arena_block)
#define ALIGNMENT_MAX ((size_t)4096)

/* Blocks (header included) above this give their pages back when they are freed. */
#define LARGE_BYTES ((size_t)128 << 10)

/* A payload up to this is not moved to make it smaller: little to gain. */
#define SHRINK_MIN_BYTES ((size_t)64)

/* Classes of 16, 32, 48 and 64 bytes, then four for each octave below 2^48. */
#define LINEAR_CLASSES 4
#define CLASSES (LINEAR_CLASSES + 4 * (48 - 6) + 1)

_Static_assert(sizeof(struct hs_arena_block) == UNIT, "payloads are 16-byte aligned");
_Static_assert(CLASSES < HS_ARENA_CLASS_BOOTSTRAP, "the bootstrap class is apart");

/* Lies at a free block's start.  header.bytes: so many from there may be non-zero, none behind. */
struct free_block {
	struct hs_arena_block header;
	struct free_block *next;
};

/* A block freed by a program's thread: the link lies in the payload. */
struct queued_block {
	struct queued_block *next;
};

/* Under hs_arena.lock. */
static struct free_block *free_lists[CLASSES];

/*
 * Blocks freed by programs' threads.  Pushed one by one, taken all at once, so
 * there is no ABA.
 */
static _Atomic(struct queued_block *) queue;

/* The smallest class whose blocks hold total bytes. */
static unsigned class_of(size_t total)
{
	unsigned octave, quarter;

	if (total <= LINEAR_CLASSES * UNIT)
		return (unsigned)((total + UNIT - 1) / UNIT);
	octave = 63 - (unsigned)__builtin_clzl(total - 1);
	quarter = (unsigned)((total - 1 - ((size_t)1 << octave)) >> (octave - 2));
	return LINEAR_CLASSES + (octave - 6) * 4 + quarter + 1;
}

static size_t class_bytes(unsigned class)
{
	unsigned octave, quarter;

	if (class <= LINEAR_CLASSES)
		return class * UNIT;
	octave = (class - LINEAR_CLASSES - 1) / 4 + 6;
	quarter = (class - LINEAR_CLASSES - 1) % 4;
	return ((size_t)1 << octave) + (quarter + 1) * ((size_t)1 << (octave - 2));
}

/* What is counted as used of a block of the class, for total bytes. */
static size_t held_bytes(unsigned class, size_t total)
{
	size_t bytes = class_bytes(class);

	return bytes > LARGE_BYTES ? hs_arena_round_up(total, hs_arena.page_bytes) : bytes;
}

/* The header of a live block, or NULL if there is none before payload. */
static struct hs_arena_block *live_block(const void *payload)
{
	uintptr_t address = (uintptr_t)payload;
	struct hs_arena_block *block = (struct hs_arena_block *)(address - HEADER_BYTES);

	if (!hs_arena_owns(payload) || address % UNIT != 0 || address == hs_arena_range.start)
		return NULL;
	/* Acquire: pairs with the release in hs_arena_extend_locked(). */
	if (address >= atomic_load_explicit(&hs_arena.heap_end, memory_order_acquire))
		return NULL;
	/* Relaxed: the pointer came from the thread that allocated the block. */
	if (atomic_load_explicit(&block->mark, memory_order_relaxed) !=
	    hs_arena_mark(block, HS_ARENA_MARK_LIVE))
		return NULL;
	return block;
}

/* True for one of several frees of a block.  Bootstrap blocks are never freed. */
static bool claim(struct hs_arena_block *block, uint32_t mark)
{
	uint32_t live = hs_arena_mark(block, HS_ARENA_MARK_LIVE);

	/* Relaxed: the list that the block goes on publishes it. */
	return block->class != HS_ARENA_CLASS_BOOTSTRAP &&
	       atomic_compare_exchange_strong_explicit(&block->mark, &live,
						       hs_arena_mark(block, mark),
						       memory_order_relaxed, memory_order_relaxed);
}

/*
 * Writes the free block's header at its start; a large one's other pages go back first.  *held:
 * what it counted for.
 */
static struct free_block *make_free(struct hs_arena_block *block, size_t *held)
{
	unsigned class = block->class;
	size_t total = class_bytes(class), page = hs_arena.page_bytes, dirty = total;
	uintptr_t start = (uintptr_t)(block + 1) - block->offset_units * UNIT;
	struct free_block *free_block = (struct free_block *)start;

	*held = (uintptr_t)(block + 1) + block->bytes - start;
	if (total > LARGE_BYTES && total % page == 0 &&
	    hs_sys_advise((void *)(start + page), total - page, MADV_DONTNEED) == 0)
		dirty = page;
	free_block->header.class = (uint8_t)class;
	free_block->header.bytes = dirty;
	/* Relaxed: see claim(). */
	atomic_store_explicit(&free_block->header.mark,
			      hs_arena_mark(&free_block->header, HS_ARENA_MARK_FREE),
			      memory_order_relaxed);
	return free_block;
}

static void push_free_locked(struct free_block *block, size_t held)
{
	block->next = free_lists[block->header.class];
	/*
	 * A fork may leave the list as it is between any two stores (see
	 * hs_arena_after_fork()): the link stands before the block can be reached.
	 */
	atomic_signal_fence(memory_order_release);
	free_lists[block->header.class] = block;
	hs_arena_refund_locked(held);
}

static void drain_queue_locked(void)
{
	struct queued_block *next, *queued;

	/* Relaxed: a hint; a block missed now is taken the next time. */
	if (atomic_load_explicit(&queue, memory_order_relaxed) == NULL)
		return;
	/* Acquire: pairs with the release in hs_arena_free_from_host(). */
	for (queued = atomic_exchange_explicit(&queue, NULL, memory_order_acquire); queued != NULL;
	     queued = next) {
		struct hs_arena_block *block = (struct hs_arena_block *)queued - 1;
		struct free_block *free_block;
		size_t held;

		next = queued->next;
		atomic_store_explicit(&block->mark, hs_arena_mark(block, HS_ARENA_MARK_FREE),
				      memory_order_relaxed);
		free_block = make_free(block, &held);
		push_free_locked(free_block, held);
	}
}

/* Returns a free block's start, 0 if the class has none; *dirty as struct free_block says. */
static uintptr_t pop_free_locked(unsigned class, size_t *dirty)
{
	struct free_block *block = free_lists[class];

	if (block == NULL)
		return 0;
	free_lists[class] = block->next;
	*dirty = block->header.bytes;
	return (uintptr_t)block;
}

/* The range is used up: looks for a free block of a larger class. */
static uintptr_t pop_larger_locked(unsigned *class, size_t total, size_t *dirty)
{
	for (unsigned larger = *class + 1; larger < CLASSES; larger++) {
		if (free_lists[larger] != NULL &&
		    hs_arena_charge_locked(held_bytes(larger, total))) {
			*class = larger;
			return pop_free_locked(larger, dirty);
		}
	}
	return 0;
}

/* Returns the start of a block of *class or larger, counted as used, or 0. */
static uintptr_t take_locked(unsigned *class, size_t total, size_t *dirty)
{
	size_t held = held_bytes(*class, total), whole = class_bytes(*class);
	uintptr_t start;

	drain_queue_locked();
	if (!hs_arena_charge_locked(held))
		return 0;
	start = pop_free_locked(*class, dirty);
	if (start != 0)
		return start;
	*dirty = 0;
	start = hs_arena_extend_locked(whole, whole > LARGE_BYTES ? hs_arena.page_bytes : UNIT);
	if (start != 0)
		return start;
	hs_arena_refund_locked(held);
	return pop_larger_locked(class, total, dirty);
}

static void *alloc(size_t alignment, size_t bytes, bool zeroed)
{
	size_t dirty = 0, total;
	unsigned class;
	uintptr_t start, payload;
	struct hs_arena_block *block;

	if (hs_arena_range.start == 0 ||
	    bytes > __atomic_load_n(&hs_arena_range.bytes, __ATOMIC_RELAXED))
		return NULL;
	total = HEADER_BYTES + (bytes < UNIT ? UNIT : bytes) + alignment - UNIT;
	class = class_of(total);
	hs_lock_acquire(&hs_arena.lock);
	start = take_locked(&class, total, &dirty);
	hs_lock_release(&hs_arena.lock);
	if (start == 0)
		return NULL;

	payload = (start + HEADER_BYTES + alignment - 1) & ~(alignment - 1);
	block = (struct hs_arena_block *)payload - 1;
	block->class = (uint8_t)class;
	block->offset_units = (uint16_t)((payload - start) / UNIT);
	block->bytes = start + held_bytes(class, total) - payload;
	if (zeroed && start + dirty > payload)
		memset((void *)payload, 0, start + dirty - payload);
	/* Relaxed: the caller publishes the block. */
	atomic_store_explicit(&block->mark, hs_arena_mark(block, HS_ARENA_MARK_LIVE),
			      memory_order_relaxed);
	return (void *)payload;
}

void *hs_arena_alloc(size_t bytes)
{
	return alloc(UNIT, bytes, false);
}

void *hs_arena_zalloc(size_t bytes)
{
	return alloc(UNIT, bytes, true);
}

void *hs_arena_aligned_alloc(size_t alignment, size_t bytes)
{
	if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > ALIGNMENT_MAX)
		return NULL;
	return alloc(alignment < UNIT ? UNIT : alignment, bytes, false);
}

void *hs_arena_realloc(void *block, size_t bytes)
{
	size_t usable = hs_arena_usable_size(block);
	void *moved;

	if (block == NULL)
		return hs_arena_alloc(bytes);
	if (usable == 0)
		return NULL;
	if (bytes <= usable && (bytes >= usable / 2 || usable <= SHRINK_MIN_BYTES))
		return block;
	moved = hs_arena_alloc(bytes);
	if (moved == NULL)
		return bytes <= usable ? block : NULL;
	memcpy(moved, block, bytes < usable ? bytes : usable);
	hs_arena_free(block);
	return moved;
}

void hs_arena_free(void *block)
{
	struct hs_arena_block *header = live_block(block);
	struct free_block *free_block;
	size_t held;

	if (header == NULL || !claim(header, HS_ARENA_MARK_FREE))
		return;
	free_block = make_free(header, &held);
	hs_lock_acquire(&hs_arena.lock);
	drain_queue_locked();
	push_free_locked(free_block, held);
	hs_lock_release(&hs_arena.lock);
}

void hs_arena_free_from_host(void *block)
{
	struct hs_arena_block *header = live_block(block);
	struct queued_block *queued = block;

	if (header == NULL || !claim(header, HS_ARENA_MARK_QUEUED))
		return;
	/* Relaxed load; release: publishes the link and all that the owner wrote. */
	queued->next = atomic_load_explicit(&queue, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&queue, &queued->next, queued,
						      memory_order_release, memory_order_relaxed))
		;
}

size_t hs_arena_usable_size(const void *block)
{
	const struct hs_arena_block *header = live_block(block);

	return header == NULL ? 0 : header->bytes;
}
