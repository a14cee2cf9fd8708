/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring between the program's threads and the unwinding worker, and between the
 * worker and the producer.  See ring.h for the protocol.
 */
#include "sample/ring.h"

#include "arch/regs.h"
#include "base/alone.h"
#include "base/likely.h"
#include "base/sys.h"
#include "sample/ring_word.h"

/* Bound on retries when other writers keep getting in between. */
#define RESERVE_TRIES 1000

/* The reader gives back room when this part of the ring has come together. */
#define GIVEN_BACK_SHARE 64

/*
 * The most bytes of a record that are prefetched; the processor's own prefetcher follows with the
 * rest of a larger one.
 */
#define FETCHED_BYTES 2048u

/* An empty ring begins anew if more than this part of the lap has been used. */
#define ANEW_SHARE 16

/* A napping reader is woken when this part of the ring is in use. */
#define FILLING_SHARE 4

static void note_high_water(struct hs_ring *ring, uint32_t used)
{
	/* Relaxed, and a lost update is allowed: a statistic. */
	if (hs_unlikely(used > atomic_load_explicit(&ring->used_units_max, memory_order_relaxed)))
		atomic_store_explicit(&ring->used_units_max, used, memory_order_relaxed);
}

/*
 * Whether a writer's exchange needs a lock prefix: there may be other writers.  Not for the reader,
 * which would change the word to the same, if at all.
 */
static bool must_lock(const struct hs_ring *ring)
{
	/* | and not ||: one branch less. */
	return !(ring->has_one_writer | hs_is_alone());
}

/*
 * The descriptor of head's ticket is claimed: moves the head on, to where its record ends.  Any
 * writer, and the reader, may do so; one succeeds.  Release: for hs_ring_reserve(); the record
 * itself is published by its word.  Inlined, as claim(): calls would take twice the stack.
 */
static inline __attribute__((always_inline)) void move_head(struct hs_ring *ring, uint64_t head,
							    uint32_t end, bool is_locked)
{
	hs_arch_compare_exchange(ring->head, &head, pack(ticket_of(head) + 1, end), is_locked);
}

/*
 * Where the units in use begin.  anew: ring->anew.  If that is the tail's ticket, as it is during
 * most naps, and that record has begun anew, as its word says, all before is free.  Relaxed: if the
 * word is not seen yet, the ring looks fuller than it is.
 */
static inline __attribute__((always_inline)) uint32_t used_from(const struct hs_ring *ring,
								uint64_t tail, uint32_t anew)
{
	uint32_t ticket = ticket_of(tail), position = position_of(tail);
	uint64_t word;

	if (ticket != anew)
		return position;
	word = atomic_load_explicit(&hs_ring_slot_of(ring, ticket)->word, memory_order_relaxed);
	return word_is_of(ring, word, ticket) && word_is_anew(word) ? next_lap(ring, position)
								    : position;
}

static uint32_t units_of(size_t bytes)
{
	return (uint32_t)((bytes + HS_RING_UNIT - 1) / HS_RING_UNIT);
}

enum claim { CLAIMED, BEHIND, FULL };

