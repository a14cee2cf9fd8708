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
 * Each reservation has a ticket, counted from 0, and a descriptor apart from the data,
 * at ticket modulo their number.  What a program has on its stack is copied into the
 * data and can never be taken for a descriptor.  The descriptor's word holds the
 * ticket, so one of an earlier lap is not mistaken for the present one.
 *
 * Positions and tickets are 32 bits wide and wrap; only differences count.
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

/* Units of the data area: alignment of records. */
#define HS_RING_UNIT 16

enum hs_ring_state {
	HS_RING_EMPTY,     /* the reader has caught up */
	HS_RING_OPEN,      /* the next reservation is still being filled */
	HS_RING_COMMITTED,
	HS_RING_ABANDONED, /* closed without contents */
};

/*
 * One reservation.  word is written by the reserver (release), then by whoever commits
 * or abandons it (compare-and-swap from open); the other fields are written before
 * word, by the reserver, and read after it.  sequence is written by the reserver
 * between reserve and commit.
 */
struct hs_ring_slot {
	_Atomic uint64_t word; /* ticket << 2 | enum hs_ring_state */
	_Atomic uint64_t sequence; /* number taken for this record; 0 = none yet */
	uint32_t offset;       /* of the data, in units */
	uint32_t end;          /* position after the data */
	uint32_t bytes;
	uint32_t tid;          /* writer, to tell when it has died */
	uint64_t cookie;       /* the writer's, handed to the reader with an abandoned record too */
};

struct hs_ring {
	/* Constant after hs_ring_init(). */
	unsigned char *data;
	struct hs_ring_slot *slots;
	uint32_t units;     /* of data, a power of two */
	uint32_t slot_count; /* a power of two */

	/* ticket << 32 | position of the next reservation.  Written by: writers. */
	_Alignas(64) _Atomic uint64_t head;

	/* The same of the next record to read.  Written by: the reader.  Read by: writers. */
	_Alignas(64) _Atomic uint64_t tail;
	_Atomic uint32_t space; /* futex: changes when waiting writers should look again */
	_Atomic uint32_t space_waiters;

	/* 1 while the reader sleeps on it (futex).  Set by the reader, cleared by a writer. */
	_Alignas(64) _Atomic uint32_t reader_asleep;
	_Atomic uint32_t used_units_max; /* high water, relaxed */
};

enum { HS_RING_ORDINARY = 0, HS_RING_KEPT = 1 };

/* A writer's view of its reservation. */
struct hs_ring_reservation {
	void *data;
	uint32_t ticket;
};

/* What the reader gets. */
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

/*
 * Reserve bytes (at least 1).  kind: HS_RING_ORDINARY or HS_RING_KEPT.  A record of more
 * than half of what its kind may use is always refused: past that, one that has to skip
 * the end of the data would not fit even into an empty ring.
 * Called on: any thread, signal handlers too.  Blocks: never.
 * Returns false when there is no room.
 */
bool hs_ring_reserve(struct hs_ring *ring, size_t bytes, int kind, uint32_t tid, uint64_t cookie,
		     struct hs_ring_reservation *out);

/* Note the number taken for a reservation, so that an abandoned record returns it. */
void hs_ring_note_sequence(struct hs_ring *ring, uint32_t ticket, uint64_t sequence);

/*
 * Publish.  Ordering: sequentially consistent; pairs with hs_ring_read().
 * Returns false when the reservation was abandoned meanwhile: the record does not exist.
 */
bool hs_ring_commit(struct hs_ring *ring, uint32_t ticket);

/*
 * Close a reservation without contents.  Only for one whose writer will not write
 * to it any more.  Returns false if it was committed or abandoned before.
 */
bool hs_ring_abandon(struct hs_ring *ring, uint32_t ticket);

/* Wake the reader if it sleeps.  One system call then, none otherwise. */
void hs_ring_wake_reader(struct hs_ring *ring);

/*
 * Wait until space may have come free, at most timeout_ns.  Returns false on timeout.
 */
bool hs_ring_wait_for_space(struct hs_ring *ring, uint32_t seen_space, int64_t timeout_ns);
uint32_t hs_ring_space_counter(struct hs_ring *ring);

/* Look at the next record.  Reader only.  item->state says whether there is one. */
void hs_ring_read(struct hs_ring *ring, struct hs_ring_item *item);

/* Give the record last read back to the writers.  Reader only. */
void hs_ring_release(struct hs_ring *ring);

/*
 * Close the next reservation if it is open and its writer is a thread that has died.
 * Reader only; costs a system call.  Returns whether it did.
 */
bool hs_ring_close_dead(struct hs_ring *ring);

/* Sleep until a writer commits, at most timeout_ns (below 0: no limit).  Reader only. */
void hs_ring_reader_sleep(struct hs_ring *ring, int64_t timeout_ns);

/* The ticket of the next reservation: all before it are older than now.  Any thread. */
uint32_t hs_ring_head_ticket(const struct hs_ring *ring);

/* How many reservations before ticket are not yet read: 0 when the reader is past it. */
uint32_t hs_ring_unread_before(const struct hs_ring *ring, uint32_t ticket);

#endif
