/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The object file of a map hint: where in the file its code is, and at which ELF virtual
 * address.
 *
 * Read with libelf by pread, never mapped: a file that is truncated meanwhile gives an
 * error.  Only regular files are opened.
 *
 * Threads: the unwinding worker; the producer.  Memory: malloc(), which is the arena there.
 */
#ifndef HS_MAPS_HINT_OBJECT_H
#define HS_MAPS_HINT_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/elf_code.h"

struct hs_hint_object {
	uint64_t device; /* as of stat(2) */
	uint64_t inode;
	uint64_t version; /* as in struct hs_mapping */
	char build_id[HS_BUILD_ID_HEX_BYTES]; /* "" = none */
	bool is_relocatable;     /* ET_REL */
	struct hs_elf_code code; /* of no segments: it is, or has no code */
};

/*
 * Reads the program headers.  Returns 0 or -errno: that of hs_elf_file_open(); -ENOTRECOVERABLE, a
 * failed assertion of libelf's.  *object then says which file it was that could not be read, if
 * memory or descriptors were short, or its device failed, or else nothing.
 */
int hs_hint_object_read(const char *path, struct hs_hint_object *object);

#endif
