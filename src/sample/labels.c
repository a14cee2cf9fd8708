/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of labels.  See labels.h. */
#include "sample/labels.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/stats.h"
#include "base/utf8.h"

#define TABLE_BYTES ((size_t)1 << 20)
#define SLOTS ((size_t)2 * HS_LABEL_SETS)

struct set {
	uint64_t hash;  /* the sum of its labels' */
	uint32_t start; /* of its text */
	uint16_t bytes; /* of its text, without the NUL at the end */
	uint16_t count; /* of labels */
};

/* Zeros at first.  Sets and text are written before they are published, and then constant. */
struct table {
	_Atomic uint64_t used;          /* bytes of text << 32 | sets: reserved together */
	_Atomic uint32_t slots[SLOTS];  /* open addressing: number of a set; 0: empty */
	struct set sets[HS_LABEL_SETS]; /* number - 1 */
	char text[TABLE_BYTES - sizeof(uint64_t) - SLOTS * sizeof(uint32_t) -
		  HS_LABEL_SETS * sizeof(struct set)];
};
_Static_assert(sizeof(struct table) == TABLE_BYTES, "no padding");

/* A set to be found or added, in pieces: the labels of another set around a new one. */
struct wanted {
	const char *before, *after; /* of the other set's text */
	const char *key, *value;    /* value NULL: neither */
	size_t before_bytes, after_bytes;
	size_t key_bytes, value_bytes; /* with their NULs */
	size_t bytes;
	uint64_t hash;
	uint32_t count;
};

static struct table *table;
static _Atomic bool is_usable;

void hs_labels_init(void)
{
	table = hs_arena_reserve(sizeof *table);
}

bool hs_labels_has_number(uint32_t labels)
{
	/* Relaxed: the thread that a set's number comes from has seen it set. */
	return labels == 0 || (labels <= HS_LABEL_SETS &&
			       atomic_load_explicit(&is_usable, memory_order_relaxed));
}

const char *hs_labels_text(uint32_t labels)
{
	return labels == 0 ? NULL : table->text + table->sets[labels - 1].start;
}

/* With their NULs. */
static uint64_t hash_label(const char *key, size_t key_bytes, const char *value, size_t value_bytes)
{
	return hs_hash_bytes(hs_hash_bytes(1, key, key_bytes), value, value_bytes);
}

/* Keys of the profiler's own labels, and those with a meaning for tools that read profiles. */
static bool is_reserved(const char *key)
{
	static const char *const own[] = {"bytes", "tid", "thread", "heap"};

	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		if (strcmp(key, own[i]) == 0)
			return true;
	}
	return strncmp(key, "pprof::", strlen("pprof::")) == 0;
}

static bool is_utf8(const char *text)
{
	size_t bytes;

	for (; *text != '\0'; text += bytes) {
		bytes = (unsigned char)*text < 0x80 ? 1 : hs_utf8_character_bytes(text);
		if (bytes == 0)
			return false;
	}
	return true;
}

static bool is_valid(const struct wanted *wanted)
{
	return !is_reserved(wanted->key) && is_utf8(wanted->key) &&
	       (wanted->value == NULL || is_utf8(wanted->value));
}

/* value: NULL or not empty.  Fills in the label. */
static int take_label(struct wanted *wanted, const char *key, const char *value)
{
	if (key[0] == '\0')
		return -EINVAL;
	*wanted = (struct wanted){.key = key, .value = value};
	wanted->key_bytes = strnlen(key, HS_LABEL_KEY_BYTES + 1) + 1;
	if (value != NULL)
		wanted->value_bytes = strnlen(value, HS_LABEL_VALUE_BYTES + 1) + 1;
	if (wanted->key_bytes > HS_LABEL_KEY_BYTES + 1 ||
	    wanted->value_bytes > HS_LABEL_VALUE_BYTES + 1)
		return -ENAMETOOLONG;
	return 0;
}

/* The address behind the NUL. */
static const char *end_of(const char *text)
{
	return text + strlen(text) + 1;
}

/* Fills in the rest: the labels of the set `old`, with the new one in its place. */
static int put_into(struct wanted *wanted, uint32_t old)
{
	static const struct set none;
	const struct set *set = old == 0 ? &none : &table->sets[old - 1];
	const char *text = old == 0 ? "" : table->text + set->start, *at = text, *value, *after;
	int order = -1;

	wanted->hash = set->hash;
	wanted->count = set->count;
	while (*at != '\0' && (order = strcmp(at, wanted->key)) < 0)
		at = end_of(end_of(at));
	after = at;
	if (order == 0) {
		value = at + wanted->key_bytes;
		after = end_of(value);
		wanted->hash -= hash_label(at, wanted->key_bytes, value, (size_t)(after - value));
		wanted->count--;
	}
	wanted->before = text;
	wanted->before_bytes = (size_t)(at - text);
	wanted->after = after;
	wanted->after_bytes = set->bytes - (size_t)(after - text);
	wanted->bytes = wanted->before_bytes + wanted->after_bytes;
	if (wanted->value == NULL)
		return order == 0 || is_valid(wanted) ? 0 : -EINVAL;
	wanted->hash +=
		hash_label(wanted->key, wanted->key_bytes, wanted->value, wanted->value_bytes);
	wanted->count++;
	wanted->bytes += wanted->key_bytes + wanted->value_bytes;
	return wanted->count > HS_LABELS_MAX || wanted->bytes > HS_LABELS_BYTES ? -E2BIG : 0;
}

