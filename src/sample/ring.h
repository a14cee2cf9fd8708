/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bounded ring of variable-length records: many writers, one reader.
 *
 * - A writer reserves, fills, commits.  Reserving is lock-free, bounded, all or
 *   nothing, and never waits: a full ring refuses.
 * - The reader sees records in the order of their reservations.  A reservation that
 *   is open holds up those behind it until it is committed or abandoned.
 * - A record is contiguous, 16-byte aligned, and stays put until it is released.
 * - The last eighth of the ring is refused to ordinary records and kept for small
 *   ones (HS_RING_KEPT), so that a full ring still takes a sample without its stack.
 *
 * Each reservation has a ticket, counted up, and a descriptor apart from the data, at
 * ticket modulo their number.  What a program has on its stack is copied into the data and
 * can never be taken for a descriptor.
 *
 * A reservation is one compare-and-swap of the descriptor's word (not locked where there is
 * one writer, base/alone.h), which then says all
 * there is to know of it: its lap, its size, its writer, that it is open.  The head moves
 * on afterwards, by the writer or by whoever needs it moved, so a writer that is stopped
 * or killed at any instruction leaves nothing that others cannot complete.
 *
 * Positions and tickets are 32 bits wide and wrap; only differences count.
 *
 * When the reader has caught up it may have the ring begun anew: it names the ticket of the next
 * record, which begins in the next lap then, if its writer has heard of it before its claim; the
 * word says so.  What is skipped is free.  So a few records at a time use the same few pages again,
 * which are in the caches.
 *
 *                    reserve            commit, abandon        read, release
 *   reserve          any number         any                    any
 *   commit, abandon  any                one wins per ticket    any
 *   read, release    any                any                    one reader
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
 * One reservation.  word: lap << 41 | is anew << 40 | units << 24 | tid << 2 | enum
 * hs_ring_state; the lap is ticket / number of descriptors, so zeroed memory is lap 0, closed, and
 * the first tickets are lap 1.  The other fields are the writer's between reserve and commit, and
 * cleared by the reader when it releases: 0 means that the writer did not come so far.
 */
struct hs_ring_slot {
	_Atomic uint64_t word;
	_Atomic uint64_t sequence; /* number taken for this record */
	_Atomic uint64_t cookie;   /* the writer's, handed out with an abandoned record too */
	_Atomic uint32_t bytes;
};

/* What the word's fields hold: larger records are refused, as is a larger tid. */
#define HS_RING_UNITS_MAX 0xffffu
#define HS_RING_TID_MAX 0x3fffffu

enum hs_ring_kind { HS_RING_ORDINARY, HS_RING_KEPT };

/* What the records of a kind may have of a ring, all together and each. */
struct hs_ring_share {
	uint32_t units, slots, record_bytes;
};

struct hs_ring {
	/* Constant after hs_ring_init(), and hs_ring_keep_head(). */
	_Atomic uint64_t *head; /* own_head, or one beside what else its writers write */
	unsigned char *data;
	struct hs_ring_slot *slots;
	uint32_t units;      /* of data, a power of two */
	uint32_t slot_count; /* a power of two */
	uint32_t slot_lg;    /* its logarithm */
	bool has_one_writer; /* whatever the program does; set before the first record */
	struct hs_ring_share shares[2]; /* by kind */

	/* ticket << 32 | position of the next reservation.  Written by: writers. */
	_Alignas(64) _Atomic uint64_t own_head;

	/* The same of what is not given back yet.  Written by: the reader.  Read by: writers. */
	_Alignas(64) _Atomic uint64_t tail;
	_Atomic uint32_t anew;  /* ticket of the record that may begin in the next lap */
	_Atomic uint32_t space; /* futex: changes when waiting writers should look again */
	_Atomic uint32_t space_waiters;

	/* enum hs_ring_sleep, a futex.  Set by the reader, but for WOKEN by who wakes it. */
	_Alignas(64) _Atomic uint32_t reader_asleep;
	_Atomic uint32_t used_units_max; /* high water, relaxed */

	/* The same of the next record to read, and the next to look at ahead.  The reader's own. */
	_Alignas(64) uint64_t next;
	uint64_t ahead;
	/* Of the data, in units, and the descriptors: whose pages are there.  The reader's own. */
	uint32_t prepared;
	uint32_t prepared_slots;
};

/*
 * What the reader is woken by: nothing, the next record, or a ring that fills up; that too when
 * somebody has set about to wake it, for a killed thread, or one that jumps out of a handler, may
 * not have come to it.
 */
enum hs_ring_sleep { HS_RING_AWAKE, HS_RING_ASLEEP, HS_RING_NAPPING, HS_RING_WOKEN };

/* What the reader gets; of an open reservation, state and tid alone.  cookie 0: none was set. */
struct hs_ring_item {
	enum hs_ring_state state;
	void *data;
	uint32_t bytes;
	uint32_t tid;
	uint64_t sequence;
	uint64_t cookie;
};

/*
 * Bytes of memory that a ring of data_bytes (a power of two, at least 4096) needs,
 * page-aligned; the caller gives zeroed memory of that size to hs_ring_init().
 */
size_t hs_ring_memory_bytes(size_t data_bytes);
void hs_ring_init(struct hs_ring *ring, void *memory, size_t data_bytes);

/* Keep the ring's head elsewhere.  Before the first record. */
void hs_ring_keep_head(struct hs_ring *ring, _Atomic uint64_t *head);

/* A reservation may come soon: have fetched what it reads that the reader writes.  Any thread. */
static inline void hs_ring_fetch_ends(const struct hs_ring *ring)
{
	__builtin_prefetch(&ring->tail);
	__builtin_prefetch(&ring->reader_asleep);
}

