/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the frames of a record to a node of the trie.  Frames of generated code have their code, and
 * hidden frames are replaced.
 *
 * Called on: the producer.  Allocates: from the arena.  Blocks: may read files of code or names.
 */
#ifndef HS_PROFILE_INTERN_STACK_H
#define HS_PROFILE_INTERN_STACK_H

#include <stdint.h>

#include "unwind/unwound.h"

struct hs_producer;

/* Prefetches what hs_intern_stack() will need for a record that is taken soon. */
void hs_intern_expect(struct hs_producer *producer, const struct hs_unwound *record);

/*
 * The node of a record's stack.  The caller must hold or settle it at once.  HS_CALLSITE_NONE: out
 * of memory.
 */
uint32_t hs_intern_stack(struct hs_producer *producer, const struct hs_unwound *record);

/* The same for a stack of one pseudo frame. */
uint32_t hs_intern_pseudo_stack(struct hs_producer *producer, enum hs_pseudo_frame pseudo);

#endif
