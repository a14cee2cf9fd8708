/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranges of addresses in a treap: a search tree by address that is at the same time
 * a heap by priority.  The priority is a hash of the node's index: such a tree has the
 * shape of one filled in random order, whatever the real order was, about
 * 2 ln n levels deep (Seidel and Aragon, Randomized Search Trees, 1996).
 */
#include "maps/address_range_map.h"

#include <errno.h>

#include "base/arena.h"

#define FIRST_CAPACITY 255

enum { BELOW, ABOVE };

/* A bijection (MurmurHash3's last step): no two nodes have the same priority. */
static uint32_t priority(uint32_t node)
{
	node = (node ^ node >> 16) * 0x85ebca6bu;
	node = (node ^ node >> 13) * 0xc2b2ae35u;
	return node ^ node >> 16;
}

void hs_address_range_map_fini(struct hs_address_range_map *map)
{
	hs_arena_free(map->nodes);
	*map = (struct hs_address_range_map){.nodes = NULL};
}

void hs_address_range_map_clear(struct hs_address_range_map *map)
{
	map->root = 0;
	map->free = 0;
	map->used = 0;
	map->count = 0;
}

/* Makes room for so many more ranges. */
static int reserve(struct hs_address_range_map *map, uint32_t count)
{
	struct hs_address_range_node *nodes;
	uint32_t capacity;

	if (map->capacity - map->count >= count)
		return 0;
	if (map->capacity > UINT32_MAX / 4)
		return -ENOMEM;
	capacity = map->capacity == 0 ? FIRST_CAPACITY : map->capacity * 2 + 1;
	nodes = hs_arena_realloc(map->nodes, ((size_t)capacity + 1) * sizeof *nodes);
	if (nodes == NULL)
		return -ENOMEM;
	map->nodes = nodes;
	map->capacity = capacity;
	return 0;
}

static uint32_t take_node(struct hs_address_range_map *map)
{
	uint32_t node = map->free;

	map->count++;
	if (node == 0)
		return ++map->used;
	map->free = map->nodes[node].child[BELOW];
	return node;
}

static void give_back(struct hs_address_range_map *map, uint32_t node)
{
	map->nodes[node].child[BELOW] = map->free;
	map->free = node;
	map->count--;
}

/* Splits a tree into the ranges that start below address and the others. */
static void split(struct hs_address_range_node *nodes, uint32_t tree, uint64_t address,
		  uint32_t *below, uint32_t *above)
{
	while (tree != 0) {
		struct hs_address_range_node *node = &nodes[tree];

		if (node->range.start < address) {
			*below = tree;
			below = &node->child[ABOVE];
			tree = *below;
		} else {
			*above = tree;
			above = &node->child[BELOW];
			tree = *above;
		}
	}
	*below = 0;
	*above = 0;
}

/* Joins two trees, all of below lying below all of above. */
static uint32_t join(struct hs_address_range_node *nodes, uint32_t below, uint32_t above)
{
	uint32_t root, *link = &root;

	while (below != 0 && above != 0) {
		if (priority(below) > priority(above)) {
			*link = below;
			link = &nodes[below].child[ABOVE];
			below = *link;
		} else {
			*link = above;
			link = &nodes[above].child[BELOW];
			above = *link;
		}
	}
	*link = below != 0 ? below : above;
	return root;
}

/* Adds a range that overlaps none.  There is a node for it. */
static void insert(struct hs_address_range_map *map, uint64_t start, uint64_t end, uint32_t value)
{
	uint32_t new = take_node(map);
	struct hs_address_range_node *nodes = map->nodes;
	uint32_t *link = &map->root;

	while (*link != 0 && priority(*link) > priority(new))
		link = &nodes[*link].child[start > nodes[*link].range.start ? ABOVE : BELOW];
	nodes[new].range = (struct hs_address_range){ start, end, value };
	split(nodes, *link, start, &nodes[new].child[BELOW], &nodes[new].child[ABOVE]);
	*link = new;
}

/* Takes the lowest node out of a tree.  A left spine is turned right once: O(1) on average. */
static uint32_t take_lowest(struct hs_address_range_node *nodes, uint32_t *tree)
{
	uint32_t top = *tree, below;

	while ((below = nodes[top].child[BELOW]) != 0) {
		nodes[top].child[BELOW] = nodes[below].child[ABOVE];
		nodes[below].child[ABOVE] = top;
		top = below;
	}
	*tree = nodes[top].child[ABOVE];
	return top;
}

