/* SPDX-License-Identifier: BSD-2-Clause */
/* Separate debug files.  See debug_file.h for the contract. */
#include "symbolize/debug_file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/format.h"

const char *hs_debug_file_root = "/usr/lib/debug";

int hs_debug_file_open(struct hs_elf_file *file, const char *build_id)
{
	char path[PATH_MAX];
	size_t length;
	int result;

	if (strlen(build_id) < 3)
		return -ENOENT;
	length = hs_format(path, sizeof path, "%s/.build-id/%c%c/%s.debug", hs_debug_file_root,
			   build_id[0], build_id[1], build_id + 2);
	if (length >= sizeof path - 1)
		return -ENAMETOOLONG;
	result = hs_elf_file_open(file, path);
	if (result == 0 && strcmp(file->build_id, build_id) != 0) {
		hs_elf_file_close(file);
		result = -ESTALE;
	}
	return result;
}
