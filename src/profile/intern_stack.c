/* SPDX-License-Identifier: BSD-2-Clause */
/* From frames to a node of the trie.  Runs on the producer. */
#include "profile/intern_stack.h"

#include "profile/books.h"

/* jit: NULL: no frame is of generated code. */
static uint32_t code_of(struct hs_jit_frames *jit, struct hs_frame *frame)
{
	return jit != NULL ? hs_jit_frames_code(jit, frame) : 0;
}

/* As the trie hashes the stack's node. */
static struct hs_stack_hash hash_stack(struct hs_jit_frames *jit, const struct hs_frame *frames,
				       uint32_t count)
{
	struct hs_stack_hash hash = {0};

	while (count > 0) {
		struct hs_frame frame = frames[--count];
		uint32_t code = code_of(jit, &frame);

		frame = hs_location_frame(frame);
		hash = hs_stack_hash_add(hash, frame.address, frame.mapping, code);
	}
	return hash;
}

static uint32_t intern_frames(struct hs_producer *producer, struct hs_jit_frames *jit,
			      const struct hs_frame *frames, uint32_t count)
{
	uint32_t node = HS_CALLSITE_ROOT;

	while (count > 0 && node != HS_CALLSITE_NONE) {
		struct hs_frame frame = frames[--count];
		uint32_t code = code_of(jit, &frame);
		uint32_t location = hs_location_table_intern(&producer->locations, frame, code);

		if (location == HS_LOCATION_NONE) {
			hs_callsite_trie_settle(&producer->trie, node);
			return HS_CALLSITE_NONE;
		}
		if (hs_frame_filter_is_on(&producer->filter))
			location = hs_frame_filter_apply(producer, location);
		node = hs_callsite_trie_child(&producer->trie, node, location);
	}
	return node;
}

uint32_t hs_intern_stack(struct hs_producer *producer, const struct hs_frame *frames,
			 uint32_t count)
{
	struct hs_jit_frames *jit = producer->jit_frames;
	struct hs_stack_hash hash;
	uint32_t node;

	if (jit != NULL && !hs_jit_frames_follow(jit, frames, count))
		jit = NULL;
	hash = hash_stack(jit, frames, count);
	node = hs_stack_cache_find(&producer->known_stacks, &producer->trie, hash, count);
	if (node != HS_CALLSITE_NONE)
		return node;
	node = intern_frames(producer, jit, frames, count);
	if (node != HS_CALLSITE_NONE)
		hs_stack_cache_put(&producer->known_stacks, hash, node);
	return node;
}

uint32_t hs_intern_pseudo_stack(struct hs_producer *producer, enum hs_pseudo_frame pseudo)
{
	struct hs_frame frame = {.address = pseudo, .mapping = HS_MAPPING_NONE};

	return hs_intern_stack(producer, &frame, 1);
}
