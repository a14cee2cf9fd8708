/* SPDX-License-Identifier: BSD-2-Clause */
/* See alone.h. */
#include "base/alone.h"

#include <stddef.h>

#include "base/hot.h"

/*
 * Never written; not const, so that it is in the page of HS_SAMPLE_WORDS, for samples of programs
 * with threads read it.
 */
static HS_SAMPLE_WORDS uint8_t not_alone;

HS_SAMPLE_WORDS const uint8_t *_Atomic hs_alone_flag = &not_alone;

void hs_alone_begin(const char *single_threaded)
{
	if (single_threaded != NULL)
		atomic_store_explicit(&hs_alone_flag, (const uint8_t *)single_threaded,
				      memory_order_relaxed);
}

void hs_alone_end(void)
{
	atomic_store_explicit(&hs_alone_flag, &not_alone, memory_order_relaxed);
}

bool hs_alone_has_ended(void)
{
	return atomic_load_explicit(&hs_alone_flag, memory_order_relaxed) == &not_alone;
}
