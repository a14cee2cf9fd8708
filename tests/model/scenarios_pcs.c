/* SPDX-License-Identifier: BSD-2-Clause */
/* The cache of known pcs: while the worker writes, threads find an entry as it is, or none. */
#include <stdatomic.h>

#include "base/libraries.h"
#include "model.h"
#include "sample/known_pcs.h"

/* All pcs of these scenarios are in one set: of two, by their hashes' highest bits. */
#define SETS_LG 1
#define PC UINT64_C(4)

static _Alignas(64) struct hs_known_pc sets[HS_KNOWN_PCS_WAYS << SETS_LG];
static struct hs_known_pcs pcs;

/* The n-th pc after PC that belongs to its set. */
static uint64_t pc_beside(unsigned n)
{
	uint64_t pc = PC;

	for (; n > 0; n--) {
		do
			pc++;
		while (((pc + 1) * HS_HASH_FACTOR ^ (PC + 1) * HS_HASH_FACTOR) >> 63 != 0);
	}
	return pc;
}

/* In every word of it there is something to tell it by. */
static void add(uint64_t pc, uint8_t mark)
{
	hs_known_pcs_add(&pcs, &(struct hs_pc){.pc = pc,
					       .mapping = mark,
					       .is_call = true,
					       .is_own = mark == 2,
					       .row = {.cfa_offset = mark, .saved = {mark}}});
}

static void setup(void)
{
	pcs = (struct hs_known_pcs){
		.table = (uintptr_t)sets | (64 - SETS_LG),
		.next_stamp = 1,
		.oldest = 1,
		.valid = UINT64_MAX,
	};
	for (unsigned n = 0; n < HS_KNOWN_PCS_WAYS; n++)
		add(pc_beside(n), 1);
}

/* Returns the mark of the entry of PC; 0: there is none. */
static unsigned find(void)
{
	struct hs_pc found;

	if (!hs_known_pcs_find(&pcs, PC, true, &found))
		return 0;
	MODEL_CHECK(found.pc == PC && found.is_call && (found.mapping == 1 || found.mapping == 2));
	MODEL_CHECK(found.row.cfa_offset == (int32_t)found.mapping &&
		    found.row.saved[0] == found.mapping && found.is_own == (found.mapping == 2));
	return found.mapping;
}

/* The code has changed: the entry gives its place to another one of the same pc. */

static void drop_and_add(void)
{
	hs_known_pcs_drop(&pcs);
	add(PC, 2);
	hs_known_pcs_vouch(&pcs, hs_closes_over(hs_closes_now()), 0);
}

static void find_twice(void)
{
	bool holds = hs_known_pcs_hold(&pcs);
	unsigned first = find(), second = find();

	MODEL_CHECK(!holds || first == 2);
	MODEL_CHECK(first != 2 || second == 2);
}

static void finish(void)
{
	MODEL_CHECK(find() == 2 && hs_known_pcs_hold(&pcs));
}

/* The table grows: what is known stays known. */

static void setup_to_grow(void)
{
	setup();
	pcs.next_stamp = 1000; /* there are many more in other sets */
}

static void add_one_more(void)
{
	add(pc_beside(HS_KNOWN_PCS_WAYS), 1);
}

static void find_known(void)
{
	MODEL_CHECK(find() == 1);
}

static void finish_grown(void)
{
	MODEL_CHECK((uintptr_t)hs_known_pcs_set(&pcs, PC, true) - (uintptr_t)sets >= sizeof sets);
	MODEL_CHECK(find() == 1);
}

const struct model_scenario model_pcs_scenarios[] = {
	{.name = "pcs-replaced",
	 .setup = setup,
	 .finish = finish,
	 .threads = {{.run = drop_and_add}, {.run = find_twice}},
	 .quick_bound = MODEL_COMPLETE,
	 .full_bound = MODEL_COMPLETE},
	{.name = "pcs-grow",
	 .setup = setup_to_grow,
	 .finish = finish_grown,
	 .threads = {{.run = add_one_more}, {.run = find_known}},
	 .quick_bound = 2,
	 .full_bound = 3},
	{.name = NULL},
};
