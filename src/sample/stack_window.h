/* SPDX-License-Identifier: BSD-2-Clause */
/* A part of a stack, in place or copied: `bytes` has what is, or was, at address `start`. */
#ifndef HS_SAMPLE_STACK_WINDOW_H
#define HS_SAMPLE_STACK_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hs_stack_window {
	uint64_t start;
	const uint8_t *bytes;
	size_t size;
	bool cut; /* the real stack goes on past it */
};

/* The largest frame believed: an address further above the copied stack is garbage. */
#define HS_LARGEST_FRAME_BYTES ((uint64_t)64 << 20)

/* Reads a word.  False: it is not wholly inside the window. */
static inline bool hs_stack_window_read(const struct hs_stack_window *window, uint64_t address,
					uint64_t *out)
{
	uint64_t offset = address - window->start;

	if (window->size < sizeof *out || offset > window->size - sizeof *out)
		return false;
	memcpy(out, window->bytes + offset, sizeof *out);
	return true;
}

/* Whether an address outside the window may be in the part of the stack that was cut off. */
static inline bool hs_stack_window_is_cut_off(const struct hs_stack_window *window,
					      uint64_t address)
{
	/* The last word of the copy may be a partial one. */
	uint64_t past = address + sizeof(uint64_t) - 1 - (window->start + window->size);

	return window->cut && past < HS_LARGEST_FRAME_BYTES;
}

#endif
