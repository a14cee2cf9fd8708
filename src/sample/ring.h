/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bounded ring of variable-length records: many writers, one reader.
 *
 * - A writer reserves, fills, commits.  Reserving is lock-free, bounded, all or
 *   nothing, and never waits: a full ring refuses.
 * - The reader sees records in the order of their reservations.  A reservation that
 *   is open holds up those behind it until it is committed or abandoned.
 * - A record is contiguous, 16-byte aligned, and is not moved until it is released.
 * - The last eighth of the ring is refused to ordinary records and kept for small
 *   ones (HS_RING_KEPT), so that a full ring still takes a sample without its stack.
 *
 * Each reservation has a ticket, counted up, and a descriptor, at index ticket modulo their number.
 * Descriptors are apart from the data: what the program has on its stack is copied into the data,
 * and can never be taken for a descriptor.
 *
 * Reserving is one compare-and-swap of the descriptor's word (without lock prefix if there is one
 * writer only, base/alone.h).  The word says everything about the reservation: its lap, its size,
 * its writer, that it is open.  The head is moved on afterwards, by the writer or by the next one
 * that needs it, so a writer that is stopped or killed at any instruction leaves nothing that
 * others cannot complete.
 *
 * Positions and tickets are 32 bits wide and wrap; only differences count.
 *
 * Beginning anew: when the reader has caught up, it may allow the next record to begin in the next
 * lap, at the start of the data, by naming its ticket.  A writer that sees this before its claim
 * does so, and says so in the word; the rest of the lap is skipped.  So a few records at a time use
 * the same few pages again, which are in the caches.
 *
 *                    reserve            commit, abandon        read, pass, give back
 *   reserve          any number         any                    any
 *   commit, abandon  any                one wins per ticket    any
 *   read, pass,      any                any                    one reader
 *   give back
 */
#ifndef HS_SAMPLE_RING_H
#define HS_SAMPLE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hot.h"

/* Units of the data area: alignment of records. */
#define HS_RING_UNIT 16

enum hs_ring_state {
	HS_RING_EMPTY,     /* the reader has caught up */
	HS_RING_OPEN,      /* the next reservation is still being filled */
	HS_RING_COMMITTED,
	HS_RING_ABANDONED, /* closed without contents */
};

/*
 * The descriptor of a reservation.  word: lap << 41 | begins anew << 40 | units << 24 | tid << 2 |
 * enum hs_ring_state; the lap is ticket / number of descriptors, so zeroed memory is lap 0, closed,
 * and the first tickets are of lap 1.  The other fields are written by the writer between reserve
 * and commit, and cleared by the reader on release: 0 if the writer did not get so far.
 */
struct hs_ring_slot {
	_Atomic uint64_t word;
	_Atomic uint64_t sequence; /* number taken for this record */
	_Atomic uint64_t cookie;   /* the writer's, handed out with an abandoned record too */
	_Atomic uint32_t bytes;
};

/* The largest values of the word's fields: larger records are refused, and larger tids. */
#define HS_RING_UNITS_MAX 0xffffu
#define HS_RING_TID_MAX 0x3fffffu

enum hs_ring_kind { HS_RING_ORDINARY, HS_RING_KEPT };

/* What records of one kind may use of a ring. */
struct hs_ring_share {
	uint32_t units, slots; /* all of them together */
	uint32_t record_bytes; /* each */
};

struct hs_ring {
	/* Constant after hs_ring_init() and hs_ring_keep_head(). */
	_Atomic uint64_t *head; /* own_head, or one in a cache line that writers write anyway */
	unsigned char *data;
	struct hs_ring_slot *slots;
	uint32_t units;      /* of data, a power of two */
	uint32_t slot_count; /* a power of two */
	uint32_t slot_lg;    /* its logarithm */
	bool has_one_writer; /* always; set before the first record */
	struct hs_ring_share shares[2]; /* by kind */

	/* ticket << 32 | position of the next reservation.  Written by: writers. */
	_Alignas(64) _Atomic uint64_t own_head;

	/*
	 * The same of the oldest record not given back.  Written by: the reader.  Read by: writers.
	 */
	_Alignas(64) _Atomic uint64_t tail;
	_Atomic uint32_t anew;  /* ticket of the record that may begin in the next lap */
	_Atomic uint32_t space; /* futex: changes when waiting writers should look again */
	_Atomic uint32_t space_waiters;