/* Tries to claim the descriptor at head.  BEHIND: head was stale.  *end: where the record ends. */
static inline __attribute__((always_inline)) enum claim
claim(struct hs_ring *ring, const struct hs_ring_share *share, uint64_t head, uint32_t units,
      uint32_t tid, uint32_t *end)
{
	uint32_t ticket = ticket_of(head), begin = position_of(head), used, anew;
	struct hs_ring_slot *slot = hs_ring_slot_of(ring, ticket);
	/*
	 * Acquire: pairs with the exchange below, of another writer: whoever sees the head that is
	 * moved on for it also sees the tail that it has seen.
	 */
	uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire), tail;
	bool is_anew, is_locked;

	/* Of the lap before, or the head is stale. */
	if (hs_unlikely(!word_is_of(ring, word, ticket - ring->slot_count))) {
		/* Another writer has claimed it and not moved the head on yet. */
		if (word_is_of(ring, word, ticket))
			move_head(ring, head, position_behind(ring, head, word), must_lock(ring));
		return BEHIND;
	}
	/* Acquire: pairs with let_begin_anew(); the tail, read next, is as new as it or newer. */
	anew = atomic_load_explicit(&ring->anew, memory_order_acquire);
	/*
	 * Acquire: pairs with the release in hs_ring_give_back(); the reader is done with
	 * what lies before the tail.  A tail older than the head makes the ring look fuller
	 * than it is, never emptier.
	 */
	tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
	is_anew = ticket == anew && ticket == ticket_of(tail);
	if (hs_unlikely(is_anew))
		begin = next_lap(ring, begin);
	*end = begin + units_needed(ring, begin, units);
	used = *end - (is_anew ? begin : used_from(ring, tail, anew));
	if (hs_unlikely(used > share->units) ||
	    hs_unlikely(ticket - ticket_of(tail) >= share->slots))
		return atomic_load_explicit(ring->head, memory_order_relaxed) == head ? FULL
										       : BEHIND;
	/* Read once for both exchanges. */
	is_locked = must_lock(ring);
	if (hs_unlikely(!hs_arch_compare_exchange(
		    &slot->word, &word, word_of(ring, ticket, is_anew, units, tid), is_locked)))
		return BEHIND;
	move_head(ring, head, *end, is_locked);
	note_high_water(ring, used);
	return CLAIMED;
}

void hs_ring_fetch(const struct hs_ring *ring, size_t bytes)
{
	uint64_t head = atomic_load_explicit(ring->head, memory_order_relaxed);
	const unsigned char *next =
		ring->data + (size_t)(position_of(head) & (ring->units - 1)) * HS_RING_UNIT;

	hs_arch_prefetch_write(hs_ring_slot_of(ring, ticket_of(head)));
	for (size_t offset = 0; offset < bytes && offset < FETCHED_BYTES;
	     offset += HS_CACHE_LINE_BYTES)
		hs_arch_prefetch_write(next + offset);
}

/* The data of a record of so many units that ends at `end`. */
static void *data_before(const struct hs_ring *ring, uint32_t end, uint32_t units)
{
	return ring->data + (size_t)((end - units) & (ring->units - 1)) * HS_RING_UNIT;
}

void *hs_ring_reserve(struct hs_ring *ring, size_t bytes, enum hs_ring_kind kind, uint32_t tid,
		      uint64_t cookie, uint64_t *open)
{
	const struct hs_ring_share *share = &ring->shares[kind];
	uint32_t units = units_of(bytes), end = 0;
	enum claim result = BEHIND;
	struct hs_ring_slot *slot;
	uint64_t head = 0;

	if (hs_unlikely(bytes > share->record_bytes) || hs_unlikely(tid > HS_RING_TID_MAX))
		return NULL;
	for (int tries = 0; tries < RESERVE_TRIES; tries++) {
		/*
		 * Acquire: pairs with the release of whoever moved it on, so that the tail read
		 * next is no older than the one it saw; skipped units would be taken for used.
		 */
		head = atomic_load_explicit(ring->head, memory_order_acquire);
		*open = (uint64_t)ticket_of(head) + 1;
		atomic_signal_fence(memory_order_seq_cst);
		result = claim(ring, share, head, units, tid, &end);
		if (hs_likely(result != BEHIND))
			break;
	}
	if (hs_unlikely(result != CLAIMED)) {
		*open = 0;
		return NULL;
	}
	slot = hs_ring_slot_of(ring, ticket_of(head));
	/* Relaxed: published by the compare-and-swap of commit or abandon. */
	atomic_store_explicit(&slot->bytes, (uint32_t)bytes, memory_order_relaxed);
	atomic_store_explicit(&slot->cookie, cookie, memory_order_relaxed);
	return data_before(ring, end, units);
}

