/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long the worker naps between two looks at the ring while samples come.
 *
 * When the worker runs it displaces the program's data from the caches of a processor, and perhaps
 * a thread of the program from it: looks should be few.  But records that have waited long are not
 * in the caches any more either.  So a nap lasts until about HS_NAP_RECORDS have come, within
 * bounds.
 *
 * Threads: the worker.  No allocation, no wait, no system call.
 */
#ifndef HS_SESSION_WORKER_NAP_H
#define HS_SESSION_WORKER_NAP_H

#include <stdint.h>

#define HS_NAP_RECORDS 1000u
#define HS_NAP_LEAST_NS 10000000
#define HS_NAP_MOST_NS 100000000

/* When the last nap began, or a sleep ended, and the ring's head ticket then. */
struct hs_worker_nap {
	uint64_t since_ns;
	uint32_t ticket;
};

/* The worker has slept, and was woken by the record of this ticket: counting begins with it. */
void hs_worker_nap_begin(struct hs_worker_nap *nap, uint64_t now_ns, uint32_t ticket);

/*
 * A nap begins; ticket: the ring's head.  Returns how long it should last at most, by how fast
 * records came since the last one.
 */
int64_t hs_worker_nap_ns(struct hs_worker_nap *nap, uint64_t now_ns, uint32_t ticket);

#endif
