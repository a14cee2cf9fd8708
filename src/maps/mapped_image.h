/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the ELF object that begins with a line of /proc/self/maps.
 *
 * Linkers put the program headers behind the ELF header, in the same line; llvm-bolt moves them
 * into a segment of its own at the end of the file.
 *
 * Threads: any.  Allocates: never.  Errno: preserved.
 */
#ifndef HS_MAPS_MAPPED_IMAGE_H
#define HS_MAPS_MAPPED_IMAGE_H

#include "maps/elf_image.h"
#include "maps/proc_maps.h"

/*
 * Reads the object whose file begins at line; rest: the lines that follow.
 * Returns as hs_elf_image_read().
 */
int hs_mapped_image_read(struct hs_elf_image *image, struct hs_proc_maps rest,
			 struct hs_proc_maps_line line);

/*
 * Programs that move their text to huge pages may move the ELF header in front of it too.  If line
 * is such memory, turns it into one of the file that follows, which is as far from its beginning as
 * in the file.  rest: the lines that follow.
 */
void hs_mapped_image_put_back_start(const struct hs_proc_maps *rest,
				    struct hs_proc_maps_line *line);

#endif
