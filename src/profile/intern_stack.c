/* SPDX-License-Identifier: BSD-2-Clause */
/* From frames to a node of the trie.  See intern_stack.h. */
#include "profile/intern_stack.h"

#include "profile/books.h"

/*
 * jit: NULL if no frame of the stack can be of generated code.  If a sample came before its code
 * was known the frame stays without, so that both have one location.
 */
static uint32_t code_of(struct hs_producer *producer, struct hs_jit_frames *jit,
			struct hs_frame *frame)
{
	uint32_t code = jit != NULL ? hs_jit_frames_code(jit, frame) : 0;

	if (code != 0 && hs_location_table_learn_code(&producer->locations, *frame, code))
		return 0;
	return code;
}

/* The same hash as the trie's for a node. */
static struct hs_stack_hash add_to_hash(struct hs_stack_hash hash, struct hs_frame frame,
					uint32_t code)
{
	frame = hs_location_frame(frame);
	return hs_stack_hash_add(hash, frame.address, frame.mapping, code);
}

static struct hs_stack_hash hash_stack(struct hs_producer *producer, struct hs_jit_frames *jit,
				       const struct hs_frame *frames, uint32_t count)
{
	struct hs_stack_hash hash = {0};

	while (count > 0) {
		struct hs_frame frame = frames[--count];
		uint32_t code = code_of(producer, jit, &frame);

		hash = add_to_hash(hash, frame, code);
	}
	return hash;
}

/* The child of a node for a frame.  Without memory for it the node is settled. */
static uint32_t intern_frame(struct hs_producer *producer, uint32_t node, struct hs_frame frame,
			     uint32_t code)
{
	uint32_t location = hs_location_table_intern(&producer->locations, frame, code);

	if (location == HS_LOCATION_NONE) {
		hs_callsite_trie_settle(&producer->trie, node);
		return HS_CALLSITE_NONE;
	}
	if (hs_frame_filter_is_on(&producer->filter))
		location = hs_frame_filter_apply(producer, location);
	return hs_callsite_trie_child(&producer->trie, node, location);
}

static uint32_t intern_frames(struct hs_producer *producer, struct hs_jit_frames *jit,
			      const struct hs_frame *frames, uint32_t count)
{
	uint32_t node = HS_CALLSITE_ROOT;
	struct hs_stack_hash hash = {0};

	for (uint32_t done = 1; done <= count && node != HS_CALLSITE_NONE; done++) {
		struct hs_frame frame = frames[count - done];
		uint32_t code = code_of(producer, jit, &frame), known;

		hash = add_to_hash(hash, frame, code);
		known = hs_stack_cache_find_path(&producer->known_stacks, &producer->trie, hash,
						 done);
		node = known != HS_CALLSITE_NONE ? known
						 : intern_frame(producer, node, frame, code);
		hs_stack_cache_put_path(&producer->known_stacks, done, node);
	}
	return node;
}

static uint32_t find_or_intern(struct hs_producer *producer, struct hs_jit_frames *jit,
			       struct hs_stack_hash hash, const struct hs_frame *frames,
			       uint32_t count)
{
	uint32_t node = hs_stack_cache_find(&producer->known_stacks, &producer->trie, hash, count);

	if (node != HS_CALLSITE_NONE)
		return node;
	node = intern_frames(producer, jit, frames, count);
	if (node != HS_CALLSITE_NONE)
		hs_stack_cache_put(&producer->known_stacks, hash, node);
	return node;
}

static struct hs_expected_stack *expected_at(struct hs_producer *producer, uint32_t place)
{
	return &producer->expected[place & (HS_EXPECTED_STACKS - 1)];
}

void hs_intern_expect(struct hs_producer *producer, const struct hs_unwound *record)
{
	const struct hs_jit_frames *jit = producer->jit_frames;
	uint32_t place = producer->expected_count++;
	const struct hs_expected_stack *before = expected_at(producer, place - 1);
	struct hs_expected_stack *expected = expected_at(producer, place);

	*expected = (struct hs_expected_stack){0};
	/* With generated code the hash waits for the record's turn: compilers are asked then. */
	if (jit == NULL || !hs_jit_frames_may_be_in(jit, record->frames, record->frame_count)) {
		expected->number = record->sequence;
		expected->hash = hash_stack(producer, NULL, record->frames, record->frame_count);
	}
	/* The same stack again: it is in the caches already. */
	if (expected->hash.first == before->hash.first)
		return;
	if (expected->number != 0)
		hs_stack_cache_fetch_set(&producer->known_stacks, expected->hash);
	if (before->number != 0)
		hs_stack_cache_fetch_node(&producer->known_stacks, &producer->trie, before->hash);
}

/* NULL: no hash is known for the record of this number, which is only one. */
static const struct hs_expected_stack *find_expected(struct hs_producer *producer, uint64_t number)
{
	for (uint32_t i = 0; i < HS_EXPECTED_STACKS; i++) {
		if (producer->expected[i].number == number)
			return &producer->expected[i];
	}
	return NULL;
}

uint32_t hs_intern_stack(struct hs_producer *producer, const struct hs_unwound *record)
{
	const struct hs_expected_stack *expected = find_expected(producer, record->sequence);
	struct hs_jit_frames *jit = producer->jit_frames;
	const struct hs_frame *frames = record->frames;
	uint32_t count = record->frame_count;

	if (expected != NULL)
		return find_or_intern(producer, NULL, expected->hash, frames, count);
	if (jit != NULL && !hs_jit_frames_follow(jit, frames, count))
		jit = NULL;
	return find_or_intern(producer, jit, hash_stack(producer, jit, frames, count), frames,
			      count);
}

uint32_t hs_intern_pseudo_stack(struct hs_producer *producer, enum hs_pseudo_frame pseudo)
{
	struct hs_frame frame = {.address = pseudo, .mapping = HS_MAPPING_NONE};

	return find_or_intern(producer, NULL, hash_stack(producer, NULL, &frame, 1), &frame, 1);
}
