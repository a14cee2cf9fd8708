/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The header of all unit tests: CHECK*() for checks, RUN() for cases.
 *
 * A failed check prints where it is and what it found, and the case goes on.  The program's exit
 * status is 1 if any check failed, 77 (automake: skipped) after SKIP().
 */
#ifndef HS_TESTS_CHECK_H
#define HS_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s: failed: %s\n", __FILE__, __LINE__, __func__,   \
				#condition);                                                       \
			check_failures++;                                                          \
		}                                                                                  \
	} while (0)

#define CHECK_INT(got, want)                                                                       \
	do {                                                                                       \
		long long check_got = (long long)(got), check_want = (long long)(want);            \
		if (check_got != check_want) {                                                     \
			fprintf(stderr, "%s:%d: %s: %s is %lld, expected %lld\n", __FILE__,        \
				__LINE__, __func__, #got, check_got, check_want);                  \
			check_failures++;                                                          \
		}                                                                                  \
	} while (0)

#define CHECK_STR(got, want)                                                                       \
	do {                                                                                       \
		const char *check_got = (got), *check_want = (want);                               \
		if (check_got == NULL || strcmp(check_got, check_want) != 0) {                     \
			fprintf(stderr, "%s:%d: %s: %s is \"%s\", expected \"%s\"\n", __FILE__,    \
				__LINE__, __func__, #got, check_got ? check_got : "(null)",        \
				check_want);                                                       \
			check_failures++;                                                          \
		}                                                                                  \
	} while (0)

#define SKIP(reason)                                                                               \
	do {                                                                                       \
		printf("skipped: %s\n", reason);                                                   \
		exit(77);                                                                          \
	} while (0)

#define RUN(test_case)                                                                             \
	do {                                                                                       \
		int check_before = check_failures;                                                 \
		test_case();                                                                       \
		printf("%s %s\n", check_failures == check_before ? "ok" : "NOT OK", #test_case);   \
		fflush(stdout);                                                                    \
	} while (0)

#define CHECK_RESULT() (check_failures == 0 ? 0 : 1)

#endif