	/* enum hs_ring_sleep, a futex.  Set by the reader; HS_RING_WOKEN by who wakes it. */
	_Alignas(64) _Atomic uint32_t reader_asleep;
	_Atomic uint32_t used_units_max; /* high water, relaxed */

	/* The same of the next record to read, and to look at ahead.  The reader's own. */
	_Alignas(64) uint64_t next;
	uint64_t ahead;
	/* How many units of data, and descriptors, have their pages.  The reader's own. */
	uint32_t prepared;
	uint32_t prepared_slots;
};

/* How the reader sleeps, and so what wakes it. */
enum hs_ring_sleep {
	HS_RING_AWAKE,
	HS_RING_ASLEEP,  /* the next record */
	HS_RING_NAPPING, /* a ring that fills up */
	/*
	 * Somebody is about to wake it.  A ring that fills up wakes it again: the other may have
	 * been killed, or have jumped out of a handler, before it did.
	 */
	HS_RING_WOKEN,
};

/* What the reader gets.  Of an open reservation only state and tid.  cookie 0: none was set. */
struct hs_ring_item {
	enum hs_ring_state state;
	void *data;
	uint32_t bytes;
	uint32_t tid;
	uint64_t sequence;
	uint64_t cookie;
};

/*
 * Bytes of memory that a ring of data_bytes (a power of two, at least 4096) needs;
 * the caller gives zeroed memory of that size, page-aligned, to hs_ring_init().
 */
size_t hs_ring_memory_bytes(size_t data_bytes);
void hs_ring_init(struct hs_ring *ring, void *memory, size_t data_bytes);

/* The bytes of data that a ring was made with. */
static inline size_t hs_ring_data_bytes(const struct hs_ring *ring)
{
	return (size_t)ring->units * HS_RING_UNIT;
}

/* Puts the ring's head elsewhere.  Before the first record. */
void hs_ring_keep_head(struct hs_ring *ring, _Atomic uint64_t *head);

/* Prefetches what a reservation reads that the reader writes.  Any thread. */
static inline void hs_ring_fetch_ends(const struct hs_ring *ring)
{
	__builtin_prefetch(&ring->tail);
	__builtin_prefetch(&ring->reader_asleep);
}

/*
 * Prefetches for writing what the next reservation will write: its descriptor and so many bytes of
 * data, or their beginning, which the reader has read a lap ago.  Any thread.
 */
HS_SAMPLE_CODE void hs_ring_fetch(const struct hs_ring *ring, size_t bytes);

/*
 * Reserves bytes (at least 1; at most half of what its kind may use, and 1 MiB).  kind:
 * HS_RING_ORDINARY or HS_RING_KEPT.  tid: of the caller; 0 for a writer that cannot die.
 * open: where the caller notes its open reservation.  Set to ticket + 1 before the reservation is
 * made, and to 0 if it is not, so that a handler that jumps out of this function leaves there what
 * hs_ring_abandon() needs.
 * Called on: any thread, signal handlers too.  Blocks: never.
 * Returns where to write, or NULL when there is no room.
 */
HS_SAMPLE_CODE void *hs_ring_reserve(struct hs_ring *ring, size_t bytes, enum hs_ring_kind kind,
				     uint32_t tid, uint64_t cookie, uint64_t *open);

/* The ticket of an open reservation, as hs_ring_reserve() notes it. */
static inline uint32_t hs_ring_ticket(uint64_t open)
{
	return (uint32_t)(open - 1);
}

/* A ticket's descriptor. */
static inline struct hs_ring_slot *hs_ring_slot_of(const struct hs_ring *ring, uint32_t ticket)
{
	return &ring->slots[ticket & (ring->slot_count - 1)];
}

/*
 * Sets the cookie of an open reservation that was made without.  Relaxed: published by the
 * compare-and-swap of commit or abandon.
 */
static inline void hs_ring_note_cookie(struct hs_ring *ring, uint32_t ticket, uint64_t cookie)
{
	atomic_store_explicit(&hs_ring_slot_of(ring, ticket)->cookie, cookie, memory_order_relaxed);
}

/* Notes the sequence number of a reservation, for an abandoned record to return.  Relaxed too. */
static inline void hs_ring_note_sequence(struct hs_ring *ring, uint32_t ticket, uint64_t sequence)
{
	atomic_store_explicit(&hs_ring_slot_of(ring, ticket)->sequence, sequence,
			      memory_order_relaxed);
}

/*
 * Publishes a record.  Ordering: sequentially consistent; pairs with hs_ring_read().
 * False: the reservation was abandoned meanwhile, and the record does not exist.
 */
