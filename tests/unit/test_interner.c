/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interner: numbering, keys that share a half, growth, removal, memory.
 */
#include "base/interner.h"

#include "base/arena.h"
#include "check.h"

#define BUDGET ((size_t)16 << 20)

struct pair {
	uint32_t name;
	uint32_t system_name;
};

static struct hs_interner table;

static uint32_t number_of(uint32_t name, uint32_t system_name)
{
	struct pair pair = {.name = name, .system_name = system_name};
	uint32_t number = hs_interner_add(&table, &pair);

	CHECK_INT(hs_interner_find(&table, &pair), number);
	return number;
}

/* All pairs of many names, so that some neighbours in the slots have one half in common. */
static void both_names_count(void)
{
	enum { NAMES = 200 };
	const struct pair *last;
	uint32_t next;

	CHECK_INT(hs_interner_init(&table, sizeof(struct pair), sizeof(struct pair)), 0);
	for (int round = 0; round < 2; round++) {
		next = 0;
		for (uint32_t name = 0; name < NAMES; name++) {
			for (uint32_t system_name = 0; system_name < NAMES; system_name++)
				CHECK_INT(number_of(name, system_name), next++);
		}
	}
	CHECK_INT(table.count, NAMES * NAMES);
	last = hs_interner_item(&table, NAMES - 1);
	CHECK_INT(last->name, 0);
	CHECK_INT(last->system_name, NAMES - 1);
	hs_interner_fini(&table);
}

static void many_items_keep_their_numbers(void)
{
	enum { COUNT = 20000 };
	size_t before = hs_arena_used();

	CHECK_INT(hs_interner_init(&table, sizeof(struct pair), sizeof(struct pair)), 0);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < COUNT; i++)
			CHECK_INT(number_of(i * i, i % 2), i); /* squares meet in the slots */
	}
	CHECK_INT(table.count, COUNT);
	hs_interner_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

