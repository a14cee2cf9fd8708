/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compresses a stream of bytes into an open file, gzip format (zlib), the same
 * bytes for the same input (no time stamp).
 * Threads: the producer.  Memory: the arena (about 330 KiB while open).
 */
#ifndef HS_OUTPUT_GZIP_WRITER_H
#define HS_OUTPUT_GZIP_WRITER_H

#include <stddef.h>

struct hs_dump_file;
struct hs_gzip_writer;

/*
 * file stays the caller's.  That it is ours is asked before each write(2): -EBADF if not.
 * Returns 0 and *out, or -ENOMEM.
 */
int hs_gzip_writer_open(const struct hs_dump_file *file, struct hs_gzip_writer **out);

/*
 * Has the shape of struct hs_byte_sink's write: context is the writer.  0 or -errno;
 * after a failure all further calls return the same error and write nothing.
 */
int hs_gzip_writer_write(void *context, const void *bytes, size_t count);

/* Write what is left and the trailer.  0 or -errno.  Then close. */
int hs_gzip_writer_finish(struct hs_gzip_writer *writer);
void hs_gzip_writer_close(struct hs_gzip_writer *writer);

#endif
