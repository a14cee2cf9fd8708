/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the unit tests of the arena. */
#ifndef HS_TESTS_ARENA_TESTING_H
#define HS_TESTS_ARENA_TESTING_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/sys.h"
#include "check.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define BUDGET (64 * MIB)

/* Runs a case in a child, where no arena exists yet. */
static inline void in_child(void (*test_case)(void))
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		check_failures = 0;
		test_case();
		_exit(check_failures != 0);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

static inline bool is_filled(const void *block, unsigned char byte, size_t bytes)
{
	const unsigned char *next = block;

	for (size_t i = 0; i < bytes; i++) {
		if (next[i] != byte)
			return false;
	}
	return true;
}

static long fault_number;
static unsigned fault_count;

static inline long fail_some(long number)
{
	if (number != fault_number || fault_count == 0)
		return 0;
	fault_count--;
	return -ENOMEM;
}

static inline void inject(long number, unsigned count)
{
	fault_number = number;
	fault_count = count;
	hs_sys_fault = fail_some;
}

#endif
