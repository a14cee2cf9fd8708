/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one order of events.
 *
 * Written by: any thread, which takes a number.  Read by: worker, producer.
 */
#ifndef HS_SAMPLE_SEQUENCE_H
#define HS_SAMPLE_SEQUENCE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/hidden.h"

/*
 * The number of the next event.  Starts at 1.  Each is delivered by one record or slot.  Alone in
 * its cache line: every event writes it, and the profiler's threads read it.
 */
struct hs_sequence {
	_Alignas(64) _Atomic uint64_t next;
};
extern HS_HIDDEN struct hs_sequence hs_sequence;

#endif
