/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the fuzz targets share.
 *
 * A target fuzz_X.c has LLVMFuzzerTestOneInput(), which takes any bytes, checks the results with
 * MUST(), and returns 0.  It is linked with malloc_arena.c, and either with libFuzzer (`make fuzz`)
 * or with replay.c (`make check`).
 */
#ifndef HS_TESTS_FUZZ_H
#define HS_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define FUZZ_BUDGET ((size_t)256 << 20)

/* For what must hold whatever the input is. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