/* Deletes the ranges that start in [start, end). */
static void delete_starts(struct hs_address_range_map *map, uint64_t start, uint64_t end,
			  hs_address_range_visit *deleted, void *context)
{
	uint32_t below, inside, above;

	split(map->nodes, map->root, start, &below, &inside);
	split(map->nodes, inside, end, &inside, &above);
	map->root = join(map->nodes, below, above);
	while (inside != 0) {
		uint32_t node = take_lowest(map->nodes, &inside);

		if (deleted != NULL)
			deleted(context, &map->nodes[node].range);
		give_back(map, node);
	}
}

const struct hs_address_range *hs_address_range_map_from(const struct hs_address_range_map *map,
							 uint64_t address)
{
	const struct hs_address_range *found = NULL;
	uint32_t next = map->root;

	while (next != 0) {
		const struct hs_address_range_node *node = &map->nodes[next];

		if (address < node->range.end)
			found = &node->range;
		next = node->child[address < node->range.end ? BELOW : ABOVE];
	}
	return found;
}

const struct hs_address_range *hs_address_range_map_find(const struct hs_address_range_map *map,
							 uint64_t address)
{
	const struct hs_address_range *range = hs_address_range_map_from(map, address);

	return range != NULL && range->start <= address ? range : NULL;
}

const struct hs_address_range *
hs_address_range_map_find_containing(const struct hs_address_range_map *map, uint64_t start,
				     uint64_t end)
{
	const struct hs_address_range *range = hs_address_range_map_find(map, start);

	return range != NULL && start < end && end <= range->end ? range : NULL;
}

/* The lowest range that overlaps [start, end), or NULL. */
static struct hs_address_range *first_overlap(const struct hs_address_range_map *map,
					      uint64_t start, uint64_t end)
{
	const struct hs_address_range *range = hs_address_range_map_from(map, start);

	if (range == NULL || start >= end || range->start >= end)
		return NULL;
	return (struct hs_address_range *)(uintptr_t)range;
}

/* Needs a node if a range encloses [start, end). */
static void trim(struct hs_address_range_map *map, uint64_t start, uint64_t end)
{
	struct hs_address_range *range = first_overlap(map, start, end);

	if (range != NULL && range->start < start) {
		struct hs_address_range whole = *range;

		range->end = start;
		if (end < whole.end) {
			insert(map, end, whole.end, whole.value);
			return;
		}
		range = first_overlap(map, start, end);
	}
	if (range == NULL)
		return;
	range = first_overlap(map, end - 1, end);
	if (range != NULL && end < range->end)
		range->start = end;
	delete_starts(map, start, end, NULL, NULL);
}

int hs_address_range_map_emplace(struct hs_address_range_map *map, uint64_t start, uint64_t end,
				 uint32_t value)
{
	if (start >= end)
		return -EINVAL;
	if (first_overlap(map, start, end) != NULL)
		return -EEXIST;
	if (reserve(map, 1) < 0)
		return -ENOMEM;
	insert(map, start, end, value);
	return 0;
}

int hs_address_range_map_trim_overlaps_and_emplace(struct hs_address_range_map *map, uint64_t start,
						   uint64_t end, uint32_t value)
{
	if (start >= end)
		return -EINVAL;
	if (reserve(map, 2) < 0)
		return -ENOMEM;
	trim(map, start, end);
	insert(map, start, end, value);
	return 0;
}

void hs_address_range_map_delete_overlaps(struct hs_address_range_map *map, uint64_t start,
					  uint64_t end, hs_address_range_visit *deleted,
					  void *context)
{
	const struct hs_address_range *first = first_overlap(map, start, end);

	if (first != NULL)
		delete_starts(map, first->start, end, deleted, context);
}

int hs_address_range_map_remove_overlaps(struct hs_address_range_map *map, uint64_t start,
					 uint64_t end)
{
	const struct hs_address_range *first = first_overlap(map, start, end);

	if (first == NULL)
		return 0;
	if (first->start < start && end < first->end && reserve(map, 1) < 0)
		return -ENOMEM;
	trim(map, start, end);
	return 0;
}

bool hs_address_range_map_equal(const struct hs_address_range_map *a,
				const struct hs_address_range_map *b)
{
	const struct hs_address_range *range = hs_address_range_map_from(a, 0);

	if (a->count != b->count)
		return false;
	for (; range != NULL; range = hs_address_range_map_from(a, range->end)) {
		const struct hs_address_range *other = hs_address_range_map_find(b, range->start);

		if (other == NULL || other->start != range->start || other->end != range->end ||
		    other->value != range->value)
			return false;
	}
	return true;
}