/* Closes the word if it is open and of this lap; whether it did. */
static bool close_word(struct hs_ring_slot *slot, uint32_t lap, uint64_t word,
		       enum hs_ring_state state)
{
	if (hs_unlikely(word >> LAP_SHIFT != lap) || hs_unlikely(word_state(word) != HS_RING_OPEN))
		return false;
	/*
	 * Release: the record's bytes and the descriptor's fields; pairs with
	 * hs_ring_read()'s acquire.  Sequentially consistent for hs_ring_tell_reader().
	 */
	return atomic_compare_exchange_strong(&slot->word, &word, (word & ~(uint64_t)3) | state);
}

bool hs_ring_commit(struct hs_ring *ring, uint32_t ticket)
{
	struct hs_ring_slot *slot = hs_ring_slot_of(ring, ticket);

	return close_word(slot, lap_of(ring, ticket),
			  atomic_load_explicit(&slot->word, memory_order_relaxed),
			  HS_RING_COMMITTED);
}

bool hs_ring_abandon(struct hs_ring *ring, uint32_t ticket, uint32_t tid)
{
	struct hs_ring_slot *slot = hs_ring_slot_of(ring, ticket);
	uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);

	return word_tid(word) == tid &&
	       close_word(slot, lap_of(ring, ticket), word, HS_RING_ABANDONED);
}

/* The descriptors and the units in use now. */
struct use {
	uint32_t slots, units;
};

static inline struct use use_of(const struct hs_ring *ring)
{
	/* Acquire: the tail never passes the head, which is read next. */
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
	/* Sequentially consistent, as a writer's exchange of it: see hs_ring_reader_nap(). */
	uint64_t head = atomic_load(ring->head);
	uint32_t anew = atomic_load_explicit(&ring->anew, memory_order_relaxed);
	uint32_t slots = ticket_of(head) - ticket_of(tail);

	if (slots == 0)
		return (struct use){0, 0};
	return (struct use){slots, position_of(head) - used_from(ring, tail, anew)};
}

bool hs_ring_is_filling(const struct hs_ring *ring)
{
	return use_of(ring).units > ring->units / FILLING_SHARE;
}

bool hs_ring_is_full(const struct hs_ring *ring, size_t bytes)
{
	const struct hs_ring_share *share = &ring->shares[HS_RING_KEPT];
	struct use use = use_of(ring);

	return use.slots >= share->slots || use.units + units_of(bytes) > share->units;
}

/* Moves the head on for a writer that was stopped right after its claim. */
static void complete_claim(struct hs_ring *ring, uint64_t word)
{
	uint64_t head = atomic_load_explicit(ring->head, memory_order_relaxed);

	if (ticket_of(head) == ticket_of(ring->next))
		move_head(ring, head, position_behind(ring, head, word), true);
}

void hs_ring_read(struct hs_ring *ring, struct hs_ring_item *item)
{
	uint32_t ticket = ticket_of(ring->next);
	struct hs_ring_slot *slot = hs_ring_slot_of(ring, ticket);
	/* Acquire: the slot's fields and the record.  Stronger for hs_ring_reader_sleep(). */
	uint64_t word = atomic_load(&slot->word);

	item->state = HS_RING_EMPTY;
	if (!word_is_of(ring, word, ticket))
		return;
	item->state = word_state(word);
	item->tid = word_tid(word);
	/* Only then: the head's cache line is left to the writers. */
	if (item->state != HS_RING_COMMITTED)
		complete_claim(ring, word);
	/* Its writer is still writing the slot's fields. */
	if (item->state == HS_RING_OPEN)
		return;
	item->data = data_before(ring, position_behind(ring, ring->next, word), word_units(word));
	item->bytes = atomic_load_explicit(&slot->bytes, memory_order_relaxed);
	item->cookie = atomic_load_explicit(&slot->cookie, memory_order_relaxed);
	item->sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
}

