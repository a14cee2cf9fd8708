/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads ELF objects whose program headers are anywhere.  Run by the unwinding worker. */
#include "maps/mapped_image.h"

#include <errno.h>

#include "maps/line_kind.h"

static bool is_in_line(const struct hs_elf_headers *headers, const struct hs_proc_maps_line *line)
{
	uint64_t bytes = line->end - line->start;
	uint64_t before = headers->offset - line->offset;

	return (line->permissions & HS_PROC_MAPS_READ) != 0 && headers->offset >= line->offset &&
	       before <= bytes && headers->bytes <= bytes - before;
}

/*
 * The run-time address of the headers, 0 = they are not mapped.  The object's lines end before
 * another file's, and before the next one of file offset 0.
 */
static uint64_t locate(const struct hs_elf_headers *headers, struct hs_proc_maps rest,
		       struct hs_proc_maps_line line)
{
	const struct hs_proc_maps_line first = line;

	do {
		if (line.inode == 0)
			continue;
		if (line.inode != first.inode || line.device != first.device)
			return 0;
		if (line.offset == 0 && line.start != first.start)
			return 0;
		if (is_in_line(headers, &line))
			return line.start + (headers->offset - line.offset);
	} while (hs_proc_maps_next(&rest, &line));
	return 0;
}

int hs_mapped_image_read(struct hs_elf_image *image, struct hs_proc_maps rest,
			 struct hs_proc_maps_line line)
{
	struct hs_elf_headers headers;
	int error = hs_elf_headers_find(&headers, line.start, line.end);
	uint64_t address;

	if (error < 0)
		return error;
	address = locate(&headers, rest, line);
	return address == 0 ? -ENOEXEC
			    : hs_elf_image_read_by_headers(image, line.start, address,
							   headers.bytes);
}

void hs_mapped_image_put_back_start(const struct hs_proc_maps *rest, struct hs_proc_maps_line *line)
{
	struct hs_proc_maps following = *rest;
	struct hs_elf_headers headers;
	struct hs_proc_maps_line file;

	if (!hs_line_may_be_moved_text(line) || !hs_proc_maps_next(&following, &file) ||
	    file.inode == 0 || file.start != line->end ||
	    file.offset != line->end - line->start ||
	    hs_elf_headers_find(&headers, line->start, line->end) < 0)
		return;
	file.start = line->start;
	file.end = line->end;
	file.permissions = line->permissions;
	file.offset = 0;
	*line = file;
}
