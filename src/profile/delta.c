/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles of differences.  See delta.h. */
#include "profile/delta.h"

#include <string.h>

#include "base/arena.h"
#include "sample/sampler.h"

#define ONE ((int64_t)HS_WEIGHT_ONE)

void hs_delta_fini(struct hs_delta *delta)
{
	hs_arena_free(delta->base);
	hs_arena_free(delta->pending);
	*delta = (struct hs_delta){0};
}

/* capacity: at least base_count.  False: no memory, and nothing is changed. */
static bool resize_base(struct hs_delta *delta, uint32_t capacity)
{
	struct hs_shown *base = hs_arena_realloc(delta->base, capacity * sizeof *base);

	if (base == NULL)
		return false;
	delta->base = base;
	delta->base_capacity = capacity;
	return true;
}

/* Makes bases for the rows below count.  capacity: of the table of rows. */
static bool grow_base(struct hs_delta *delta, uint32_t count, uint32_t capacity)
{
	if (count > delta->base_capacity && !resize_base(delta, capacity))
		return false;
	if (count > delta->base_count) {
		memset(delta->base + delta->base_count, 0,
		       (count - delta->base_count) * sizeof *delta->base);
		delta->base_count = count;
	}
	return true;
}

uint32_t hs_delta_rows(const struct hs_delta *delta, const struct hs_interner *rows)
{
	bool is_limited = delta->most_rows != 0 && delta->most_rows < rows->used;

	return is_limited ? delta->most_rows : rows->used;
}

bool hs_delta_begin(struct hs_delta *delta, const struct hs_interner *rows)
{
	uint32_t most = hs_delta_rows(delta, rows);

	if (!grow_base(delta, rows->count, rows->capacity))
		return false;
	delta->is_partial = false;
	delta->pending_room = most;
	delta->pending = hs_arena_alloc(((size_t)most + 1) * sizeof *delta->pending);
	memcpy(delta->lost_pending, delta->lost_base, sizeof delta->lost_pending);
	memcpy(delta->carry_pending, delta->carry, sizeof delta->carry_pending);
	return delta->pending != NULL;
}

/* What the base of a row will be once these values of it are written. */
static struct hs_shown base_after(const struct hs_delta *delta,
				  const int64_t values[HS_VIEW_VALUES])
{
	size_t count = delta->kind == HS_DELTA_ALLOC ? 2 : HS_VIEW_VALUES;
	struct hs_shown base = {{0}};

	memcpy(base.values, values, count * sizeof values[0]);
	return base;
}

static bool subtract(int64_t values[HS_VIEW_VALUES], const struct hs_shown *base)
{
	bool any = false;

	for (int i = 0; i < HS_VIEW_VALUES; i++) {
		values[i] -= base->values[i];
		any = any || values[i] != 0;
	}
	return any;
}

/* Gives a row one more, or one less, of what rounding has left of dropped rows of its heap. */
static void carry_over(int64_t carry[2], int64_t values[HS_VIEW_VALUES])
{
	for (int i = 0; i < 2; i++) {
		int64_t one = carry[i] >= ONE ? 1 : carry[i] <= -ONE ? -1 : 0;

		/* A 0 stays 0, and nothing becomes 0. */
		if (values[i] > 0 && values[i] + one > 0) {
			values[i] += one;
			carry[i] -= one * ONE;
		}
	}
}

bool hs_delta_subtract(struct hs_delta *delta, uint32_t row, uint32_t heap,
		       int64_t values[HS_VIEW_VALUES])
{
	struct hs_shown_row *pending = &delta->pending[delta->pending_count];

	pending->row = row;
	pending->shown = base_after(delta, values);
	if (!subtract(values, &delta->base[row]))
		return false;
	if (delta->pending_count == delta->pending_room) {
		delta->is_partial = true;
		return false;
	}
	delta->pending_count++;
	if (delta->base[row].values[0] == 0)
		carry_over(delta->carry_pending[heap], values);
	return true;
}

bool hs_delta_subtract_lost(struct hs_delta *delta, uint32_t heap, int64_t values[HS_VIEW_VALUES])
{
	delta->lost_pending[heap] = base_after(delta, values);
	return subtract(values, &delta->lost_base[heap]);
}

void hs_delta_add_dropped(const struct hs_delta *delta, struct hs_view_heap *heaps)
{
	for (uint32_t heap = 0; heap < HS_HEAP_LIMIT; heap++) {
		for (int i = 0; i < 2; i++)
			hs_view_add(&heaps[heap].sums[i],
				    hs_weight_round(delta->dropped[heap][i]));
	}
}

void hs_delta_written(struct hs_delta *delta)
{
	for (uint32_t i = 0; i < delta->pending_count; i++)
		delta->base[delta->pending[i].row] = delta->pending[i].shown;
	memcpy(delta->lost_base, delta->lost_pending, sizeof delta->lost_base);
	memcpy(delta->carry, delta->carry_pending, sizeof delta->carry);
}

void hs_delta_end(struct hs_delta *delta)
{
	hs_arena_free(delta->pending);
	delta->pending = NULL;
	delta->pending_count = 0;
}

void hs_delta_trim(struct hs_delta *delta, const struct hs_interner *rows)
{
	if (delta->base_count > rows->count)
		delta->base_count = rows->count;
	if (delta->base_capacity > rows->capacity)
		resize_base(delta, rows->capacity); /* without memory it stays as it is */
}
