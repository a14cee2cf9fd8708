/* SPDX-License-Identifier: BSD-2-Clause */
/* The cost of any library in front of malloc: it forwards each call and does nothing else. */
#include <stdbool.h>
#include <stddef.h>

static inline bool count_allocation(size_t bytes)
{
	(void)bytes;
	return false;
}

static inline void *enter_sample(void *block)
{
	return block;
}

static inline void look_up(const void *block)
{
	(void)block;
}

#include "forward.h"
