/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns stacks of frames into nodes of the trie: tells generated code apart, and leaves out what is
 * hidden.  Threads: the producer.
 */
#ifndef HS_PROFILE_INTERN_STACK_H
#define HS_PROFILE_INTERN_STACK_H

#include <stdint.h>

#include "unwind/unwound.h"

struct hs_producer;

/* Prefetches what hs_intern_stack() will need for a record's stack. */
void hs_intern_expect(struct hs_producer *producer, const struct hs_unwound *record);

/*
 * The node of a record's stack, which the caller must hold or settle at once; HS_CALLSITE_NONE when
 * out of memory.
 */
uint32_t hs_intern_stack(struct hs_producer *producer, const struct hs_unwound *record);

/* The same of a pseudo frame alone. */
uint32_t hs_intern_pseudo_stack(struct hs_producer *producer, enum hs_pseudo_frame pseudo);

#endif
