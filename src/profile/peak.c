/* SPDX-License-Identifier: BSD-2-Clause */
/* The books at the peak.  See peak.h. */
#include "profile/peak.h"

#include <string.h>

#include "base/arena.h"
#include "profile/heap_tracker.h"

#define FIRST_CAPACITY 256u

void hs_peak_fini(struct hs_peak *peak)
{
	hs_arena_free(peak->rows);
	hs_arena_free(peak->changed);
	*peak = (struct hs_peak){0};
}

/* Memory ran out: it would not be the peak any more. */
static void give_up(struct hs_peak *peak)
{
	hs_peak_fini(peak);
	peak->is_spoiled = true;
}

/* Makes *array, a pointer to `from` elements, one to `to`; new ones are zero.  False: no memory. */
static bool grow(void *array, size_t element, uint32_t from, uint32_t to)
{
	void *old, *larger;

	memcpy(&old, array, sizeof old);
	larger = hs_arena_realloc(old, to * element);
	if (larger == NULL)
		return false;
	memset((char *)larger + from * element, 0, (to - from) * element);
	memcpy(array, &larger, sizeof larger);
	return true;
}

static bool make_room(struct hs_peak *peak, uint32_t row)
{
	uint32_t capacity = peak->capacity == 0 ? FIRST_CAPACITY : peak->capacity;

	if (row < peak->capacity)
		return true;
	while (capacity <= row)
		capacity *= 2;
	if (!grow(&peak->rows, sizeof *peak->rows, peak->capacity, capacity) ||
	    !grow(&peak->changed, sizeof *peak->changed, peak->capacity, capacity))
		return false;
	peak->capacity = capacity;
	return true;
}

void hs_peak_note(struct hs_peak *peak, uint32_t heap, uint32_t row)
{
	uint32_t first;

	if (peak->is_spoiled)
		return;
	if (!make_room(peak, row)) {
		give_up(peak);
		return;
	}
	if (peak->changed[row].next != 0)
		return;
	first = peak->heaps[heap].changed;
	if (first != 0)
		peak->changed[first - 1].previous = row + 1;
	peak->changed[row].next = first + 1;
	peak->heaps[heap].changed = row + 1;
}

void hs_peak_forget(struct hs_peak *peak, uint32_t heap, uint32_t row)
{
	struct hs_peak_link *link;

	if (row >= peak->capacity)
		return;
	peak->rows[row] = (struct hs_row_totals){{0}, {0}};
	link = &peak->changed[row];
	if (link->next == 0)
		return;
	if (link->next > 1)
		peak->changed[link->next - 2].previous = link->previous;
	if (link->previous != 0)
		peak->changed[link->previous - 1].next = link->next;
	else
		peak->heaps[heap].changed = link->next - 1;
	*link = (struct hs_peak_link){0};
}

void hs_peak_follow(struct hs_peak *peak, uint32_t heap, unsigned __int128 in_use, uint64_t now_ns,
		    const struct hs_interner *rows)
{
	struct hs_heap_peak *kept = &peak->heaps[heap];

	if (in_use <= kept->bytes || peak->is_spoiled)
		return;
	while (kept->changed != 0) {
		uint32_t number = kept->changed - 1;
		const struct hs_row *row = hs_interner_item(rows, number);

		peak->rows[number] = row->totals;
		kept->changed = peak->changed[number].next - 1;
		peak->changed[number] = (struct hs_peak_link){0};
	}
	kept->bytes = in_use;
	kept->time_ns = now_ns;
}

const struct hs_row_totals *hs_peak_row(const struct hs_peak *peak, uint32_t row)
{
	if (row >= peak->capacity || peak->rows[row].allocated.objects == 0)
		return NULL;
	return &peak->rows[row];
}
