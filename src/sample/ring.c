/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring between the program's threads and the unwinding worker, and between the
 * worker and the producer.  See ring.h for the protocol.
 */
#include "sample/ring.h"

#include <errno.h>

#include "base/sys.h"

/* Data bytes per descriptor: records are rarely smaller, so data runs out first. */
#define BYTES_PER_SLOT 128

/* Bound on retries when other writers keep getting in between. */
#define RESERVE_TRIES 1000

static uint32_t ticket_of(uint64_t packed)
{
	return (uint32_t)(packed >> 32);
}

static uint32_t position_of(uint64_t packed)
{
	return (uint32_t)packed;
}

static uint64_t pack(uint32_t ticket, uint32_t position)
{
	return (uint64_t)ticket << 32 | position;
}

static uint64_t word_of(uint32_t ticket, enum hs_ring_state state)
{
	return (uint64_t)ticket << 2 | (uint64_t)state;
}

static struct hs_ring_slot *slot_of(const struct hs_ring *ring, uint32_t ticket)
{
	return &ring->slots[ticket & (ring->slot_count - 1)];
}

size_t hs_ring_memory_bytes(size_t data_bytes)
{
	size_t bytes = data_bytes + data_bytes / BYTES_PER_SLOT * sizeof(struct hs_ring_slot);

	return (bytes + 4095) & ~(size_t)4095;
}

void hs_ring_init(struct hs_ring *ring, void *memory, size_t data_bytes)
{
	ring->data = memory;
	ring->slots = (struct hs_ring_slot *)(void *)(ring->data + data_bytes);
	ring->units = (uint32_t)(data_bytes / HS_RING_UNIT);
	ring->slot_count = (uint32_t)(data_bytes / BYTES_PER_SLOT);

	/* Ticket 0 must not look open in fresh, zeroed descriptors: start a lap later. */
	atomic_store_explicit(&ring->head, pack(ring->slot_count, 0), memory_order_relaxed);
	atomic_store_explicit(&ring->tail, pack(ring->slot_count, 0), memory_order_relaxed);
	atomic_store_explicit(&ring->reader_asleep, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->space, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->space_waiters, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->used_units_max, 0, memory_order_relaxed);
}

/* Units that a record takes at position, with what is skipped at the end of the data. */
static uint32_t units_needed(const struct hs_ring *ring, uint32_t position, uint32_t units)
{
	uint32_t offset = position & (ring->units - 1);

	return offset + units > ring->units ? ring->units - offset + units : units;
}

static void note_high_water(struct hs_ring *ring, uint32_t used)
{
	/* Relaxed, and a lost update is allowed: a statistic. */
	if (used > atomic_load_explicit(&ring->used_units_max, memory_order_relaxed))
		atomic_store_explicit(&ring->used_units_max, used, memory_order_relaxed);
}

bool hs_ring_reserve(struct hs_ring *ring, size_t bytes, int kind, uint32_t tid, uint64_t cookie,
		     struct hs_ring_reservation *out)
{
	uint32_t kept = kind == HS_RING_KEPT ? 0 : ring->units / 8;
	uint32_t kept_slots = kind == HS_RING_KEPT ? 0 : ring->slot_count / 8;
	uint32_t units, needed, used;
	uint64_t head, tail;

	if (bytes > (size_t)(ring->units - kept) * HS_RING_UNIT / 2)
		return false;
	units = (uint32_t)((bytes + HS_RING_UNIT - 1) / HS_RING_UNIT);

	head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	for (int tries = 0; tries < RESERVE_TRIES; tries++) {
		/*
		 * Acquire: pairs with the release in hs_ring_release(); the reader is done
		 * with what lies before the tail.  A tail older than the head makes the ring
		 * look fuller than it is, never emptier.
		 */
		tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
		needed = units_needed(ring, position_of(head), units);
		used = position_of(head) - position_of(tail) + needed;
		if (used > ring->units - kept ||
		    ticket_of(head) - ticket_of(tail) >= ring->slot_count - kept_slots) {
			uint64_t now = atomic_load_explicit(&ring->head, memory_order_relaxed);
			if (now == head)
				return false;
			head = now;
			continue;
		}
		/* Relaxed: a reservation publishes nothing; its descriptor's word does. */
		if (atomic_compare_exchange_weak_explicit(
			    &ring->head, &head,
			    pack(ticket_of(head) + 1, position_of(head) + needed),
			    memory_order_relaxed, memory_order_relaxed)) {
			uint32_t ticket = ticket_of(head);
			uint32_t end = position_of(head) + needed;
			struct hs_ring_slot *slot = slot_of(ring, ticket);

			slot->offset = (end - units) & (ring->units - 1);
			slot->end = end;
			slot->bytes = (uint32_t)bytes;
			slot->tid = tid;
			slot->cookie = cookie;
			atomic_store_explicit(&slot->sequence, 0, memory_order_relaxed);
			/* Release: the fields above, for the reader's acquire of word. */
			atomic_store_explicit(&slot->word, word_of(ticket, HS_RING_OPEN),
					      memory_order_release);
			note_high_water(ring, used);
			out->data = ring->data + (size_t)slot->offset * HS_RING_UNIT;
			out->ticket = ticket;
			return true;
		}
	}
	return false;
}

