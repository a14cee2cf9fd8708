/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies the books and lays them out for the encoder.  See snapshot.h. */
#include "profile/snapshot.h"

#include "base/arena.h"
#include "profile/books.h"
#include "profile/location_names.h"
#include "profile/location_sort.h"
#include "profile/shown_mapping.h"
#include "profile/snapshot_rows.h"
#include "sample/heap_id.h"

#define PSEUDO_PATH "[heapsample]"

struct hs_snapshot {
	struct hs_producer *producer;
	struct hs_pauses pauses;
	uint32_t peak_heap; /* the rows are those of its peak; HS_HEAP_NONE: the present ones */
	struct hs_view_row *rows;
	struct hs_view_mapping *mappings;
	struct hs_view_location *locations;
	unsigned char *node_seen; /* by node: whether its stack's locations are noted */
	uint32_t *ids;            /* by location number: its id in the view, from 1 on; 0: none */
	uint32_t *order;          /* by place: the location number; twice as long, for sorting */
	uint32_t row_count;
	struct hs_view_heap heaps[HS_HEAP_LIMIT];
	uint32_t mapping_count;
	uint32_t location_count; /* of the locations that are in the rows' stacks */
	uint32_t deepest_stack;  /* frames */
	bool hides_main;
};

/* Notes the locations of a stack, from the leaf to where another stack has had them already. */
static void use_stack(struct hs_snapshot *snapshot, uint32_t node)
{
	const struct hs_callsite_trie *trie = &snapshot->producer->trie;
	const struct hs_callsite *site = hs_callsite_trie_get(trie, node);

	if (site->depth > snapshot->deepest_stack)
		snapshot->deepest_stack = site->depth;
	while (node != HS_CALLSITE_ROOT && !snapshot->node_seen[node]) {
		snapshot->node_seen[node] = 1;
		site = hs_callsite_trie_get(trie, node);
		if (snapshot->ids[site->location] == 0) {
			snapshot->ids[site->location] = 1; /* set by put_in_order() */
			snapshot->order[snapshot->location_count++] = site->location;
		}
		node = site->parent;
	}
}

static bool find_locations(struct hs_snapshot *snapshot)
{
	const struct hs_producer *producer = snapshot->producer;
	uint32_t count = producer->locations.interner.count;

	snapshot->node_seen = hs_arena_zalloc(producer->trie.interner.count);
	snapshot->ids = hs_arena_zalloc(count * sizeof *snapshot->ids);
	snapshot->order = hs_arena_alloc(2 * (size_t)count * sizeof *snapshot->order);
	if (snapshot->node_seen == NULL || snapshot->ids == NULL || snapshot->order == NULL)
		return false;
	for (uint32_t i = 0; i < snapshot->row_count; i++) {
		use_stack(snapshot, snapshot->rows[i].callsite);
		hs_pauses_count(&snapshot->pauses);
	}
	return true;
}

static void put_in_order(struct hs_snapshot *snapshot)
{
	uint32_t count = snapshot->location_count;

	hs_location_sort(snapshot->producer, snapshot->order, snapshot->order + count, count,
			 &snapshot->pauses);
	for (uint32_t i = 0; i < count; i++)
		snapshot->ids[snapshot->order[i]] = i + 1;
}

static const struct hs_location *location_at(const struct hs_snapshot *snapshot, uint32_t place)
{
	return hs_location_table_get(&snapshot->producer->locations, snapshot->order[place]);
}

/* The end of the run of locations from place on that are of one mapping. */
static uint32_t end_of_run(const struct hs_snapshot *snapshot, uint32_t place)
{
	uint32_t id = location_at(snapshot, place)->mapping;

	while (place < snapshot->location_count && location_at(snapshot, place)->mapping == id)
		place++;
	return place;
}

/*
 * Adds a mapping to the view, unless one of all memory is there already.  Returns its place;
 * add_locations() sets has_functions.  mapping: NULL: a made-up one, of this path.
 */
static uint32_t add_mapping(struct hs_snapshot *snapshot, const struct hs_mapping *mapping,
			    const char *path)
{
	struct hs_view_mapping shown = {.filename = path, .build_id = ""};
	uint32_t place;

	if (mapping != NULL)
		shown = hs_shown_mapping(mapping);
	place = hs_shown_mapping_find(snapshot->mappings, snapshot->mapping_count, &shown);
	if (place == snapshot->mapping_count)
		snapshot->mappings[snapshot->mapping_count++] = shown;
	return place;
}

/*
 * Adds the main binary if no location is of it, unless it is hidden.  It is if one of its mappings
 * is, and if nothing is known of it: the maps were not read, or could not be.
 */
