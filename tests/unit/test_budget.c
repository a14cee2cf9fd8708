/* SPDX-License-Identifier: BSD-2-Clause */
/* The interval follows the memory in use: when it goes up, and that it comes back. */
#include "session/budget.h"

#include "check.h"

#define MIB ((size_t)1 << 20)
#define ASKED 16u

static struct hs_budget_state state;
static struct hs_budget_view view;

static void start(void)
{
	state = (struct hs_budget_state){0};
	view = (struct hs_budget_view){
		.now_ns = 1000000000000u,
		.budget_bytes = 64 * MIB,
		.slots_most = 1000000,
		.interval = ASKED,
		.asked = ASKED,
		.most = 4096,
	};
}

/* 20 ms. */
static void pass_one(void)
{
	view.now_ns += 20000000u;
	view.interval = hs_budget_interval(&state, &view);
}

static void pass(unsigned seconds)
{
	for (unsigned i = 0; i < 50 * seconds; i++)
		pass_one();
}

static void use(size_t used_bytes, uint32_t slots_used)
{
	view.used_bytes = used_bytes;
	view.slots_used = slots_used;
}

static void nothing_happens_below_the_mark(void)
{
	start();
	use(48 * MIB, 100000);
	pass(10);
	CHECK_INT(view.interval, ASKED);
}

static void what_does_not_grow_raises_once(void)
{
	start();
	use(50 * MIB, 100000);
	pass(100);
	CHECK_INT(view.interval, 2 * ASKED);
	use(52 * MIB - 1, 100000);
	pass(10);
	CHECK_INT(view.interval, 2 * ASKED);
	use(52 * MIB, 100000);
	pass(10);
	CHECK_INT(view.interval, 4 * ASKED);
}

/* A table that cannot grow leaves much memory unused, and loses samples: that raises only once. */
static void losses_raise_before_the_mark(void)
{
	start();
	use(20 * MIB, 100000);
	pass(1);
	CHECK_INT(view.interval, ASKED);
	for (int i = 0; i < 10; i++) {
		view.losses += 1000;
		pass_one();
	}
	CHECK_INT(view.interval, 2 * ASKED);
}

static void expect_with_slots(uint32_t used, uint64_t interval)
{
	use(MIB, used);
	pass(10);
	CHECK_INT(view.interval, interval);
}

/* Slots may run out before memory does. */
static void slots_count_as_memory(void)
{
	start();
	expect_with_slots(750000, ASKED);
	expect_with_slots(750001, 2 * ASKED);
	expect_with_slots(781251, 4 * ASKED);
	expect_with_slots(500000, 4 * ASKED);
	expect_with_slots(499999, ASKED);
	expect_with_slots(750001, 2 * ASKED);
}

/* Samples that find no slot are lost until there are fewer than slots that become free. */
static void a_full_live_set_raises_while_samples_are_lost(void)
{
	start();
	use(40 * MIB, 300000);
	/* Not if it could grow, late. */
	for (int i = 0; i < 250; i++) {
		view.slotless += 10;
		pass_one();
	}
	CHECK_INT(view.interval, ASKED);
	view.is_live_set_short = true;
	for (int i = 0; i < 250; i++) {
		view.slotless += 10;
		pass_one();
	}
	CHECK_INT(view.interval, 32 * ASKED);
	pass(1);
	CHECK_INT(view.interval, 32 * ASKED);
	use(40 * MIB, 1000);
	pass(10);
	CHECK_INT(view.interval, ASKED);
}

/* Slots stay in the arena when their samples are freed: it must count that they are empty. */
static void an_empty_live_set_brings_it_back(void)
{
	start();
	for (size_t used = 49; used <= 63; used += 2) {
		use(used * MIB, 400000);
		pass(1);
	}
	CHECK_INT(view.interval, 256 * ASKED);
	use(63 * MIB, 300000);
	pass(10);
	CHECK_INT(view.interval, 256 * ASKED);
	use(63 * MIB, 1000);
	pass(4);
	CHECK_INT(view.interval, 16 * ASKED);
	pass(100);
	CHECK_INT(view.interval, ASKED);
}

/* Slots that have never had a sample use hardly any memory, so they do not count as room. */
static void less_memory_brings_it_back(void)
{
	start();
	use(50 * MIB, 0);
	pass(1);
	use(32 * MIB, 0);
	pass(10);
	CHECK_INT(view.interval, 2 * ASKED);
	use(32 * MIB - 1, 0);
	pass(10);
	CHECK_INT(view.interval, ASKED);
	use(50 * MIB, 0);
	pass(10);
	CHECK_INT(view.interval, 2 * ASKED);
}

/* Samples lack room for their stacks: the interval is higher meanwhile and a while longer. */
static void a_full_ring_raises(void)
{
	start();
	use(MIB, 0);
	for (int i = 0; i < 3; i++) {
		view.refusals += 5;
		view.now_ns += 20000000u;
		view.interval = hs_budget_interval(&state, &view);
	}
	CHECK_INT(view.interval, 8 * ASKED);
	view.now_ns += 500000000u;
	CHECK_INT(hs_budget_interval(&state, &view), 8 * ASKED);
	pass(1);
	CHECK_INT(view.interval, 4 * ASKED);
	pass(10);
	CHECK_INT(view.interval, ASKED);
}

/* Rises after each second over the limit; comes back only below half of the limit. */
static void processor_time_raises(void)
{
	start();
	use(MIB, 0);
	for (int i = 0; i < 3; i++) {
		view.cpu_overs++;
		view.is_cpu_near = true;
		pass(1);
	}
	CHECK_INT(view.interval, 8 * ASKED);
	pass(10);
	CHECK_INT(view.interval, 8 * ASKED);
	view.is_cpu_near = false;
	pass(1);
	CHECK_INT(view.interval, 4 * ASKED);
	pass(10);
	CHECK_INT(view.interval, ASKED);
}

static void it_goes_no_higher_than_allowed(void)
{
	start();
	view.most = 3 * ASKED;
	for (int i = 0; i < 20; i++) {
		view.refusals++;
		pass(1);
		view.interval = hs_budget_interval(&state, &view);
	}
	CHECK_INT(view.interval, 3 * ASKED);
	pass(10);
	CHECK_INT(view.interval, ASKED);
	start();
	view.most = ASKED;
	view.refusals = 1;
	use(63 * MIB, 100000);
	pass(10);
	CHECK_INT(view.interval, ASKED);
}

int main(void)
{
	RUN(nothing_happens_below_the_mark);
	RUN(what_does_not_grow_raises_once);
	RUN(losses_raise_before_the_mark);
	RUN(slots_count_as_memory);
	RUN(a_full_live_set_raises_while_samples_are_lost);
	RUN(an_empty_live_set_brings_it_back);
	RUN(less_memory_brings_it_back);
	RUN(a_full_ring_raises);
	RUN(processor_time_raises);
	RUN(it_goes_no_higher_than_allowed);
	return CHECK_RESULT();
}
