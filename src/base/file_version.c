/* SPDX-License-Identifier: BSD-2-Clause */
/* See file_version.h. */
#include "base/file_version.h"

/* FNV-1a, a word at a time. */
static uint64_t mix(uint64_t version, uint64_t word)
{
	return (version ^ word) * UINT64_C(0x100000001b3);
}

uint64_t hs_file_version(const struct stat *file)
{
	uint64_t version = mix(1, (uint64_t)file->st_mtim.tv_sec);

	version = mix(version, (uint64_t)file->st_mtim.tv_nsec);
	version = mix(version, (uint64_t)file->st_size);
	return version != 0 ? version : 1;
}
