/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that are hidden.  See frame_filter.h. */
#include "profile/frame_filter.h"

#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/stats.h"
#include "profile/books.h"
#include "profile/symbol_filter.h"
#include "symbolize/demangle.h"

/* Symbols that were not used for so many records are freed. */
#define TAKES_PER_ROUND 4096

/* Rows with equal stack and labels are one. */
struct row_key {
	uint64_t size;
	uint64_t thread; /* the address of the text: equal texts share it */
	uint64_t heap;   /* likewise */
	uint64_t labels; /* likewise */
	uint32_t callsite;
	uint32_t tid;
};

static const char *path_of(const struct hs_producer *producer, uint32_t id)
{
	const struct hs_mapping *mapping = hs_mapping_table_get(producer->mappings, id);

	return mapping != NULL ? mapping->path : hs_jit_frames_path(id);
}

/* A linkage name that could not be demangled counts by the scope that it begins with. */
static bool is_function_hidden(const char *prefixes, const char *name, const char *system_name)
{
	char scope[HS_DEMANGLED_BYTES];

	return hs_symbol_filter_hides_name(prefixes, name) ||
	       hs_symbol_filter_hides_name(prefixes, system_name) ||
	       (name != NULL && system_name != NULL && strcmp(name, system_name) == 0 &&
		hs_demangle_scope(name, scope) > 0 && hs_symbol_filter_hides_name(prefixes, scope));
}

/* Whether a location is hidden by what is known of it now. */
static bool is_hidden(const struct hs_producer *producer, const struct hs_location *location)
{
	const char *prefixes = producer->filter.prefixes;
	struct hs_jit_name code;

	if (hs_symbol_filter_hides_path(prefixes, path_of(producer, location->mapping)) ||
	    is_function_hidden(prefixes, location->name, location->system_name))
		return true;
	if (producer->jit_frames != NULL &&
	    hs_jit_frames_name_of(producer->jit_frames, location, &code) &&
	    (is_function_hidden(prefixes, code.name, code.system_name) ||
	     hs_symbol_filter_hides_path(prefixes, code.file)))
		return true;
	return producer->hint_names != NULL &&
	       hs_mapping_table_is_anonymous(producer->mappings, location->mapping) &&
	       hs_symbol_filter_hides_path(
		       prefixes, hs_hint_names_path(producer->hint_names, location->address));
}

/* The same, after reading its symbol.  Hidden if there is no memory for the name. */
static bool is_hidden_by_symbol(struct hs_producer *producer, struct hs_location *location)
{
	const struct hs_mapping *mapping =
		hs_mapping_table_get(producer->mappings, location->mapping);

	if (mapping == NULL || !hs_symbol_filter_has_names(producer->filter.prefixes) ||
	    !hs_names_find(&producer->names, location, mapping, location->mapping))
		return false;
	return location->system_name == NULL || is_hidden(producer, location);
}

/* Keeps the location with its verdict for good: it will come again, and no stack holds it. */
static void hide(struct hs_producer *producer, uint32_t number)
{
	hs_location_table_get(&producer->locations, number)->verdict = HS_VERDICT_HIDDEN;
	hs_location_table_hold(&producer->locations, number);
	producer->filter.hidden++;
	hs_stats_add(filtered, 1);
}

uint32_t hs_frame_filter_apply(struct hs_producer *producer, uint32_t number)
{
	struct hs_frame_filter *filter = &producer->filter;
	struct hs_location *location = hs_location_table_get(&producer->locations, number);

	if (location->mapping == HS_MAPPING_NONE)
		return number;
	if (location->verdict == HS_VERDICT_NONE) {
		if (is_hidden(producer, location) || is_hidden_by_symbol(producer, location)) {
			hide(producer, number);
		} else {
			location->verdict = HS_VERDICT_SHOWN;
			filter->shown++;
		}
	}
	return location->verdict == HS_VERDICT_HIDDEN ? filter->location : number;
}

void hs_frame_filter_took(struct hs_producer *producer)
{
	if (++producer->filter.takes % TAKES_PER_ROUND == 0)
		hs_names_end_round(&producer->names);
}

static void warn_of_nothing(struct hs_frame_filter *filter)
{
	/* An empty prefix is of a list that makes no sense, which was reported at start-up. */
	if (filter->warned || filter->shown != 0 || filter->hidden == 0 ||
	    filter->prefixes[0] == ',')
		return;
	filter->warned = true;
	hs_log(HS_LOG_WARN, "HEAPSAMPLE_SKIP_SYMBOL_PREFIX=%s hides every frame so far",
	       filter->prefixes);
}

bool hs_frame_filter_review(struct hs_producer *producer, const uint32_t *ids, uint32_t count,
			    struct hs_pauses *pauses)
{
	struct hs_frame_filter *filter = &producer->filter;
	bool found = false;

