/* SPDX-License-Identifier: BSD-2-Clause */
/* A stack, or its copy: bytes is what stood, or stands, at address start. */
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

/* No frame is larger; an address further above the copied stack is garbage. */
#define HS_LARGEST_FRAME_BYTES ((uint64_t)64 << 20)

/* Copy a word of the window.  Returns false if it is not all in there. */
static inline bool hs_stack_window_read(const struct hs_stack_window *window, uint64_t address,
					uint64_t *out)
{
	uint64_t offset = address - window->start;

	if (window->size < sizeof *out || offset > window->size - sizeof *out)
		return false;
	memcpy(out, window->bytes + offset, sizeof *out);
	return true;
}

/* Whether an address that is not in the window would be in the part that was cut off. */
static inline bool hs_stack_window_is_cut_off(const struct hs_stack_window *window,
					      uint64_t address)
{
	/* The last word of the copy may be a partial one. */
	uint64_t past = address + sizeof(uint64_t) - 1 - (window->start + window->size);

	return window->cut && past < HS_LARGEST_FRAME_BYTES;
}

#endif
