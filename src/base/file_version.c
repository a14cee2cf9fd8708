/* SPDX-License-Identifier: BSD-2-Clause */
/* See file_version.h. */
#include "base/file_version.h"

#include "base/hash.h"

uint64_t hs_file_version(const struct stat *file)
{
	uint64_t version = hs_hash_add(1, (uint64_t)file->st_mtim.tv_sec);

	version = hs_hash_add(version, (uint64_t)file->st_mtim.tv_nsec);
	version = hs_hash_add(version, (uint64_t)file->st_size);
	return version != 0 ? version : 1;
}
