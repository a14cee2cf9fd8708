/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps memory ready ahead of a ring's writers.  Run by the reader.  See ring.h. */
#include "base/sys.h"
#include "sample/ring.h"

/* How much of the ring is kept ready, and in what steps. */
#define PREPARED_SHARE 16
#define PAGE_BYTES 4096u

/*
 * Touch what comes next of an area, a share of it, in its first lap.  at: where the writers are in
 * it.  Returns how far it has been touched now, in steps of a page.
 */
static uint32_t touch_ahead(unsigned char *area, uint32_t touched, uint32_t at, uint32_t count,
			    uint32_t item_bytes)
{
	uint32_t step = PAGE_BYTES / item_bytes, end = at + count / PREPARED_SHARE;

	/* The writers have come there before. */
	if (at > touched)
		touched = at & ~(step - 1);
	for (; touched < end && touched < count; touched += step)
		hs_sys_touch(area + (size_t)touched * item_bytes, 1);
	return touched;
}

void hs_ring_prepare(struct hs_ring *ring)
{
	/* A relaxed look: how far is a matter of speed alone. */
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	uint32_t position = (uint32_t)head & (ring->units - 1), ticket = (uint32_t)(head >> 32);

	if (ring->prepared < ring->units)
		ring->prepared = touch_ahead(ring->data, ring->prepared, position, ring->units,
					     HS_RING_UNIT);
	if (ring->prepared_slots < ring->slot_count)
		ring->prepared_slots =
			touch_ahead((unsigned char *)ring->slots, ring->prepared_slots,
				    ticket - ring->slot_count, ring->slot_count,
				    sizeof(struct hs_ring_slot));
}