void hs_ring_note_sequence(struct hs_ring *ring, uint32_t ticket, uint64_t sequence)
{
	/* Relaxed: published by the compare-and-swap of commit or abandon. */
	atomic_store_explicit(&slot_of(ring, ticket)->sequence, sequence, memory_order_relaxed);
}

static bool close_open(struct hs_ring *ring, uint32_t ticket, enum hs_ring_state state)
{
	uint64_t expected = word_of(ticket, HS_RING_OPEN);

	/*
	 * Release: the record's bytes and sequence; pairs with hs_ring_read()'s acquire.
	 * Sequentially consistent for the sake of hs_ring_wake_reader().
	 */
	return atomic_compare_exchange_strong(&slot_of(ring, ticket)->word, &expected,
					      word_of(ticket, state));
}

bool hs_ring_commit(struct hs_ring *ring, uint32_t ticket)
{
	return close_open(ring, ticket, HS_RING_COMMITTED);
}

bool hs_ring_abandon(struct hs_ring *ring, uint32_t ticket)
{
	return close_open(ring, ticket, HS_RING_ABANDONED);
}

void hs_ring_wake_reader(struct hs_ring *ring)
{
	/*
	 * The commit before and this load must not be swapped: the reader sets the flag
	 * and looks at the ring again (hs_ring_reader_sleep), so one of us sees the other.
	 * All four are sequentially consistent.
	 */
	if (atomic_load(&ring->reader_asleep) != 0 &&
	    atomic_exchange_explicit(&ring->reader_asleep, 0, memory_order_relaxed) != 0)
		hs_sys_futex_wake(&ring->reader_asleep, 1);
}

uint32_t hs_ring_space_counter(struct hs_ring *ring)
{
	return atomic_load_explicit(&ring->space, memory_order_acquire);
}

bool hs_ring_wait_for_space(struct hs_ring *ring, uint32_t seen_space, int64_t timeout_ns)
{
	int result;

	/* Sequentially consistent, as the reader's look at it in hs_ring_release(). */
	atomic_fetch_add(&ring->space_waiters, 1);
	result = hs_sys_futex_wait(&ring->space, seen_space, timeout_ns);
	atomic_fetch_sub(&ring->space_waiters, 1);
	return result != -ETIMEDOUT;
}

void hs_ring_read(struct hs_ring *ring, struct hs_ring_item *item)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint32_t ticket = ticket_of(tail);
	struct hs_ring_slot *slot = slot_of(ring, ticket);
	/* Acquire: the slot's fields and the record.  More for hs_ring_reader_sleep(). */
	uint64_t word = atomic_load(&slot->word);

	item->state = HS_RING_OPEN;
	if (word >> 2 != ticket) {
		/* Not published: either there is nothing, or a writer is just about to. */
		uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
		if (ticket_of(head) == ticket)
			item->state = HS_RING_EMPTY;
		return;
	}
	item->state = (enum hs_ring_state)(word & 3);
	item->data = ring->data + (size_t)slot->offset * HS_RING_UNIT;
	item->bytes = slot->bytes;
	item->tid = slot->tid;
	item->cookie = slot->cookie;
	item->sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
}

void hs_ring_release(struct hs_ring *ring)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	struct hs_ring_slot *slot = slot_of(ring, ticket_of(tail));

	/*
	 * Release: our reads of the record come before a writer's stores over it; pairs
	 * with the acquire of tail in hs_ring_reserve().  Sequentially consistent so that
	 * it comes before the look at the waiters.
	 */
	atomic_store(&ring->tail, pack(ticket_of(tail) + 1, slot->end));
	if (atomic_load(&ring->space_waiters) != 0) {
		atomic_fetch_add_explicit(&ring->space, 1, memory_order_release);
		hs_sys_futex_wake(&ring->space, 1 << 30);
	}
}

bool hs_ring_close_dead(struct hs_ring *ring)
{
	struct hs_ring_item item;

	hs_ring_read(ring, &item);
	if (item.state != HS_RING_OPEN)
		return false;
	uint32_t ticket = ticket_of(atomic_load_explicit(&ring->tail, memory_order_relaxed));
	if (atomic_load_explicit(&slot_of(ring, ticket)->word, memory_order_acquire) !=
	    word_of(ticket, HS_RING_OPEN))
		return false;
	return hs_sys_thread_is_gone((pid_t)slot_of(ring, ticket)->tid) &&
	       hs_ring_abandon(ring, ticket);
}

void hs_ring_reader_sleep(struct hs_ring *ring, int64_t timeout_ns)
{
	struct hs_ring_item item;

	/* Sequentially consistent, before the look at the ring: see hs_ring_wake_reader(). */
	atomic_store(&ring->reader_asleep, 1);
	hs_ring_read(ring, &item);
	if (item.state == HS_RING_EMPTY || item.state == HS_RING_OPEN)
		hs_sys_futex_wait(&ring->reader_asleep, 1, timeout_ns);
	atomic_store_explicit(&ring->reader_asleep, 0, memory_order_relaxed);
}

uint32_t hs_ring_head_ticket(const struct hs_ring *ring)
{
	return ticket_of(atomic_load_explicit(&ring->head, memory_order_acquire));
}

uint32_t hs_ring_unread_before(const struct hs_ring *ring, uint32_t ticket)
{
	uint32_t tail = ticket_of(atomic_load_explicit(&ring->tail, memory_order_acquire));
	uint32_t left = ticket - tail;

	return left > ring->slot_count ? 0 : left;
}
