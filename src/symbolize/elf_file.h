/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The section headers of an ELF object of this machine, and bounds-checked reads
 * of its contents: from a file with pread, or from an image in memory.
 *
 * Nothing is mapped or dereferenced, so that an object that shrinks or goes away
 * meanwhile gives an error.  Every value of the object is untrusted; what section
 * headers say is checked against the object's size by the reads.
 *
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_SYMBOLIZE_ELF_FILE_H
#define HS_SYMBOLIZE_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 32 bytes in hex and a NUL; longer build ids are cut, as they are for mappings. */
#define HS_ELF_BUILD_ID_HEX_BYTES 65

struct hs_elf_file {
	int fd;               /* owned; -1: an image in memory */
	uint64_t memory;      /* address of the image, if fd is -1 */
	uint64_t bytes;       /* size of the object */
	Elf64_Shdr *sections; /* owned; NULL: none, or not readable */
	uint32_t section_count;
	uint32_t name_section; /* index of the section names; may be out of range */
	char build_id[HS_ELF_BUILD_ID_HEX_BYTES]; /* lower-case hex; "" = none */
};

/*
 * Open an executable or shared object.  Returns 0 or -errno (-ENOEXEC: not such a
 * file of this machine; -ENOMEM; the error of open).  Damaged section headers: 0,
 * and no sections.  On failure there is nothing to close, but closing does no harm.
 */
int hs_elf_file_open(struct hs_elf_file *file, const char *path);
int hs_elf_file_open_memory(struct hs_elf_file *file, uint64_t start, uint64_t bytes);
void hs_elf_file_close(struct hs_elf_file *file);

/* Read exactly bytes at offset.  Returns 0 or -errno (-ENODATA: past the end). */
int hs_elf_file_read(const struct hs_elf_file *file, void *buffer, size_t bytes, uint64_t offset);

/* Section index, or NULL if there is none of this index. */
const Elf64_Shdr *hs_elf_file_section(const struct hs_elf_file *file, uint32_t index);

/* Index of the first section of a type (SHT_*), or 0 if there is none. */
uint32_t hs_elf_file_find_section(const struct hs_elf_file *file, uint32_t type);

/* Whether the object itself has DWARF line or debug information. */
bool hs_elf_file_has_dwarf(const struct hs_elf_file *file);

#endif
