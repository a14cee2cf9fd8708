/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ELF object of this machine: its sections, by libelf, and bounds-checked reads of
 * its contents.
 *
 * A file is read with pread, in the pieces that are asked for: nothing is mapped, so
 * that a file that shrinks or goes away meanwhile gives an error.  An image in memory is
 * copied first.  libelf keeps what it has read until the end, so it is asked for headers,
 * notes and names of sections; the large tables are read with hs_elf_file_read().
 * Every value of the object is untrusted.
 *
 * libelf has assertions: call all of this inside hs_elf_file_use(), or hs_elf_file_catch().
 * Threads: profiler threads.  Memory: the arena.
 */
#ifndef HS_BASE_ELF_FILE_H
#define HS_BASE_ELF_FILE_H

#include <elf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/descriptor.h"

/* All zero: nothing is open; may be closed. */
struct hs_elf_file {
	struct hs_descriptor descriptor; /* owned; closed: an image in memory */
	char *image;    /* owned; NULL: a file */
	uint64_t bytes; /* size of the object */
	Elf *elf;       /* owned */
	uint16_t type;  /* ET_EXEC, ET_DYN or ET_REL */
	uint64_t version; /* of its contents: base/file_version.h; 0: an image */
	char build_id[HS_BUILD_ID_HEX_BYTES]; /* lower-case hex; "" = none */
};

/*
 * Opens an executable, a shared object or a relocatable object.  Returns 0 or -errno
 * (-ENOEXEC: not such a file of this machine; -ENOMEM; -EIO, or another error of open).  Damaged
 * section headers: 0, and no sections.  On failure nothing is open.
 */
int hs_elf_file_open(struct hs_elf_file *file, const char *path);

/* The same of an image in the arena, which is file's from now on, even on failure. */
int hs_elf_file_open_image(struct hs_elf_file *file, char *image, size_t bytes);

/* The same of memory of this process, by a copy.  -EINVAL: no object is that large. */
int hs_elf_file_open_memory(struct hs_elf_file *file, uint64_t start, uint64_t bytes);

/*
 * Whether an error comes from a shortage of memory or descriptors, or is that of the file's device
 * or server (-EIO): it may work later.
 */
bool hs_elf_file_is_shortage(int error);

/*
 * hs_assertion_catch(), and *failed, whether a read of a file failed meanwhile: what could not be
 * read then counts as missing.  If function() fails too the result is -EIO.  function() may call
 * this too: each call tells of its own reads.
 */
int hs_elf_file_catch(int (*function)(void *context), void *context, bool *failed);

/* The same with a file for function() to open: it is closed afterwards, in any case. */
int hs_elf_file_use(int (*function)(void *context, struct hs_elf_file *file), void *context);

void hs_elf_file_close(struct hs_elf_file *file);

/* In a forked child: closes the descriptor only, if it is ours; it cannot be read any more. */
void hs_elf_file_close_descriptor(struct hs_elf_file *file);

/*
 * After a failed assertion: closes the descriptor, and leaves alone what libelf held.
 */
void hs_elf_file_abandon(struct hs_elf_file *file);

/* Reads exactly bytes at offset.  Returns 0 or -errno (-ENODATA: past the end). */
int hs_elf_file_read(const struct hs_elf_file *file, void *buffer, size_t bytes, uint64_t offset);

/* The header of section index.  false: there is none. */
bool hs_elf_file_section(const struct hs_elf_file *file, size_t index, Elf64_Shdr *out);

/* Whether the section's contents lie in the file, and are not larger than 1 GiB. */
bool hs_elf_file_has_contents(const struct hs_elf_file *file, const Elf64_Shdr *section);

/* The index of the first section of a type (SHT_*), or of a name and with contents.  0: none. */
size_t hs_elf_file_find_type(const struct hs_elf_file *file, uint32_t type);
size_t hs_elf_file_find_name(const struct hs_elf_file *file, const char *name);

/* Whether the object itself has DWARF line or debug information. */
bool hs_elf_file_has_dwarf(const struct hs_elf_file *file);

#endif
