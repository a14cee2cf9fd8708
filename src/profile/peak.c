/* SPDX-License-Identifier: BSD-2-Clause */
/* The highest memory in use.  Runs on the producer. */
#include "profile/peak.h"

#include <string.h>

#include "base/arena.h"

#define FIRST_CAPACITY 256u

void hs_peak_fini(struct hs_peak *peak)
{
	hs_arena_free(peak->rows);
	hs_arena_free(peak->changed);
	hs_arena_free(peak->is_changed);
	*peak = (struct hs_peak){0};
}

/* Make an array of `from` elements one of `to`, the new ones zero.  Whether there was memory. */
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
	    !grow(&peak->changed, sizeof *peak->changed, peak->capacity, capacity) ||
	    !grow(&peak->is_changed, sizeof *peak->is_changed, peak->capacity, capacity))
		return false;
	peak->capacity = capacity;
	return true;
}

void hs_peak_note(struct hs_peak *peak, uint32_t row)
{
	if (peak->is_spoiled)
		return;
	if (!make_room(peak, row)) {
		peak->is_spoiled = true;
		return;
	}
	if (peak->is_changed[row])
		return;
	peak->is_changed[row] = true;
	peak->changed[peak->changed_count++] = row;
}

void hs_peak_follow(struct hs_peak *peak, unsigned __int128 in_use, uint64_t now_ns,
		    void (*read)(const void *context, uint32_t row, struct hs_row_totals *out),
		    const void *context)
{
	if (in_use <= peak->bytes || peak->is_spoiled)
		return;
	for (uint32_t i = 0; i < peak->changed_count; i++) {
		uint32_t row = peak->changed[i];

		read(context, row, &peak->rows[row]);
		peak->is_changed[row] = false;
		if (row >= peak->row_count)
			peak->row_count = row + 1;
	}
	peak->changed_count = 0;
	peak->bytes = in_use;
	peak->time_ns = now_ns;
}

const struct hs_row_totals *hs_peak_row(const struct hs_peak *peak, uint32_t row)
{
	if (row >= peak->row_count || peak->rows[row].allocated.objects == 0)
		return NULL;
	return &peak->rows[row];
}
