/* SPDX-License-Identifier: BSD-2-Clause */
/* Frees that wait for their turn.  See waiting_frees.h. */
#include "profile/waiting_frees.h"

#include "sample/live_set.h"

static uint32_t *list_of(struct hs_waiting_frees *frees, uint64_t span)
{
	return &frees->lists[span % HS_WAITING_LISTS];
}

void hs_waiting_frees_init(struct hs_waiting_frees *frees)
{
	*frees = (struct hs_waiting_frees){.looked_at = HS_SLOT_NONE};
	for (int i = 0; i < HS_WAITING_LISTS; i++)
		frees->lists[i] = HS_SLOT_NONE;
}

static void put_back(struct hs_waiting_frees *frees, uint32_t slot)
{
	uint32_t *list = list_of(frees, hs_live_set_free_sequence(slot) / HS_WAITING_SPAN);

	hs_live_set_link(slot, *list);
	*list = slot;
}

void hs_waiting_frees_add(struct hs_waiting_frees *frees, uint32_t slot)
{
	frees->count++;
	put_back(frees, slot);
}

uint32_t hs_waiting_frees_take(struct hs_waiting_frees *frees, uint64_t next)
{
	uint64_t last_due = next / HS_WAITING_SPAN + 1;

	/* Each list is looked through once at most. */
	if (last_due - frees->next_span >= HS_WAITING_LISTS && last_due > frees->next_span)
		frees->next_span = last_due + 1 - HS_WAITING_LISTS;
	for (;;) {
		while (frees->looked_at != HS_SLOT_NONE) {
			uint32_t slot = frees->looked_at;

			frees->looked_at = hs_live_set_linked(slot);
			if (hs_waiting_frees_is_due(hs_live_set_free_sequence(slot), next)) {
				frees->count--;
				return slot;
			}
			/* Of a later span that has the same list. */
			put_back(frees, slot);
		}
		if (frees->next_span > last_due)
			return HS_SLOT_NONE;
		frees->looked_at = *list_of(frees, frees->next_span);
		*list_of(frees, frees->next_span) = HS_SLOT_NONE;
		frees->next_span++;
	}
}

/* The lowest of a number (0: none) and those of a list's slots. */
static uint64_t lowest_of(uint64_t lowest, uint32_t slot)
{
	for (; slot != HS_SLOT_NONE; slot = hs_live_set_linked(slot)) {
		uint64_t number = hs_live_set_free_sequence(slot);

		if (lowest == 0 || number < lowest)
			lowest = number;
	}
	return lowest;
}

uint64_t hs_waiting_frees_first(const struct hs_waiting_frees *frees)
{
	uint64_t lowest = 0;

	for (uint64_t i = 0; i < HS_WAITING_LISTS && frees->count > 0; i++) {
		uint64_t span = frees->next_span + i;

		lowest = lowest_of(lowest, frees->lists[span % HS_WAITING_LISTS]);
		if (lowest != 0 && lowest / HS_WAITING_SPAN <= span)
			break;
	}
	return lowest;
}
