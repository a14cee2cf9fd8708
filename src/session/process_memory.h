/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of this process as the kernel counts it.
 *
 * Called on: any thread.  Allocates: never.  Errno: preserved.
 */
#ifndef HS_SESSION_PROCESS_MEMORY_H
#define HS_SESSION_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes. */
struct hs_process_memory {
	uint64_t total; /* address space, as limited by RLIMIT_AS */
	uint64_t resident;
	uint64_t data; /* as limited by RLIMIT_DATA */
};

/*
 * Reads /proc/self/statm.  root: the directory that /proc is in, "" except in tests.  Whether it
 * could be read; if not, all are 0.
 */
bool hs_process_memory_read(struct hs_process_memory *out, const char *root);

#endif