HS_SAMPLE_CODE bool hs_ring_commit(struct hs_ring *ring, uint32_t ticket);

/*
 * Closes a reservation of thread tid without contents.  Its writer must not write to it any more.
 * False: there is no such open reservation.  It was committed or abandoned before, was never made,
 * or is another thread's.
 */
bool hs_ring_abandon(struct hs_ring *ring, uint32_t ticket, uint32_t tid);

/* Wakes the reader, from a nap too: somebody waits for it. */
void hs_ring_wake_reader(struct hs_ring *ring);

/* Whether so much of the ring is in use that the reader should not nap. */
HS_SAMPLE_CODE bool hs_ring_is_filling(const struct hs_ring *ring);

/* Whether there is no room for a record of so many bytes, of either kind.  Any thread. */
bool hs_ring_is_full(const struct hs_ring *ring, size_t bytes);

/*
 * A record was committed or abandoned: wakes the reader if it sleeps, but from a nap only if the
 * ring fills up.  Any thread, signal handlers too.  One system call then, none otherwise.
 */
HS_SAMPLE_CODE void hs_ring_tell_reader(struct hs_ring *ring);

/*
 * Waits until there may be room, timeout_ns at most; false on timeout.  seen_space:
 * hs_ring_space_counter() from before the reservation that has failed.
 */
bool hs_ring_wait_for_space(struct hs_ring *ring, uint32_t seen_space, int64_t timeout_ns);

/*
 * The same for a millisecond at most, and not past end_ns (monotonic).  Wakes the reader first.
 * False, at once, when end_ns is over.
 */
bool hs_ring_wait_slice(struct hs_ring *ring, uint32_t seen_space, uint64_t end_ns);

static inline uint32_t hs_ring_space_counter(const struct hs_ring *ring)
{
	return atomic_load_explicit(&ring->space, memory_order_acquire);
}

/*
 * Has the kernel give pages to what comes next in the ring, a sixteenth of it, so that writers meet
 * no page faults in the first lap.  Reader only.
 */
void hs_ring_prepare(struct hs_ring *ring);

/* Looks at the next record.  Reader only.  item->state says whether there is one. */
void hs_ring_read(struct hs_ring *ring, struct hs_ring_item *item);

/*
 * The first committed record, from the next one on, that was not looked at before, for the caller
 * to prefetch what it will need; at most `most` records behind the next.  NULL: there is none, or
 * it is still open.  Reader only.
 */
const void *hs_ring_look_ahead(struct hs_ring *ring, uint32_t most);

/*
 * hs_ring_pass() is done with the record last read.  Writers get its room back with
 * hs_ring_give_back(), or when a 64th of the ring has come together; with each record it would cost
 * them a cache miss each.  Reader only.
 */
void hs_ring_pass(struct hs_ring *ring);
void hs_ring_give_back(struct hs_ring *ring);

/*
 * Closes the next reservation if it is open and its writer is a thread that has died; returns
 * whether it did.  Reader only; costs a system call.
 */
bool hs_ring_close_dead(struct hs_ring *ring);

/*
 * Sleeps until a writer commits, at most timeout_ns.  Below 0: without limit, but not at all while
 * a reservation is open, whose writer may have died.  Reader only.
 */
void hs_ring_reader_sleep(struct hs_ring *ring, int64_t timeout_ns);

/*
 * Sleeps for timeout_ns whatever is committed, unless the ring fills up, so that records in quick
 * succession do not each cost their writer a system call.  Returns whether it was woken.
 * Reader only.
 */
bool hs_ring_reader_nap(struct hs_ring *ring, int64_t timeout_ns);

/*
 * Forgets a reader that sleeps and writers that wait, which do not exist (in a forked child,
 * single-threaded).
 */
void hs_ring_after_fork(struct hs_ring *ring);

/* The ticket of the next reservation.  Any thread. */
uint32_t hs_ring_head_ticket(const struct hs_ring *ring);

/* The most bytes of the ring that were in use.  Any thread. */
size_t hs_ring_high_water_bytes(const struct hs_ring *ring);

/* How many reservations before a ticket the reader has not given back yet.  Any thread. */
uint32_t hs_ring_unread_before(const struct hs_ring *ring, uint32_t ticket);

/* The same of all there are now.  Any thread. */
static inline uint32_t hs_ring_unread(const struct hs_ring *ring)
{
	return hs_ring_unread_before(ring, hs_ring_head_ticket(ring));
}

#endif
