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

#include <libelf.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/elf_code.h"

struct hs_hint_object {
	uint64_t device; /* as of stat(2) */
	uint64_t inode;
	struct hs_elf_code code; /* of no segments: an ET_REL object, or one without code */
};

/*
 * Reads the program headers.  Returns 0 or -errno (-ENOEXEC: no ELF object of this
 * machine); *object then says what is known of the file: nothing, or device and inode.
 */
int hs_hint_object_read(const char *path, struct hs_hint_object *object);

/*
 * Calls use() for an ELF object of this machine, of type ET_REL, ET_DYN or ET_EXEC, that is
 * open meanwhile.  *file: what stat() says of it, all 0 if it cannot be opened.
 * Returns what use() returns, or -errno: that of hs_sys_open_regular(); -ENOEXEC; -EIO, a failed
 * assertion of libelf's.
 */
int hs_hint_object_use(const char *path, struct stat *file, int (*use)(void *context, Elf *elf),
		       void *context);

#endif