	for (uint32_t i = 0; i < count; i++) {
		/* A pause may move the table: looked up each time. */
		struct hs_location *location = hs_location_table_get(&producer->locations, ids[i]);

		if (location->verdict == HS_VERDICT_SHOWN && is_hidden(producer, location)) {
			hide(producer, ids[i]);
			filter->shown--;
			filter->late++;
			found = true;
			/* Before the pause, in which samples are taken. */
			hs_stack_cache_empty(&producer->known_stacks);
		}
		hs_pauses_count(pauses);
	}
	warn_of_nothing(filter);
	return found;
}

static bool has_hidden_verdict(const struct hs_producer *producer, uint32_t location)
{
	return hs_location_table_get(&producer->locations, location)->verdict == HS_VERDICT_HIDDEN;
}

/* The stack without hidden locations.  stack: room for its locations. */
static uint32_t filtered_stack(struct hs_producer *producer, uint32_t callsite, uint32_t *stack)
{
	struct hs_frame_filter *filter = &producer->filter;
	uint32_t count = 0, result = HS_CALLSITE_ROOT;
	bool any = false;

	for (uint32_t node = callsite; node != HS_CALLSITE_ROOT;) {
		const struct hs_callsite *site = hs_callsite_trie_get(&producer->trie, node);
		bool hidden = has_hidden_verdict(producer, site->location);

		stack[count++] = hidden ? filter->location : site->location;
		any = any || hidden;
		node = site->parent;
	}
	if (!any)
		return callsite;
	while (count > 0 && result != HS_CALLSITE_NONE)
		result = hs_callsite_trie_child(&producer->trie, result, stack[--count]);
	/* Without memory the whole stack is hidden. */
	return result != HS_CALLSITE_NONE ? result : filter->callsite;
}

static uint32_t deepest(const struct hs_producer *producer, const struct hs_view_row *rows,
			uint32_t count)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t depth = hs_callsite_trie_get(&producer->trie, rows[i].callsite)->depth;

		most = depth > most ? depth : most;
	}
	return most;
}

/*
 * Appends a row to the first `kept` rows, or merges it into one of them and releases its stack.
 * keys: of those rows.  False: no memory.
 */
static bool keep_row(struct hs_callsite_trie *trie, struct hs_interner *keys,
		     struct hs_view_row *rows, uint32_t *kept, const struct hs_view_row *row)
{
	struct row_key key = {
		.size = row->size,
		.thread = (uintptr_t)row->thread,
		.heap = (uintptr_t)row->heap,
		.labels = (uintptr_t)row->labels,
		.callsite = row->callsite,
		.tid = (uint32_t)row->tid,
	};
	uint32_t number = hs_interner_add(keys, &key);

	if (number == HS_INTERNER_NONE)
		return false;
	if (number == *kept) {
		rows[(*kept)++] = *row;
		return true;
	}
	for (size_t i = 0; i < HS_VIEW_VALUES; i++)
		hs_view_add(&rows[number].values[i], row->values[i]);
	hs_callsite_trie_release(trie, row->callsite);
	return true;
}

/* Replaces a row's stack by one without hidden locations. */
static void filter_row(struct hs_producer *producer, struct hs_view_row *row, uint32_t *stack)
{
	uint32_t before = row->callsite;

	row->callsite = filtered_stack(producer, before, stack);
	hs_callsite_trie_hold(&producer->trie, row->callsite);
	hs_callsite_trie_release(&producer->trie, before);
}

void hs_frame_filter_end_rows(struct hs_frame_filter *filter)
{
	hs_arena_free(filter->stack);
	filter->stack = NULL;
	hs_interner_fini(&filter->keys);
}

bool hs_frame_filter_rows(struct hs_producer *producer, struct hs_view_row *rows, uint32_t *count,
			  struct hs_pauses *pauses)
{
	struct hs_frame_filter *filter = &producer->filter;
	uint32_t kept = 0;
	bool done;

	if (filter->late == 0)
		return true;
	if (hs_interner_init(&filter->keys, sizeof(struct row_key), sizeof(struct row_key)) != 0)
		return false;
	filter->stack = hs_arena_alloc(deepest(producer, rows, *count) * sizeof *filter->stack);
	done = filter->stack != NULL;
	for (uint32_t i = 0; i < *count; i++) {
		struct hs_view_row row = rows[i];

		rows[i].callsite = HS_CALLSITE_NONE; /* `row` holds it now */
		if (done) {
			filter_row(producer, &row, filter->stack);
			done = keep_row(&producer->trie, &filter->keys, rows, &kept, &row);
		}
		if (!done)
			hs_callsite_trie_release(&producer->trie, row.callsite);
		hs_pauses_count(pauses);
	}
	*count = kept;
	hs_frame_filter_end_rows(filter);
	return done;
}

bool hs_frame_filter_hides_mapping(const struct hs_producer *producer, uint32_t id)
{
	const struct hs_location_table *locations = &producer->locations;

	if (hs_symbol_filter_hides_path(producer->filter.prefixes, path_of(producer, id)))
		return true;
	for (uint32_t i = 0; i < locations->interner.count; i++) {
		const struct hs_location *location = hs_location_table_get(locations, i);

		if (hs_interner_is_used(&locations->interner, i) && location->mapping == id &&
		    location->verdict == HS_VERDICT_HIDDEN)
			return true;
	}
	return false;
}
