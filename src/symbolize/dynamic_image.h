/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dynamic symbols of an object that is loaded, from its image in memory: for objects
 * whose file is out of reach (memfd, deleted libraries) or has no section headers.
 *
 * The image is read with hs_sys_read_memory_all(), never dereferenced, and is untrusted.  It
 * counts only if it has the build id that the object had, since by now something else may
 * be mapped there; so an object without a build id has none.
 *
 * Threads: profiler threads.  Memory: the arena.
 */
#ifndef HS_SYMBOLIZE_DYNAMIC_IMAGE_H
#define HS_SYMBOLIZE_DYNAMIC_IMAGE_H

#include "symbolize/object_file.h"
#include "symbolize/symbol_list.h"

/*
 * Fills an empty list with the functions that the object exports.  Returns 0 or -errno:
 * -ENOEXEC, no shared object of this machine is there; -ESTALE, another one than object;
 * -EFAULT; -ENOMEM.
 */
int hs_dynamic_image_read(struct hs_symbol_list *list, const struct hs_mapping *object);

#endif
