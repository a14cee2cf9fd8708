/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sequence numbers, which put all events (samples, frees) of all threads into one order.
 *
 * Written by: any thread, which takes a number.  Read by: worker, producer.
 */
#ifndef HS_SAMPLE_SEQUENCE_H
#define HS_SAMPLE_SEQUENCE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/alone.h"
#include "base/visibility.h"

/* The number of the next event.  Starts at 1.  Each number is in one record, slot or entry. */
struct hs_sequence {
	_Atomic uint64_t next;
};
extern HS_HIDDEN struct hs_sequence hs_sequence;

/*
 * Takes the next number.  Any thread.
 * Acquire-release: the order of numbers must be that of the real free and the next allocation of
 * the address.
 */
static inline uint64_t hs_sequence_take(void)
{
	return hs_alone_fetch_add(&hs_sequence.next, 1);
}

#endif
