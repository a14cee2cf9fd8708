/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ELF object as it stands in memory: its segments, build id and unwind table.
 *
 * Read from the process's memory (hs_sys_read_memory_all), not from the file, which may
 * have been replaced since; nothing is dereferenced, so an object that is unmapped
 * meanwhile is an error.  All of it is untrusted: each address is checked to lie in
 * one of the object's segments.
 *
 * Threads: any.  Allocates: never.  Errno: preserved.
 */
#ifndef HS_MAPS_ELF_IMAGE_H
#define HS_MAPS_ELF_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"

/* PT_LOADs kept; linkers make at most a dozen.  What is past that has no names or unwinding. */
#define HS_ELF_SEGMENTS 32

/* A PT_LOAD: whole pages, run-time addresses. */
struct hs_elf_segment {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* file offset of start */
	bool executable;
};

struct hs_elf_image {
	uint64_t load_bias;    /* run-time address - ELF virtual address; modulo 2^64 */
	uint64_t eh_frame_hdr; /* run-time address, 0 = none */
	uint64_t eh_frame_hdr_bytes;
	char build_id[HS_BUILD_ID_HEX_BYTES]; /* lower-case hex; "" = none */
	uint32_t segment_count;
	struct hs_elf_segment segments[HS_ELF_SEGMENTS]; /* ascending, as in the file */
};

/* Where an object's program headers are in its file. */
struct hs_elf_headers {
	uint64_t offset;
	uint32_t bytes;
};

/*
 * Reads the object whose file offset 0 is mapped at [base, limit), with its program headers.
 * Returns 0, -ENOEXEC (not an ELF object of this machine) or -errno; then image is of no use.
 */
int hs_elf_image_read(struct hs_elf_image *image, uint64_t base, uint64_t limit);

/* The same in two steps, for headers that are mapped elsewhere, at address. */
int hs_elf_headers_find(struct hs_elf_headers *headers, uint64_t base, uint64_t limit);
int hs_elf_image_read_by_headers(struct hs_elf_image *image, uint64_t base, uint64_t address,
				 uint32_t bytes);

/*
 * The executable segment that code mapped at [start, end) from file offset `offset` belongs to, or
 * NULL if there is none at these addresses.
 */
const struct hs_elf_segment *hs_elf_image_code_segment(const struct hs_elf_image *image,
						       uint64_t start, uint64_t end,
						       uint64_t offset);

#endif
