/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks an engine against a stack whose return addresses are known.
 *
 * Called on: the unwinding worker, before the first frame that libunwind gets.  Memory: the arena.
 */
#ifndef HS_UNWIND_LIBUNWIND_CHECK_H
#define HS_UNWIND_LIBUNWIND_CHECK_H

#include <stdbool.h>

#include "unwind/libunwind_engine.h"

/* Unwinds three calls of the calling thread's own.  The mapping table must have been read. */
bool hs_libunwind_check(struct hs_libunwind_engine *engine);

#endif