static void used_up_memory_is_reported(void)
{
	size_t before = hs_arena_used();
	struct pair pair = {0};
	uint32_t number = 0;

	CHECK_INT(hs_interner_init(&table, sizeof pair, sizeof pair), 0);
	hs_arena_set_budget(hs_arena_used() + 8 * 1024);
	while (number != HS_INTERNER_NONE && pair.name < 10000) {
		pair.name++;
		number = hs_interner_add(&table, &pair);
	}
	CHECK(number == HS_INTERNER_NONE);
	hs_arena_set_budget(BUDGET);
	for (uint32_t i = 1; i <= pair.name; i++)
		CHECK_INT(number_of(i, 0), i - 1);
	hs_interner_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

/* With memory for more items, but not for more slots: some of these stay empty, to end searches. */
static void slots_are_never_used_up(void)
{
	size_t before = hs_arena_used();
	uint32_t key = 0, slots;

	CHECK_INT(hs_interner_init(&table, sizeof key, sizeof key), 0);
	while (table.count < HS_INTERNER_PART)
		hs_interner_add(&table, &(uint32_t){key++});
	slots = table.slot_count;
	/* A part takes 17 KiB, the slots 64 KiB. */
	hs_arena_set_budget(hs_arena_used() + 60 * 1024);
	while (hs_interner_add(&table, &key) != HS_INTERNER_NONE)
		key++;
	CHECK_INT(table.slot_count, slots);
	CHECK_INT(table.used, slots / 4 * 3);
	CHECK_INT(hs_interner_find(&table, &key), HS_INTERNER_NONE);
	hs_arena_set_budget(BUDGET);
	CHECK_INT(hs_interner_add(&table, &key), slots / 4 * 3);
	hs_interner_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

/*
 * Random histories, compared with a model that has a place for each possible key.  Keys are few
 * enough to come back, and more than the table can hold at its first size.
 */
enum { KEYS = 4096, STEPS = 3000000 };

static uint32_t model[KEYS]; /* number + 1 of a key, 0: it is not there */
static uint32_t model_count;

/* Half of the keys have equal lower bits, so that they collide in the slots. */
static struct pair key_of(uint32_t key)
{
	return key % 2 == 0 ? (struct pair){key, key * 7} : (struct pair){5, key << 20};
}

static void add_key(uint32_t key)
{
	struct pair pair = key_of(key);
	uint32_t number = hs_interner_add(&table, &pair);

	CHECK(number < table.count && hs_interner_is_used(&table, number));
	if (model[key] != 0)
		CHECK_INT(number, model[key] - 1);
	else
		model_count++;
	model[key] = number + 1;
}

static void remove_key(uint32_t key)
{
	if (model[key] == 0)
		return;
	hs_interner_remove(&table, model[key] - 1);
	CHECK(!hs_interner_is_used(&table, model[key] - 1));
	model[key] = 0;
	model_count--;
}

static void remove_all_keys(void)
{
	for (uint32_t key = 0; key < KEYS; key++)
		remove_key(key);
}

static void compare_with_model(void)
{
	uint32_t used = 0;

	CHECK_INT(table.used, model_count);
	for (uint32_t key = 0; key < KEYS; key++) {
		struct pair pair = key_of(key);

		/* 0, which is no number, becomes HS_INTERNER_NONE. */
		CHECK_INT(hs_interner_find(&table, &pair), model[key] - 1);
		if (model[key] != 0)
			CHECK(memcmp(hs_interner_item(&table, model[key] - 1), &pair,
				     sizeof pair) == 0);
	}
	for (uint32_t number = 0; number < table.count; number++)
		used += hs_interner_is_used(&table, number);
	CHECK_INT(used, model_count);
}

static void removal_as_in_a_model(void)
{
	size_t before = hs_arena_used();
	uint64_t state = 1;
	uint32_t most = 0;

	CHECK_INT(hs_interner_init(&table, sizeof(struct pair), sizeof(struct pair)), 0);
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t key, chance = step / 100000 % 2 == 0 ? 60 : 30;

		state = state * 6364136223846793005u + 1442695040888963407u;
		key = (uint32_t)(state >> 33) % KEYS;
		if ((state >> 50) % 100 < chance)
			add_key(key);
		else
			remove_key(key);
		most = model_count > most ? model_count : most;
		if (step % 30011 == 0)
			compare_with_model();
	}
	compare_with_model();
	CHECK_INT(table.count, most);
	remove_all_keys();
	compare_with_model();
	hs_interner_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

/* The same with now few and now many items, and with trimming now and then. */
static void trimmed_as_in_a_model(void)
{
	size_t before = hs_arena_used(), empty;
	uint64_t state = 2;

	CHECK_INT(hs_interner_init(&table, sizeof(struct pair), sizeof(struct pair)), 0);
	empty = hs_arena_used();
	for (uint32_t step = 0; step < STEPS / 3; step++) {
		uint32_t key, kept = step / 50000 % 2 == 0 ? KEYS : 40;

		state = state * 6364136223846793005u + 1442695040888963407u;
		key = (uint32_t)(state >> 33) % KEYS;
		if ((state >> 50) % 2 == 0 && key < kept)
			add_key(key);
		else
			remove_key(key);
		if (step % 1999 == 0) {
			hs_interner_trim(&table);
			compare_with_model();
		}
		/* So that the items with the highest numbers are removed too. */
		if (step % 100000 == 75000) {
			remove_all_keys();
			hs_interner_trim(&table);
		}
	}
	CHECK(table.capacity < KEYS / 4);
	remove_all_keys();
	/* The first trim keeps the room that was needed since the last one. */
	hs_interner_trim(&table);
	hs_interner_trim(&table);
	CHECK_INT(hs_arena_used(), empty);
	add_key(7);
	add_key(8);
	CHECK_INT(table.count, 2);
	compare_with_model();
	remove_key(7);
	remove_key(8);
	hs_interner_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

/* Parts whose numbers are in use stay. */
static void trimmed_by_parts(void)
{
	enum { MOST = 10 * HS_INTERNER_PART, LEFT = 2 * HS_INTERNER_PART - 100 };
	size_t before = hs_arena_used();

	CHECK_INT(hs_interner_init(&table, sizeof(uint32_t), sizeof(uint32_t)), 0);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < MOST; i++)
			CHECK_INT(hs_interner_add(&table, &i), i);
		for (uint32_t i = MOST; i-- > LEFT;)
			hs_interner_remove(&table, i);
		hs_interner_trim(&table); /* the numbers */
		hs_interner_trim(&table);
		CHECK_INT(table.capacity, 4 * HS_INTERNER_PART);
		for (uint32_t i = 0; i < LEFT; i++)
			CHECK_INT(hs_interner_find(&table, &i), i);
	}
	hs_interner_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

/* There may be memory for the smaller items but not for their slots: then nothing shrinks. */
static void not_trimmed_without_memory(void)
{
	enum { COUNT = 4096 };
	size_t before = hs_arena_used();
	uint32_t capacity;

	CHECK_INT(hs_interner_init(&table, sizeof(uint32_t), sizeof(uint32_t)), 0);
	for (uint32_t i = 0; i < COUNT; i++)
		CHECK_INT(hs_interner_add(&table, &i), i);
	capacity = table.capacity;
	for (uint32_t i = COUNT; i-- > 500;)
		hs_interner_remove(&table, i);
	hs_interner_trim(&table); /* the numbers */
	CHECK_INT(table.capacity, capacity);
	/* Enough for a quarter of the items (4 KiB), but not for the slots (8 KiB). */
	hs_arena_set_budget(hs_arena_used() + 7 * 1024);
	hs_interner_trim(&table);
	CHECK(table.capacity < capacity ||
	      hs_arena_usable_size(table.parts[0]) >= (size_t)capacity * sizeof(uint32_t));
	hs_arena_set_budget(BUDGET);
	for (uint32_t i = 0; i < COUNT; i++)
		CHECK_INT(hs_interner_add(&table, &i), i);
	hs_interner_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

/* Always new keys, few at a time: neither memory nor the number of slots looked at grows. */
static void passing_keys_leave_nothing(void)
{
	enum { WINDOW = 60, PASSING = 2000000 };
	uint32_t numbers[WINDOW] = {0}, longest = 0;
	size_t used;

	CHECK_INT(hs_interner_init(&table, sizeof(struct pair), sizeof(struct pair)), 0);
	used = hs_arena_used();
	for (uint32_t i = 0; i < PASSING; i++) {
		struct pair pair = {i, i >> 3};

		if (i >= WINDOW)
			hs_interner_remove(&table, numbers[i % WINDOW]);
		numbers[i % WINDOW] = hs_interner_add(&table, &pair);
	}
	CHECK_INT(hs_arena_used(), used);
	CHECK_INT(table.used, WINDOW);
	CHECK_INT(table.count, WINDOW);
	for (uint32_t at = 0, run = 0; at < table.slot_count; at++) {
		run = table.slots[at] != 0 ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	printf("longest run: %u of %u slots\n", longest, table.slot_count);
	for (uint32_t i = 0; i < WINDOW; i++)
		hs_interner_remove(&table, numbers[i]);
	for (uint32_t at = 0; at < table.slot_count; at++)
		CHECK_INT(table.slots[at], 0);
	hs_interner_fini(&table);
}

int main(void)
{
	CHECK_INT(hs_arena_init(BUDGET), 0);
	RUN(both_names_count);
	RUN(many_items_keep_their_numbers);
	RUN(used_up_memory_is_reported);
	RUN(slots_are_never_used_up);
	RUN(removal_as_in_a_model);
	RUN(trimmed_as_in_a_model);
	RUN(trimmed_by_parts);
	RUN(not_trimmed_without_memory);
	RUN(passing_keys_leave_nothing);
	return CHECK_RESULT();
}
