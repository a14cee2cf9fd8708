/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Overlapping symbols made into disjoint ranges.  See symbol_list.h for the contract.
 *
 * Sorted such that of two symbols the later one is to be preferred wherever both
 * contain an address, the symbols are swept once with a stack of those still open:
 * its top names the address at hand.  The sort is a merge sort of our own: the C
 * library's may allocate, and can be interposed.
 */
#include "symbolize/symbol_list.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"

/* Below 0: a before b, which is preferred to a (or follows it). */
static int compare(const char *names, const struct hs_symbol *a, const struct hs_symbol *b)
{
	const char *a_name = names + a->name, *b_name = names + b->name;
	size_t a_length, b_length;
	int order;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if ((a_name[0] == '_') != (b_name[0] == '_'))
		return a_name[0] == '_' ? -1 : 1;
	a_length = strlen(a_name);
	b_length = strlen(b_name);
	if (a_length != b_length)
		return a_length > b_length ? -1 : 1;
	order = strcmp(b_name, a_name);
	if (order != 0)
		return order;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static void merge(const char *names, const struct hs_symbol *left, size_t left_count,
		  const struct hs_symbol *right, size_t right_count, struct hs_symbol *out)
{
	while (left_count > 0 && right_count > 0) {
		if (compare(names, left, right) <= 0) {
			*out++ = *left++;
			left_count--;
		} else {
			*out++ = *right++;
			right_count--;
		}
	}
	memcpy(out, left, left_count * sizeof *out);
	memcpy(out + left_count, right, right_count * sizeof *out);
}

static int sort(struct hs_symbol_list *list)
{
	struct hs_symbol *from = list->symbols, *to, *swap;
	size_t count = list->count, width, at;

	to = hs_arena_alloc(count * sizeof *to);
	if (to == NULL)
		return -ENOMEM;
	for (width = 1; width < count; width *= 2) {
		for (at = 0; at < count; at += 2 * width) {
			size_t left = count - at < width ? count - at : width;
			size_t right = count - at - left < width ? count - at - left : width;

			merge(list->names, from + at, left, from + at + left, right, to + at);
		}
		swap = from;
		from = to;
		to = swap;
	}
	hs_arena_free(to);
	list->symbols = from;
	list->capacity = count;
	return 0;
}

struct sweep {
	struct hs_symbol *open;   /* the stack, in the place of symbols swept already */
	size_t open_count;
	struct hs_symbol *ranges;
	size_t count;
	uint64_t address;         /* named up to here */
};

static uint64_t end_of(const struct hs_symbol *symbol)
{
	return symbol->value + symbol->bytes;
}

/*
 * Each range written ends where a symbol is taken from the stack, or at the next
 * symbol: at most two per symbol.
 */
static void sweep_to(struct sweep *sweep, uint64_t limit)
{
	while (sweep->open_count > 0 && sweep->address < limit) {
		const struct hs_symbol *top = &sweep->open[sweep->open_count - 1];
		uint64_t stop = end_of(top) < limit ? end_of(top) : limit;

		if (stop <= sweep->address) {
			sweep->open_count--;
			continue;
		}
		sweep->ranges[sweep->count++] = (struct hs_symbol){
			.value = sweep->address,
			.name = top->name,
			.bytes = (uint32_t)(stop - sweep->address) & HS_SYMBOL_MAX_BYTES,
		};
		sweep->address = stop;
	}
}

static void sweep_symbol(struct sweep *sweep, const struct hs_symbol *symbol)
{
	sweep_to(sweep, symbol->value);
	sweep->address = symbol->value;
	while (sweep->open_count > 0 &&
	       end_of(&sweep->open[sweep->open_count - 1]) <= symbol->value)
		sweep->open_count--;
	/* A symbol without size yields to one with a size. */
	if (symbol->rank < HS_SYMBOL_SIZED && sweep->open_count > 0 &&
	    sweep->open[sweep->open_count - 1].rank >= HS_SYMBOL_SIZED)
		return;
	sweep->open[sweep->open_count++] = *symbol;
}

static int make_disjoint(struct hs_symbol_list *list)
{
	struct sweep sweep = {.open = list->symbols};
	size_t i;

	sweep.ranges = hs_arena_alloc(2 * list->count * sizeof *sweep.ranges);
	if (sweep.ranges == NULL)
		return -ENOMEM;
	for (i = 0; i < list->count; i++) {
		/* A copy: the stack may come to lie over it. */
		struct hs_symbol symbol = list->symbols[i];

		sweep_symbol(&sweep, &symbol);
	}
	sweep_to(&sweep, UINT64_MAX);
	hs_arena_free(list->symbols);
	list->symbols = sweep.ranges;
	list->capacity = 2 * list->count;
	list->count = sweep.count;
	return 0;
}

static void shrink_symbols(struct hs_symbol_list *list)
{
	struct hs_symbol *symbols = hs_arena_alloc(list->count * sizeof *symbols);

	if (symbols == NULL)
		return;
	memcpy(symbols, list->symbols, list->count * sizeof *symbols);
	hs_arena_free(list->symbols);
	list->symbols = symbols;
	list->capacity = list->count;
}

/* Keeps the names in use only: those of data, hidden aliases and a second table go. */
static void shrink_names(struct hs_symbol_list *list)
{
	size_t bytes = 0, i;
	char *names;

	for (i = 0; i < list->count; i++)
		bytes += strlen(list->names + list->symbols[i].name) + 1;
	if (bytes >= list->names_bytes)
		return;
	names = hs_arena_alloc(bytes);
	if (names == NULL)
		return;
	bytes = 0;
	for (i = 0; i < list->count; i++) {
		const char *name = list->names + list->symbols[i].name;
		size_t length = strlen(name) + 1;

		memcpy(names + bytes, name, length);
		list->symbols[i].name = (uint32_t)bytes;
		bytes += length;
	}
	hs_arena_free(list->names);
	list->names = names;
	list->names_bytes = bytes;
	list->names_capacity = bytes;
}

int hs_symbol_list_resolve(struct hs_symbol_list *list)
{
	int result;

	if (list->count == 0) {
		hs_symbol_list_free(list);
		return 0;
	}
	result = sort(list);
	if (result == 0)
		result = make_disjoint(list);
	if (result < 0)
		return result;
	shrink_symbols(list);
	shrink_names(list);
	return 0;
}
