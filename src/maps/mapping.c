/* SPDX-License-Identifier: BSD-2-Clause */
/* See mapping.h. */
#include "maps/mapping.h"

#include <string.h>

#include "base/elf_file.h"

bool hs_mapping_is_of_file(const struct hs_mapping *mapping, const struct hs_elf_file *file)
{
	if (mapping->build_id[0] != '\0')
		return strcmp(file->build_id, mapping->build_id) == 0;
	return (mapping->inode == 0 || file->descriptor.inode == mapping->inode) &&
	       (mapping->version == 0 || file->version == mapping->version);
}
