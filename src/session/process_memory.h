/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of this process as the kernel counts it.
 *
 * Threads: any.  Allocates: never.  Errno: preserved.
 */
#ifndef HS_SESSION_PROCESS_MEMORY_H
#define HS_SESSION_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes. */
struct hs_process_memory {
	uint64_t total; /* of addresses, as RLIMIT_AS limits it */
	uint64_t resident;
	uint64_t data; /* as RLIMIT_DATA limits it */
};

/*
 * From /proc/self/statm.  root: the directory that /proc is in, "" but in tests.  Returns
 * whether it could be read; if not all are 0.
 */
bool hs_process_memory_read(struct hs_process_memory *out, const char *root);

#endif
