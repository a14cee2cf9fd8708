/* SPDX-License-Identifier: BSD-2-Clause */
/* The window of events that wait for their turn.  See commit_order.h. */
#include "profile/commit_order.h"

#include <errno.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/sys.h"

static struct hs_heap_event *place(const struct hs_commit_order *order, uint64_t number)
{
	return &order->window[number & (order->capacity - 1)];
}

int hs_commit_order_init(struct hs_commit_order *order)
{
	*order = (struct hs_commit_order){.next = 1, .capacity = HS_COMMIT_WINDOW_MIN};
	order->window = hs_arena_zalloc(HS_COMMIT_WINDOW_MIN * sizeof *order->window);
	order->given_up = hs_arena_zalloc(HS_COMMIT_GIVEN_UP * sizeof *order->given_up);
	return order->window == NULL || order->given_up == NULL ? -ENOMEM : 0;
}

void hs_commit_order_fini(struct hs_commit_order *order)
{
	hs_arena_free(order->window);
	hs_arena_free(order->given_up);
	*order = (struct hs_commit_order){ 0 };
}

static void note_given_up(struct hs_commit_order *order, uint64_t from, uint64_t to)
{
	struct hs_number_range *place = &order->given_up[order->given_up_next];

	if (from == to)
		return;
	if (place->from != place->to && place->to > order->forgotten)
		order->forgotten = place->to;
	*place = (struct hs_number_range){ from, to };
	order->given_up_next = (order->given_up_next + 1) % HS_COMMIT_GIVEN_UP;
}

/* Whether the number was given up, as far as is known.  It does not count as given up any more. */
static bool take_given_up(struct hs_commit_order *order, uint64_t number)
{
	for (uint32_t i = 0; i < HS_COMMIT_GIVEN_UP; i++) {
		struct hs_number_range *range = &order->given_up[i];
		uint64_t to = range->to;

		if (number < range->from || number >= to)
			continue;
		range->to = number;
		note_given_up(order, number + 1, to);
		return true;
	}
	return number < order->forgotten;
}

/* Makes room for a number, which is not late. */
static bool grow_for(struct hs_commit_order *order, uint64_t number)
{
	struct hs_commit_order larger = *order;

	if (number - order->next >= HS_COMMIT_WINDOW_MAX)
		return false;
	while (number - order->next >= larger.capacity)
		larger.capacity *= 2;
	larger.window = hs_arena_zalloc((size_t)larger.capacity * sizeof *larger.window);
	if (larger.window == NULL)
		return false;
	hs_sys_touch(larger.window, (size_t)larger.capacity * sizeof *larger.window);
	for (uint64_t i = order->next; i - order->next < order->capacity; i++)
		*place(&larger, i) = *place(order, i);
	hs_arena_free(order->window);
	*order = larger;
	return true;
}

enum hs_arrival hs_commit_order_put(struct hs_commit_order *order, uint64_t number,
				    const struct hs_heap_event *event)
{
	if (number < order->next)
		return take_given_up(order, number) ? HS_ARRIVAL_LATE : HS_ARRIVAL_DUPLICATE;
	if (number - order->next >= order->capacity && !grow_for(order, number))
		return HS_ARRIVAL_NO_ROOM;
	if (place(order, number)->kind != HS_HEAP_EVENT_NONE)
		return HS_ARRIVAL_DUPLICATE;
	*place(order, number) = *event;
	order->waiting++;
	return HS_ARRIVAL_KEPT;
}

bool hs_commit_order_take(struct hs_commit_order *order, struct hs_heap_event *event)
{
	struct hs_heap_event *next = place(order, order->next);

	if (next->kind == HS_HEAP_EVENT_NONE)
		return false;
	*event = *next;
	next->kind = HS_HEAP_EVENT_NONE;
	order->next++;
	order->waiting--;
	return true;
}

void hs_commit_order_pass(struct hs_commit_order *order)
{
	order->next++;
}

uint64_t hs_commit_order_first(const struct hs_commit_order *order)
{
	uint64_t number = order->next;

	if (order->waiting == 0)
		return 0;
	while (place(order, number)->kind == HS_HEAP_EVENT_NONE)
		number++;
	return number;
}

uint64_t hs_commit_order_skip_to(struct hs_commit_order *order, uint64_t number)
{
	uint64_t skipped = number - order->next;

	note_given_up(order, order->next, number);
	order->next = number;
	return skipped;
}

void hs_commit_order_trim(struct hs_commit_order *order)
{
	struct hs_heap_event *smaller;

	if (order->waiting > 0 || order->capacity == HS_COMMIT_WINDOW_MIN)
		return;
	/* All its places are empty. */
	smaller = hs_arena_realloc(order->window, HS_COMMIT_WINDOW_MIN * sizeof *smaller);
	if (smaller == NULL)
		return;
	order->window = smaller;
	order->capacity = HS_COMMIT_WINDOW_MIN;
}
