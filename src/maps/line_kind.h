/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a line of /proc/self/maps stands for, by its name.  name: the line's, by
 * hs_proc_maps_copy_name().
 * Threads: any.
 */
#ifndef HS_MAPS_LINE_KIND_H
#define HS_MAPS_LINE_KIND_H

#include "maps/proc_maps.h"

/* Opening or reading a device may do anything. */
bool hs_line_is_device(const char *name);

/* No file that could be opened, whether it has an inode or not: generated code, if any. */
bool hs_line_is_memory(const struct hs_proc_maps_line *line, const char *name);

/* Memory that was put where a file's pages were, as programs move their text to huge pages. */
bool hs_line_may_be_moved_text(const struct hs_proc_maps_line *line);

#endif
