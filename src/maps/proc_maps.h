/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of /proc/self/maps, line by line.
 *
 * The parser allocates nothing and keeps nothing: a line's name points into the
 * text.  Lines that make no sense are passed over and counted.
 * Source of the format: proc(5); show_map_vma() of the kernel.
 *
 * Threads: any.  Errno: preserved.
 */
#ifndef HS_MAPS_PROC_MAPS_H
#define HS_MAPS_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hs_proc_maps_permissions {
	HS_PROC_MAPS_READ = 1,
	HS_PROC_MAPS_WRITE = 2,
	HS_PROC_MAPS_EXECUTE = 4,
	HS_PROC_MAPS_SHARED = 8,
};

struct hs_proc_maps_line {
	uint64_t start;
	uint64_t end;         /* above start */
	uint64_t offset;      /* bytes into the file */
	uint64_t device;      /* as st_dev of stat(2) */
	uint64_t inode;       /* 0 = no file */
	unsigned permissions; /* enum hs_proc_maps_permissions */
	bool deleted;         /* the name ended in " (deleted)", which is cut */
	const char *name;     /* as the kernel wrote it, not NUL-terminated; see _copy_name() */
	size_t name_bytes;
};

struct hs_proc_maps {
	const char *next;
	const char *end;
	uint64_t skipped; /* lines that made no sense so far */
};

/* Starts at the first line.  text need not end in a NUL or a newline; a NUL ends it. */
void hs_proc_maps_begin(struct hs_proc_maps *maps, const char *text, size_t bytes);

/* Gives the next good line.  Returns false at the end of the text. */
bool hs_proc_maps_next(struct hs_proc_maps *maps, struct hs_proc_maps_line *line);

/*
 * Copies the name, with a newline for each "\012" (the one character that the kernel
 * escapes here), cut to capacity - 1 bytes and NUL-terminated.  capacity at least 1;
 * name_bytes + 1 is always enough.  Returns the length.
 */
size_t hs_proc_maps_copy_name(const struct hs_proc_maps_line *line, char *buffer, size_t capacity);

#endif
