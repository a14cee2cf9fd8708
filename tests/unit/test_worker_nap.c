/* SPDX-License-Identifier: BSD-2-Clause */
/* How long the worker naps depends on how fast records come. */
#include "session/worker_nap.h"

#include "check.h"

#define SECOND UINT64_C(1000000000)
#define FIRST_TICKET (UINT32_MAX - 5) /* they wrap */

/* The nap after so many records in so much time since the last nap. */
static int64_t nap_after(uint64_t passed_ns, uint32_t records)
{
	struct hs_worker_nap nap;

	hs_worker_nap_begin(&nap, 7 * SECOND, FIRST_TICKET);
	return hs_worker_nap_ns(&nap, 7 * SECOND + passed_ns, FIRST_TICKET + records);
}

static void test_by_rate(void)
{
	CHECK_INT(nap_after(SECOND, 40000), 25000000);
	CHECK_INT(nap_after(SECOND / 100, 400), 25000000);
	/* The longest nap in which at most 1,000 come. */
	CHECK_INT(nap_after(SECOND / 20, 1000), 50000000);
}

static void test_bounds(void)
{
	CHECK_INT(nap_after(SECOND, 10000), HS_NAP_MOST_NS);
	CHECK_INT(nap_after(SECOND + 9000, 10000), HS_NAP_MOST_NS);
	CHECK_INT(nap_after(SECOND, 1), HS_NAP_MOST_NS);
	CHECK_INT(nap_after(1000 * 86400 * SECOND, 1), HS_NAP_MOST_NS);
	CHECK_INT(nap_after(SECOND, 1000000), HS_NAP_LEAST_NS);
	CHECK_INT(nap_after(1, UINT32_MAX), HS_NAP_LEAST_NS);
	CHECK_INT(nap_after(0, 1), HS_NAP_LEAST_NS);
	/* All records that were read had come before. */
	CHECK_INT(nap_after(SECOND, 0), HS_NAP_MOST_NS);
	CHECK_INT(nap_after(0, 0), HS_NAP_MOST_NS);
}

/* Each nap counts from the one before, however that has ended. */
static void test_one_after_the_other(void)
{
	struct hs_worker_nap nap;

	hs_worker_nap_begin(&nap, SECOND, 0);
	CHECK_INT(hs_worker_nap_ns(&nap, 2 * SECOND, 3), HS_NAP_MOST_NS);
	/* Woken early: the ring filled up. */
	CHECK_INT(hs_worker_nap_ns(&nap, 2 * SECOND + 4000000, 3 + 200), 20000000);
	CHECK_INT(hs_worker_nap_ns(&nap, 2 * SECOND + 24000000, 203 + 1000), 20000000);
	CHECK_INT(hs_worker_nap_ns(&nap, 3 * SECOND, 1203 + 1), HS_NAP_MOST_NS);
}

int main(void)
{
	RUN(test_by_rate);
	RUN(test_bounds);
	RUN(test_one_after_the_other);
	return CHECK_RESULT();
}
