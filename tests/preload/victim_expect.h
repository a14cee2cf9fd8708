/* SPDX-License-Identifier: BSD-2-Clause */
/* What a victim expects of the calls that it makes: one line for each that is otherwise. */
#ifndef HS_TESTS_VICTIM_EXPECT_H
#define HS_TESTS_VICTIM_EXPECT_H

#include <stdio.h>

static int failures;

#define EXPECT(expression)                                                                         \
	do {                                                                                       \
		if (!(expression)) {                                                               \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #expression);   \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

#endif
