/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compresses bytes into an open file, in gzip format.  Equal input gives equal output: there is no
 * time stamp.
 *
 * Called on: the producer.  Allocates: about 330 KiB of the arena, while open.  Blocks: on writes.
 */
#ifndef HS_OUTPUT_GZIP_WRITER_H
#define HS_OUTPUT_GZIP_WRITER_H

#include <stddef.h>

struct hs_dump_file;
struct hs_gzip_writer;

/* file stays the caller's.  Returns 0 and *out, or -ENOMEM. */
int hs_gzip_writer_open(const struct hs_dump_file *file, struct hs_gzip_writer **out);

/*
 * count: below 4 GiB.  0 or -errno; after a failure all further calls return the same error and
 * write nothing.
 */
int hs_gzip_writer_write(struct hs_gzip_writer *writer, const void *bytes, size_t count);

/* Writes what is left, and the trailer.  0 or -errno. */
int hs_gzip_writer_finish(struct hs_gzip_writer *writer);

/* Frees the writer, finished or not.  writer: may be NULL. */
void hs_gzip_writer_close(struct hs_gzip_writer *writer);

#endif
