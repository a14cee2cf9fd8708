/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A record of the ring: a sampled allocation, a number without an event, or a map hint.  An
 * allocation's slot in the live set, and its generation, are in the reservation's cookie.
 * Written by the thread that allocates or hints; read by the unwinding worker.
 */
#ifndef HS_SAMPLE_RECORD_H
#define HS_SAMPLE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "base/libraries.h"

enum hs_record_kind {
	HS_RECORD_ALLOCATION,
	HS_RECORD_TOMBSTONE, /* a number without an event: a failed realloc, an abandoned record */
	HS_RECORD_MAP_HINT,  /* see hint_record.h: address, size; the path is the stack */
	HS_RECORD_MAP_UNHINT,
};

enum hs_record_flags {
	HS_RECORD_STACK_CUT = 1,  /* the stack goes on past the copy */
	HS_RECORD_STACKLESS = 2,  /* registers only: there was no room for the stack */
	HS_RECORD_WEIGHED = 4,    /* sampled by the program, which gave the weight */
	HS_RECORD_WALKED = 8,     /* all of it is frames: no registers and stack follow */
	HS_RECORD_DEPTH_CUT = 16, /* there are more frames than HEAPSAMPLE_DEPTH */
};

/*
 * A frame of the program: address is the call site (return address - 1), or the
 * instruction that a signal interrupted, or the code that the handler returns to;
 * mapping is its id in the mapping table (maps/mapping_table.h).
 */
struct hs_frame {
	uint64_t address;
	uint32_t mapping;
};

struct hs_record {
	uint64_t address;        /* in a reported heap, its id */
	uint64_t size;           /* requested bytes */
	union {
		uint64_t interval_bytes; /* the countdown was drawn with it: gives the weight */
		uint64_t weight;         /* HS_RECORD_WEIGHED: units of 1 / HS_WEIGHT_ONE */
	};
	uint32_t epoch;          /* hs_epoch */
	uint32_t labels;         /* of the thread: sample/labels.h */
	uint32_t tid;
	uint8_t kind;   /* enum hs_record_kind */
	uint8_t heap;
	uint16_t flags; /* enum hs_record_flags */
	uint32_t stack_bytes;
	uint32_t closes_unwaited; /* this and closes: see base/libraries.h */
	hs_closes closes;
	union {
		uint64_t file_offset; /* of a map hint */
		uint64_t time_ns;     /* of an allocation, hs_recorder.stream: see there */
		uint64_t walked;      /* of others: so many frames were walked in place */
	};
	/*
	 * Of the call site.  If frames were walked they are here, and the registers, of the frame
	 * that comes next, and its stack are behind them: hs_record_unwalked().
	 */
	struct hs_regs regs;
	unsigned char stack[]; /* stack_bytes bytes, from regs.sp upwards */
};

/* An allocation's cookie.  0, if its writer did not get so far, has the slot HS_SLOT_NONE. */
static inline uint64_t hs_record_cookie(uint32_t slot, uint32_t generation)
{
	return ((uint64_t)slot + 1) << 32 | generation;
}

static inline uint32_t hs_record_cookie_slot(uint64_t cookie)
{
	return (uint32_t)(cookie >> 32) - 1;
}

static inline uint32_t hs_record_cookie_generation(uint64_t cookie)
{
	return (uint32_t)cookie;
}

/* The frames that were walked in place. */
static inline struct hs_frame *hs_record_frames(const struct hs_record *record)
{
	return (struct hs_frame *)(uintptr_t)&record->regs;
}

/* The registers of what was not walked, unless HS_RECORD_WALKED; the stack is behind them. */
static inline struct hs_regs *hs_record_unwalked(const struct hs_record *record)
{
	return (struct hs_regs *)(void *)(hs_record_frames(record) + record->walked);
}

/* The size of a record with room for so many frames; never less than one with registers only. */
static inline size_t hs_record_walked_bytes(size_t frames)
{
	size_t bytes = offsetof(struct hs_record, regs) + frames * sizeof(struct hs_frame);

	return bytes < sizeof(struct hs_record) ? sizeof(struct hs_record) : bytes;
}

_Static_assert(sizeof(struct hs_record) % 16 == 0 && sizeof(struct hs_frame) % 16 == 0,
	       "the stack copy is 16-byte aligned");

#endif
