/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of code that reads the process's own memory. */
#ifndef HS_TESTS_PROCESS_VM_H
#define HS_TESTS_PROCESS_VM_H

#include <stdbool.h>
#include <sys/uio.h>
#include <unistd.h>

/* Whether process_vm_readv() is allowed: containers may refuse it. */
static inline bool may_read_by_process_vm(void)
{
	char from = 1, to = 0;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

#endif
