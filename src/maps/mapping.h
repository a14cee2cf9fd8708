/* SPDX-License-Identifier: BSD-2-Clause */
/* An executable mapping of the process, present or past, as the mapping table has it. */
#ifndef HS_MAPS_MAPPING_H
#define HS_MAPS_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"

struct hs_elf_file;

/* No mapping; a frame with this mapping is a pseudo frame (see unwind/frame.h). */
#define HS_MAPPING_NONE UINT32_MAX

enum hs_mapping_flags {
	HS_MAPPING_MAIN = 1,      /* the program's executable: first in a profile */
	HS_MAPPING_FILE = 2,      /* backed by a file that may be opened by path */
	HS_MAPPING_ANONYMOUS = 4, /* memory (line_kind.h) that is no ELF object: JIT code */
	HS_MAPPING_OWN = 8,       /* this library */
	HS_MAPPING_HINT = 16,     /* said by a hint: see map_hints.h */
	HS_MAPPING_FLAT = 32,     /* no ELF image, nor a hint's segment: load_bias gives offsets */
};

struct hs_mapping {
	uint64_t start;          /* first address */
	_Atomic uint64_t end;    /* first address past it; of anonymous memory it may grow */
	uint64_t offset;         /* file offset of start, bytes */
	uint64_t load_bias;      /* run-time address - ELF virtual address; modulo 2^64 */
	uint64_t inode;
	uint64_t device;         /* as st_dev, but stat(2) of some file systems differs */
	uint64_t eh_frame_hdr;   /* run-time address of .eh_frame_hdr, 0 = none */
	uint64_t eh_frame_hdr_bytes;
	uint64_t version;        /* of a file without a build id, 0 = not known: file_version.h */
	const char *path;        /* "//anon", "[vdso]", "[anon:NAME]", "/memfd:NAME" */
	/* Lower-case hex, read from memory, or from the file of a hint; "" = none. */
	char build_id[HS_BUILD_ID_HEX_BYTES];
	unsigned flags;          /* enum hs_mapping_flags */
};

/*
 * Whether the file is the mapping's: by build id or, if that is not known, by inode and version
 * (not by device: for some file systems the maps show another one than stat()).
 */
bool hs_mapping_is_of_file(const struct hs_mapping *mapping, const struct hs_elf_file *file);

#endif
