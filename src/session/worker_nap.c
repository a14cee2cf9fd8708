/* SPDX-License-Identifier: BSD-2-Clause */
/* The length of the worker's naps.  See worker_nap.h. */
#include "session/worker_nap.h"

void hs_worker_nap_begin(struct hs_worker_nap *nap, uint64_t now_ns, uint32_t ticket)
{
	*nap = (struct hs_worker_nap){.since_ns = now_ns, .ticket = ticket};
}

int64_t hs_worker_nap_ns(struct hs_worker_nap *nap, uint64_t now_ns, uint32_t ticket)
{
	/* Tickets wrap.  0: the records that were read since had come before. */
	uint32_t came = ticket - nap->ticket;
	uint64_t passed_ns = now_ns - nap->since_ns, ns;

	hs_worker_nap_begin(nap, now_ns, ticket);
	/* Too few to wake for; and with longer times the product below could overflow. */
	if (came == 0 || passed_ns / came >= HS_NAP_MOST_NS / HS_NAP_RECORDS)
		return HS_NAP_MOST_NS;
	ns = passed_ns * HS_NAP_RECORDS / came;
	return ns > HS_NAP_LEAST_NS ? (int64_t)ns : HS_NAP_LEAST_NS;
}