static bool is_wanted(const struct set *set, const struct wanted *wanted)
{
	const char *text = table->text + set->start;

	if (set->hash != wanted->hash || set->bytes != wanted->bytes ||
	    memcmp(text, wanted->before, wanted->before_bytes) != 0)
		return false;
	text += wanted->before_bytes;
	if (wanted->value != NULL) {
		if (memcmp(text, wanted->key, wanted->key_bytes) != 0)
			return false;
		text += wanted->key_bytes;
		if (memcmp(text, wanted->value, wanted->value_bytes) != 0)
			return false;
		text += wanted->value_bytes;
	}
	return memcmp(text, wanted->after, wanted->after_bytes) == 0;
}

/* The number of the set; 0: there is none, and *slot is the empty slot where it belongs. */
static uint32_t find(const struct wanted *wanted, _Atomic uint32_t **slot)
{
	/* There are more slots than sets, so one is empty. */
	for (uint64_t at = wanted->hash;; at++) {
		uint32_t number;

		*slot = &table->slots[at % SLOTS];
		/* Acquire: the set, published by add(). */
		number = atomic_load_explicit(*slot, memory_order_acquire);
		if (number == 0 || is_wanted(&table->sets[number - 1], wanted))
			return number;
	}
}

/* Reserves a number and bytes of text.  Returns the number; 0: there is no room. */
static uint32_t reserve(size_t bytes, uint32_t *start)
{
	uint64_t used = atomic_load_explicit(&table->used, memory_order_relaxed);

	/* Relaxed: the place is this thread's alone until it publishes it. */
	do {
		*start = (uint32_t)(used >> 32);
		if ((uint32_t)used == HS_LABEL_SETS || bytes > sizeof table->text - *start)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(
		&table->used, &used, used + ((uint64_t)bytes << 32) + 1, memory_order_relaxed,
		memory_order_relaxed));
	return (uint32_t)used + 1;
}

static char *append(char *to, const char *bytes, size_t count)
{
	memcpy(to, bytes, count);
	return to + count;
}

/* False: the program has changed the label's text meanwhile, and the set is useless. */
static bool fill(const struct wanted *wanted, uint32_t number, uint32_t start)
{
	char *label = append(table->text + start, wanted->before, wanted->before_bytes), *to;

	table->sets[number - 1] = (struct set){
		.hash = wanted->hash,
		.start = start,
		.bytes = (uint16_t)wanted->bytes,
		.count = (uint16_t)wanted->count,
	};
	to = label;
	if (wanted->value != NULL) {
		to = append(to, wanted->key, wanted->key_bytes);
		to = append(to, wanted->value, wanted->value_bytes);
		if (strnlen(label, wanted->key_bytes) != wanted->key_bytes - 1 ||
		    strnlen(label + wanted->key_bytes, wanted->value_bytes) !=
			    wanted->value_bytes - 1)
			return false;
	}
	*append(to, wanted->after, wanted->after_bytes) = '\0';
	return true;
}

static bool make_usable(void)
{
	return atomic_load_explicit(&is_usable, memory_order_acquire) ||
	       (table != NULL && hs_arena_commit_from_host(table, sizeof *table, &is_usable) == 0);
}

/* The number of the set, which is added if there is none; or -errno. */
static int add(const struct wanted *wanted)
{
	_Atomic uint32_t *slot;
	uint32_t number, start, found;

	if (!make_usable())
		return -ENOSPC;
	found = find(wanted, &slot);
	if (found != 0)
		return (int)found;
	/* Not checked before: sets in the table are valid. */
	if (!is_valid(wanted))
		return -EINVAL;
	number = reserve(wanted->bytes + 1, &start);
	if (number == 0)
		return -ENOSPC;
	if (!fill(wanted, number, start))
		return -EINVAL;
	/* Release: the set, for find().  If another was faster, it may have added the same set. */
	while (found == 0 &&
	       !atomic_compare_exchange_strong_explicit(slot, &found, number, memory_order_release,
							memory_order_relaxed))
		found = find(wanted, &slot);
	return (int)(found != 0 ? found : number);
}

int hs_labels_set(_Atomic uint32_t *labels, const char *key, const char *value)
{
	uint32_t old = atomic_load_explicit(labels, memory_order_relaxed);
	struct wanted wanted;
	int number;

	if (key == NULL) {
		atomic_store_explicit(labels, 0, memory_order_relaxed);
		return 0;
	}
	number = take_label(&wanted, key, value == NULL || value[0] == '\0' ? NULL : value);
	if (number != 0)
		return number;
	/* Again if a handler has set labels meanwhile. */
	do {
		number = put_into(&wanted, old);
		if (number == 0 && wanted.count > 0)
			number = add(&wanted);
		if (number == -ENOSPC)
			hs_stats_add(labels_refused, 1);
		if (number < 0)
			return number;
	} while (!atomic_compare_exchange_strong_explicit(
		labels, &old, (uint32_t)number, memory_order_relaxed, memory_order_relaxed));
	return 0;
}