static void add_unused_main(struct hs_snapshot *snapshot)
{
	const struct hs_mapping_table *table = snapshot->producer->mappings;
	bool is_filtered = hs_frame_filter_is_on(&snapshot->producer->filter), hides = false;
	const struct hs_mapping *mapping = NULL, *main = NULL;

	if (snapshot->location_count > 0)
		mapping = hs_mapping_table_get(table, location_at(snapshot, 0)->mapping);
	if (mapping != NULL && (mapping->flags & HS_MAPPING_MAIN) != 0)
		return;
	for (uint32_t id = 0; id < hs_mapping_table_count(table); id++) {
		mapping = hs_mapping_table_get(table, id);
		if ((mapping->flags & HS_MAPPING_MAIN) == 0)
			continue;
		main = main != NULL ? main : mapping;
		hides = hides || (is_filtered &&
				  hs_frame_filter_hides_mapping(snapshot->producer, id));
	}
	snapshot->hides_main = hides || (is_filtered && main == NULL);
	if (main != NULL && !hides)
		add_mapping(snapshot, main, main->path);
}

/* Lays out the locations of [from, end), which are of the mapping at a place. */
static void add_locations(struct hs_snapshot *snapshot, uint32_t place, uint32_t from, uint32_t end,
			  bool named)
{
	struct hs_view_mapping *mapping = &snapshot->mappings[place];
	const struct hs_jit_frames *jit = snapshot->producer->jit_frames;
	struct hs_jit_name code;

	for (uint32_t i = from; i < end; i++) {
		const struct hs_location *location = location_at(snapshot, i);
		const char *name = named ? location->name : NULL;

		snapshot->locations[i] = (struct hs_view_location){
			.mapping = place,
			.address = location->address,
			.name = name,
			.system_name = location->system_name,
		};
		if (name != NULL && jit != NULL && hs_jit_frames_name_of(jit, location, &code)) {
			snapshot->locations[i].system_name = code.system_name;
			snapshot->locations[i].filename = code.file;
			snapshot->locations[i].start_line = code.start_line;
		}
		mapping->has_functions |= name != NULL;
		hs_pauses_count(&snapshot->pauses);
	}
}

static void name_locations(struct hs_snapshot *snapshot)
{
	for (uint32_t i = 0, end; i < snapshot->location_count; i = end) {
		end = end_of_run(snapshot, i);
		hs_location_names_fill(snapshot->producer, snapshot->order + i, end - i,
				       &snapshot->pauses);
	}
}

/*
 * Adds a mapping and its locations.  With HS_SYMBOLIZE_LINES an object that has DWARF is left to
 * the reader, which finds lines by it.
 */
static void add_run(struct hs_snapshot *snapshot, uint32_t from, uint32_t end,
		    enum hs_symbolize symbolize)
{
	struct hs_names *names = &snapshot->producer->names;
	uint32_t id = location_at(snapshot, from)->mapping;
	const struct hs_mapping *mapping = hs_mapping_table_get(snapshot->producer->mappings, id);
	const char *jit_path = hs_jit_frames_path(id);
	uint32_t place = add_mapping(snapshot, mapping, jit_path != NULL ? jit_path : PSEUDO_PATH);

	add_locations(snapshot, place, from, end,
		      mapping == NULL || symbolize != HS_SYMBOLIZE_NONE);
	if (symbolize == HS_SYMBOLIZE_LINES && hs_names_has_dwarf(names, id))
		snapshot->mappings[place].has_functions = false;
}

static bool lay_out(struct hs_snapshot *snapshot, enum hs_symbolize symbolize)
{
	uint32_t runs = 1; /* for a main binary without locations */

	for (uint32_t i = 0; i < snapshot->location_count; i = end_of_run(snapshot, i))
		runs++;
	snapshot->mappings = hs_arena_alloc(runs * sizeof *snapshot->mappings);
	snapshot->locations =
		hs_arena_alloc(snapshot->location_count * sizeof *snapshot->locations);
	if (snapshot->mappings == NULL || snapshot->locations == NULL)
		return false;
	add_unused_main(snapshot);
	for (uint32_t i = 0, end; i < snapshot->location_count; i = end) {
		end = end_of_run(snapshot, i);
		add_run(snapshot, i, end, symbolize);
	}
	return true;
}

static size_t get_stack(const void *context, uint32_t callsite, uint64_t *ids, size_t capacity)
{
	const struct hs_snapshot *snapshot = context;
	size_t count = 0;

	while (callsite != HS_CALLSITE_ROOT && count < capacity) {
		const struct hs_callsite *site =
			hs_callsite_trie_get(&snapshot->producer->trie, callsite);

		ids[count++] = snapshot->ids[site->location];
		callsite = site->parent;
	}
	return count;
}

static enum hs_delta_kind delta_kind(const struct hs_snapshot *snapshot)
{
	return hs_delta_of(&snapshot->producer->delta, snapshot->peak_heap);
}

static void count_rows(struct hs_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->row_count; i++)
		snapshot->heaps[snapshot->rows[i].heap_number].row_count++;
}

static void fill_view(struct hs_snapshot *snapshot, const struct hs_options *options,
		      struct hs_view *view)
{
	view->mappings = snapshot->mappings;
	view->mapping_count = snapshot->mapping_count;
	view->locations = snapshot->locations;
	view->location_count = snapshot->location_count;
	view->rows = snapshot->rows;
	view->row_count = snapshot->row_count;
	view->delta = delta_kind(snapshot);
	view->is_partial = view->delta != HS_DELTA_NONE && snapshot->producer->delta.is_partial;
	view->heaps = snapshot->heaps;
	view->get_stack = get_stack;
	view->stack_context = snapshot;
	view->deepest_stack = snapshot->deepest_stack;
	view->drop_frames = options->drop_frames;
	view->pauses = &snapshot->pauses;
}

