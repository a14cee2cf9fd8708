/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields of a descriptor's word (struct hs_ring_slot), and tickets packed with positions, as in
 * a ring's head and tail.  For the files that implement the ring; pure functions, any thread.
 */
#ifndef HS_SAMPLE_RING_WORD_H
#define HS_SAMPLE_RING_WORD_H

#include "sample/ring.h"

static inline uint32_t ticket_of(uint64_t packed)
{
	return (uint32_t)(packed >> 32);
}

static inline uint32_t position_of(uint64_t packed)
{
	return (uint32_t)packed;
}

static inline uint64_t pack(uint32_t ticket, uint32_t position)
{
	return (uint64_t)ticket << 32 | position;
}

#define TID_SHIFT 2
#define UNITS_SHIFT 24
#define ANEW_SHIFT 40
#define LAP_SHIFT 41
#define LAP_MASK 0x7fffffu

static inline uint32_t lap_of(const struct hs_ring *ring, uint32_t ticket)
{
	return ticket >> ring->slot_lg & LAP_MASK;
}

static inline uint64_t word_of(const struct hs_ring *ring, uint32_t ticket, bool is_anew,
			       uint32_t units, uint32_t tid)
{
	return (uint64_t)lap_of(ring, ticket) << LAP_SHIFT | (uint64_t)is_anew << ANEW_SHIFT |
	       (uint64_t)units << UNITS_SHIFT | (uint64_t)tid << TID_SHIFT | HS_RING_OPEN;
}

static inline bool word_is_of(const struct hs_ring *ring, uint64_t word, uint32_t ticket)
{
	return word >> LAP_SHIFT == lap_of(ring, ticket);
}

static inline bool word_is_anew(uint64_t word)
{
	return (word >> ANEW_SHIFT & 1) != 0;
}

static inline uint32_t word_units(uint64_t word)
{
	return word >> UNITS_SHIFT & HS_RING_UNITS_MAX;
}

static inline uint32_t word_tid(uint64_t word)
{
	return word >> TID_SHIFT & HS_RING_TID_MAX;
}

static inline enum hs_ring_state word_state(uint64_t word)
{
	return (enum hs_ring_state)(word & 3);
}

/* The first position of the next lap. */
static inline uint32_t next_lap(const struct hs_ring *ring, uint32_t position)
{
	return (position | (ring->units - 1)) + 1;
}

/* The units that a record takes at position, with those skipped at the end of the data. */
static inline uint32_t units_needed(const struct hs_ring *ring, uint32_t position, uint32_t units)
{
	uint32_t offset = position & (ring->units - 1);

	return offset + units > ring->units ? ring->units - offset + units : units;
}

/* The position behind the record of a word.  at: its ticket and position, packed. */
static inline uint32_t position_behind(const struct hs_ring *ring, uint64_t at, uint64_t word)
{
	uint32_t position = position_of(at);

	if (word_is_anew(word))
		position = next_lap(ring, position);
	return position + units_needed(ring, position, word_units(word));
}

#endif