const void *hs_ring_look_ahead(struct hs_ring *ring, uint32_t most)
{
	uint32_t ticket = ticket_of(ring->ahead), next = ticket_of(ring->next), end;
	uint64_t word;

	if ((int32_t)(ticket - next) < 0) {
		ring->ahead = ring->next;
		ticket = next;
	}
	/* Acquire: as in hs_ring_read(). */
	word = atomic_load_explicit(&hs_ring_slot_of(ring, ticket)->word, memory_order_acquire);
	if (ticket - next > most || !word_is_of(ring, word, ticket) ||
	    word_state(word) != HS_RING_COMMITTED)
		return NULL;
	end = position_behind(ring, ring->ahead, word);
	ring->ahead = pack(ticket + 1, end);
	return data_before(ring, end, word_units(word));
}

/* Lets the next record begin anew if there is none yet and enough of the lap is used. */
static void let_begin_anew(struct hs_ring *ring)
{
	uint32_t ticket = ticket_of(ring->next);
	uint32_t offset = position_of(ring->next) & (ring->units - 1);
	/* Relaxed: a record that is claimed already says in its word where it has begun. */
	uint64_t head = atomic_load_explicit(ring->head, memory_order_relaxed);

	if (ticket_of(head) == ticket && offset > ring->units / ANEW_SHARE)
		atomic_store_explicit(&ring->anew, ticket, memory_order_release);
}

void hs_ring_give_back(struct hs_ring *ring)
{
	if (atomic_load_explicit(&ring->tail, memory_order_relaxed) == ring->next)
		return;
	/*
	 * Release: our reads of the records and the stores to their slots come before a writer's
	 * stores over them; pairs with the acquire of tail in claim().
	 */
	atomic_store_explicit(&ring->tail, ring->next, memory_order_release);
	let_begin_anew(ring);
	/*
	 * Even without waiters: a writer that has found the ring full may be about to wait while
	 * space has its old value.  Sequentially consistent: before the look at the waiters.
	 */
	atomic_fetch_add(&ring->space, 1);
	if (atomic_load(&ring->space_waiters) != 0)
		hs_sys_futex_wake(&ring->space, 1 << 30);
}

void hs_ring_pass(struct hs_ring *ring)
{
	uint32_t ticket = ticket_of(ring->next);
	struct hs_ring_slot *slot = hs_ring_slot_of(ring, ticket);
	uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
	uint32_t end = position_behind(ring, ring->next, word);
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	atomic_store_explicit(&slot->sequence, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->cookie, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->bytes, 0, memory_order_relaxed);
	ring->next = pack(ticket + 1, end);
	if (end - position_of(tail) > ring->units / GIVEN_BACK_SHARE)
		hs_ring_give_back(ring);
}

bool hs_ring_close_dead(struct hs_ring *ring)
{
	struct hs_ring_item item;

	hs_ring_read(ring, &item);
	return item.state == HS_RING_OPEN && item.tid != 0 &&
	       hs_sys_thread_is_gone((pid_t)item.tid) &&
	       hs_ring_abandon(ring, ticket_of(ring->next), item.tid);
}

uint32_t hs_ring_head_ticket(const struct hs_ring *ring)
{
	return ticket_of(atomic_load_explicit(ring->head, memory_order_acquire));
}

uint32_t hs_ring_unread_before(const struct hs_ring *ring, uint32_t ticket)
{
	uint32_t tail = ticket_of(atomic_load_explicit(&ring->tail, memory_order_acquire));
	uint32_t left = ticket - tail;

	return left > ring->slot_count ? 0 : left;
}

size_t hs_ring_high_water_bytes(const struct hs_ring *ring)
{
	return (size_t)atomic_load_explicit(&ring->used_units_max, memory_order_relaxed) *
	       HS_RING_UNIT;
}
