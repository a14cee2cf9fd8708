/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring's memory: how it is divided, and how the reader has pages made ahead of the writers.  See
 * ring.h.
 */
#include "base/sys.h"
#include "sample/ring_word.h"

/* Data bytes per descriptor: records are rarely smaller, so data runs out first. */
#define BYTES_PER_DESCRIPTOR 128

/* The part of data and descriptors that is kept for HS_RING_KEPT. */
#define KEPT_SHARE 8

/* How much of the ring has its pages ahead of the writers, and in what steps. */
#define PREPARED_SHARE 16

size_t hs_ring_memory_bytes(size_t data_bytes)
{
	return data_bytes + data_bytes / BYTES_PER_DESCRIPTOR * sizeof(struct hs_ring_slot);
}

static void set_share(struct hs_ring_share *share, uint32_t units, uint32_t slots)
{
	uint32_t most = units / 2 < HS_RING_UNITS_MAX ? units / 2 : HS_RING_UNITS_MAX;

	*share = (struct hs_ring_share){units, slots, most * HS_RING_UNIT};
}

void hs_ring_init(struct hs_ring *ring, void *memory, size_t data_bytes)
{
	ring->head = &ring->own_head;
	ring->data = memory;
	ring->slots = (struct hs_ring_slot *)(void *)(ring->data + data_bytes);
	ring->units = (uint32_t)(data_bytes / HS_RING_UNIT);
	ring->slot_count = (uint32_t)(data_bytes / BYTES_PER_DESCRIPTOR);
	ring->slot_lg = (uint32_t)__builtin_ctz(ring->slot_count);
	set_share(&ring->shares[HS_RING_KEPT], ring->units, ring->slot_count);
	set_share(&ring->shares[HS_RING_ORDINARY], ring->units - ring->units / KEPT_SHARE,
		  ring->slot_count - ring->slot_count / KEPT_SHARE);

	/* The descriptors are zeroed, which is lap 0. */
	atomic_store_explicit(ring->head, pack(ring->slot_count, 0), memory_order_relaxed);
	atomic_store_explicit(&ring->tail, pack(ring->slot_count, 0), memory_order_relaxed);
	ring->next = pack(ring->slot_count, 0);
	ring->ahead = ring->next;
	/* A ticket that does not come for long. */
	atomic_store_explicit(&ring->anew, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->reader_asleep, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->space, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->space_waiters, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->used_units_max, 0, memory_order_relaxed);
}

void hs_ring_keep_head(struct hs_ring *ring, _Atomic uint64_t *head)
{
	atomic_store_explicit(head, atomic_load_explicit(ring->head, memory_order_relaxed),
			      memory_order_relaxed);
	ring->head = head;
}

/*
 * Touches what comes next in an area during the first lap.  at: where the writers are.  Returns up
 * to where it is touched now, in whole pages.
 */
static uint32_t touch_ahead(unsigned char *area, uint32_t touched, uint32_t at, uint32_t count,
			    uint32_t item_bytes)
{
	uint32_t step = HS_PAGE_BYTES / item_bytes, end = at + count / PREPARED_SHARE;

	/* The writers have touched it themselves. */
	if (at > touched)
		touched = at & ~(step - 1);
	for (; touched < end && touched < count; touched += step)
		hs_sys_touch(area + (size_t)touched * item_bytes, 1);
	return touched;
}

void hs_ring_prepare(struct hs_ring *ring)
{
	/* Relaxed: a stale value costs speed only. */
	uint64_t head = atomic_load_explicit(ring->head, memory_order_relaxed);
	uint32_t position = position_of(head) & (ring->units - 1), ticket = ticket_of(head);

	if (ring->prepared < ring->units)
		ring->prepared = touch_ahead(ring->data, ring->prepared, position, ring->units,
					     HS_RING_UNIT);
	if (ring->prepared_slots < ring->slot_count)
		ring->prepared_slots =
			touch_ahead((unsigned char *)ring->slots, ring->prepared_slots,
				    ticket - ring->slot_count, ring->slot_count,
				    sizeof(struct hs_ring_slot));
}