/*
 * A record is to be reserved: have its descriptor fetched, to be written, and so many bytes of its
 * room, or their beginning, which the reader had a lap ago.  Any thread.
 */
HS_SAMPLE_CODE void hs_ring_fetch(const struct hs_ring *ring, size_t bytes);

/*
 * Reserve bytes (at least 1; at most half of what its kind may use, and 1 MiB).  kind:
 * HS_RING_ORDINARY or HS_RING_KEPT.  tid: of the caller; 0 for a writer that cannot die.
 * open: where the caller keeps its open reservation: set to ticket + 1 before the
 * reservation comes into being, to 0 if it does not; so that a handler which jumps out of
 * this function leaves what hs_ring_abandon() needs.
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
 * The cookie of an open reservation, where it was not known when that was made.  Relaxed: published
 * by the compare-and-swap of commit or abandon.
 */
static inline void hs_ring_note_cookie(struct hs_ring *ring, uint32_t ticket, uint64_t cookie)
{
	atomic_store_explicit(&hs_ring_slot_of(ring, ticket)->cookie, cookie, memory_order_relaxed);
}

/* Note the number taken for a reservation, so that an abandoned record returns it.  Relaxed too. */
static inline void hs_ring_note_sequence(struct hs_ring *ring, uint32_t ticket, uint64_t sequence)
{
	atomic_store_explicit(&hs_ring_slot_of(ring, ticket)->sequence, sequence,
			      memory_order_relaxed);
}

/*
 * Publish.  Ordering: sequentially consistent; pairs with hs_ring_read().
 * Returns false when the reservation was abandoned meanwhile: the record does not exist.
 */
HS_SAMPLE_CODE bool hs_ring_commit(struct hs_ring *ring, uint32_t ticket);

/*
 * Close a reservation of thread tid without contents.  Only for one whose writer will not
 * write to it any more.  Returns false if there is no such open reservation: it was
 * committed or abandoned before, never came into being, or is another thread's.
 */
bool hs_ring_abandon(struct hs_ring *ring, uint32_t ticket, uint32_t tid);

/* Wake the reader, from a nap too: somebody waits for it. */
void hs_ring_wake_reader(struct hs_ring *ring);

/* Whether so much is in use that the reader should not put it off. */
HS_SAMPLE_CODE bool hs_ring_is_filling(const struct hs_ring *ring);

/*
 * A record was committed or abandoned: wake the reader if it sleeps, but from a nap only if the
 * ring fills up.  Any thread, signal handlers too.  One system call then, none otherwise.
 */
HS_SAMPLE_CODE void hs_ring_tell_reader(struct hs_ring *ring);

/*
 * Wait until space may have come free, at most timeout_ns.  Returns false on timeout.
 */
bool hs_ring_wait_for_space(struct hs_ring *ring, uint32_t seen_space, int64_t timeout_ns);

/*
 * The same for a millisecond at most, and no longer than to end_ns (monotonic).  Wakes the
 * reader first.  Returns false, at once, when end_ns is over.
 */
bool hs_ring_wait_slice(struct hs_ring *ring, uint32_t seen_space, uint64_t end_ns);

/* What seen_space is: read it before the reservation that fails. */
static inline uint32_t hs_ring_space_counter(const struct hs_ring *ring)
{
	return atomic_load_explicit(&ring->space, memory_order_acquire);
}

/*
 * Have memory for what comes next in the ring, a sixteenth of it, so that in the first lap the
 * writers do not each meet page faults.  Reader only.
 */
void hs_ring_prepare(struct hs_ring *ring);

/* Look at the next record.  Reader only.  item->state says whether there is one. */
void hs_ring_read(struct hs_ring *ring, struct hs_ring_item *item);

/*
 * The first record, the next one included, that neither was passed nor was looked at so far, for
 * what it will need to be fetched ahead; at most so many records behind the next.  NULL: there is
 * none, or not yet.  Reader only.
 */
const void *hs_ring_look_ahead(struct hs_ring *ring, uint32_t most);

/*
 * Done with the record last read.  Reader only.  Its room is given back to the writers by
 * hs_ring_give_back(), or when a 64th of the ring has come together: with each record it would
 * cost them a cache miss each.  hs_ring_release() is both.
 */
void hs_ring_pass(struct hs_ring *ring);
void hs_ring_give_back(struct hs_ring *ring);
void hs_ring_release(struct hs_ring *ring);

/*
 * Close the next reservation if it is open and its writer is a thread that has died.
 * Reader only; costs a system call.  Returns whether it did.
 */
bool hs_ring_close_dead(struct hs_ring *ring);

/*
 * Sleep until a writer commits, at most timeout_ns.  Below 0 there is no limit, but while a
 * reservation is open it does not sleep then: its writer may have died.  Reader only.
 */
void hs_ring_reader_sleep(struct hs_ring *ring, int64_t timeout_ns);

/*
 * Sleep for timeout_ns whatever is committed, unless the ring fills up: so that records in close
 * succession do not each cost their writer a system call.  Returns whether it was woken.
 * Reader only.
 */
bool hs_ring_reader_nap(struct hs_ring *ring, int64_t timeout_ns);

/* The ticket of the next reservation: all before it are older than now.  Any thread. */
uint32_t hs_ring_head_ticket(const struct hs_ring *ring);

/* The most of the ring that was in use, bytes.  Any thread. */
size_t hs_ring_high_water_bytes(const struct hs_ring *ring);

/* How many reservations before ticket are not yet read: 0 when the reader is past it. */
uint32_t hs_ring_unread_before(const struct hs_ring *ring, uint32_t ticket);

#endif