/* Frees what was needed only to find the locations. */
static void free_search(struct hs_snapshot *snapshot)
{
	hs_arena_free(snapshot->node_seen);
	hs_arena_free(snapshot->order);
	snapshot->node_seen = NULL;
	snapshot->order = NULL;
}

/*
 * Finds the locations of the rows, names them and puts them in order.  If a name says that one is
 * hidden, all is done again for stacks without it; that ends, with one location less each time.
 */
static bool find_shown_locations(struct hs_snapshot *snapshot, bool with_names)
{
	struct hs_producer *producer = snapshot->producer;
	bool filter = hs_frame_filter_is_on(&producer->filter);

	for (;;) {
		if (!hs_frame_filter_rows(producer, snapshot->rows, &snapshot->row_count,
					  &snapshot->pauses) || !find_locations(snapshot))
			return false;
		hs_pauses_take(&snapshot->pauses);
		put_in_order(snapshot);
		if (with_names || filter)
			name_locations(snapshot);
		if (!filter ||
		    !hs_frame_filter_review(producer, snapshot->order, snapshot->location_count,
					    &snapshot->pauses))
			return true;
		free_search(snapshot);
		hs_arena_free(snapshot->ids);
		snapshot->ids = NULL;
		snapshot->location_count = 0;
	}
}

static bool build(struct hs_snapshot *snapshot, enum hs_symbolize symbolize)
{
	snapshot->rows = hs_snapshot_rows_copy(snapshot->producer, snapshot->peak_heap,
					       &snapshot->row_count, snapshot->heaps);
	if (snapshot->rows == NULL ||
	    !find_shown_locations(snapshot, symbolize != HS_SYMBOLIZE_NONE) ||
	    !lay_out(snapshot, symbolize))
		return false;
	count_rows(snapshot);
	free_search(snapshot);
	return true;
}

struct hs_snapshot *hs_snapshot_create(struct hs_producer *producer,
				       const struct hs_options *options, uint32_t peak_heap,
				       void (*pause)(void), struct hs_view *view)
{
	struct hs_snapshot *snapshot = hs_arena_zalloc(sizeof *snapshot);

	if (snapshot == NULL)
		return NULL;
	producer->snapshot = snapshot;
	snapshot->producer = producer;
	snapshot->peak_heap = peak_heap;
	snapshot->pauses = (struct hs_pauses){.pause = pause, .at_file = producer->at_file};
	if (producer->hint_names != NULL)
		hs_hint_names_follow(producer->hint_names, &producer->locations);
	if (producer->jit_frames != NULL)
		hs_jit_frames_begin_profile(producer->jit_frames);
	if (!build(snapshot, options->symbolize)) {
		hs_snapshot_destroy(snapshot);
		return NULL;
	}
	fill_view(snapshot, options, view);
	return snapshot;
}

bool hs_snapshot_hides_main(const struct hs_snapshot *snapshot)
{
	return snapshot->hides_main;
}

void hs_snapshot_written(struct hs_snapshot *snapshot)
{
	if (delta_kind(snapshot) != HS_DELTA_NONE)
		hs_delta_written(&snapshot->producer->delta);
}

static void free_rows(struct hs_snapshot *snapshot)
{
	struct hs_callsite_trie *trie = &snapshot->producer->trie;

	for (uint32_t i = 0; i < snapshot->row_count; i++) {
		if (snapshot->rows[i].callsite != HS_CALLSITE_NONE)
			hs_callsite_trie_release(trie, snapshot->rows[i].callsite);
	}
	hs_arena_free(snapshot->rows);
}

void hs_snapshot_destroy(struct hs_snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	snapshot->producer->snapshot = NULL;
	if (delta_kind(snapshot) != HS_DELTA_NONE)
		hs_delta_end(&snapshot->producer->delta);
	free_rows(snapshot);
	hs_arena_free(snapshot->mappings);
	hs_arena_free(snapshot->locations);
	hs_arena_free(snapshot->ids);
	free_search(snapshot);
	hs_commit_order_trim(&snapshot->producer->order);
	hs_arena_free(snapshot);
}

void hs_snapshot_after_fork(struct hs_producer *producer, bool is_whole)
{
	hs_names_after_fork(&producer->names, is_whole);
	if (producer->hint_names != NULL)
		hs_hint_names_after_fork(producer->hint_names, is_whole);
}

void hs_snapshot_drop_inherited(struct hs_producer *producer)
{
	if (producer->snapshot == NULL)
		return;
	hs_frame_filter_end_rows(&producer->filter);
	hs_names_end_fill(&producer->names);
	if (producer->hint_names != NULL)
		hs_hint_names_end_fill(producer->hint_names);
	hs_snapshot_destroy(producer->snapshot);
}
