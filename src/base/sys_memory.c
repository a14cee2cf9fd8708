/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the process's own memory by system calls.  See sys.h for the contract. */
#include <errno.h>
#include <fcntl.h>

#include "base/descriptor.h"
#include "base/sys.h"

/* Where a seccomp filter refuses the call, the same bytes by way of /proc. */
static ssize_t read_by_file(uintptr_t address, void *buffer, size_t bytes)
{
	struct hs_descriptor file;
	ssize_t got = hs_descriptor_open(&file, "/proc/thread-self/mem", O_RDONLY, 0, NULL);

	if (got != 0)
		return got;
	got = hs_sys_pread(file.fd, buffer, bytes, address);
	if (hs_descriptor_close(&file) == -EBADF)
		return -EBADF;
	return got == -EIO ? -EFAULT : got;
}

ssize_t hs_sys_read_memory(uintptr_t address, void *buffer, size_t bytes)
{
	unsigned repeats = 0;
	ssize_t got;

	do
		got = hs_sys_process_vm_read(hs_sys_gettid(), address, buffer, bytes);
	while (got == -EINTR && ++repeats < HS_SYS_REPEATS);
	if (got == -EPERM || got == -ENOSYS)
		return read_by_file(address, buffer, bytes);
	return got;
}

int hs_sys_read_memory_all(uintptr_t address, void *buffer, size_t bytes)
{
	char *next = buffer;

	while (bytes > 0) {
		ssize_t got = hs_sys_read_memory(address, next, bytes);
		if (got < 0)
			return (int)got;
		if (got == 0)
			return -EFAULT;
		next += got;
		address += (uintptr_t)got;
		bytes -= (size_t)got;
	}
	return 0;
}
