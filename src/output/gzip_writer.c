/* SPDX-License-Identifier: BSD-2-Clause */
/* A gzip stream into a file, by zlib.  See gzip_writer.h. */
#include "output/gzip_writer.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

#include "base/arena.h"
#include "output/dump_file.h"

enum {
	OUTPUT_BYTES = 64 * 1024,
	LEVEL = 3,             /* half of the time of the default level, for 5 % more bytes */
	WINDOW_BITS = 15 + 16, /* a window of 32 KiB; + 16: with gzip's header and trailer */
	MEMORY_LEVEL = 8,      /* zlib's default */
};

struct hs_gzip_writer {
	z_stream stream;
	const struct hs_dump_file *file;
	int error; /* of the first failed write */
	unsigned char output[OUTPUT_BYTES];
};

static voidpf allocate(voidpf opaque, uInt items, uInt size)
{
	(void)opaque;
	return hs_arena_alloc((size_t)items * size);
}

static void release(voidpf opaque, voidpf block)
{
	(void)opaque;
	hs_arena_free(block);
}

static void empty_output(struct hs_gzip_writer *writer)
{
	writer->stream.next_out = writer->output;
	writer->stream.avail_out = OUTPUT_BYTES;
}

int hs_gzip_writer_open(const struct hs_dump_file *file, struct hs_gzip_writer **out)
{
	struct hs_gzip_writer *writer = hs_arena_alloc(sizeof *writer);

	if (writer == NULL)
		return -ENOMEM;
	writer->file = file;
	writer->error = 0;
	writer->stream = (z_stream){.zalloc = allocate, .zfree = release};
	empty_output(writer);
	if (deflateInit2(&writer->stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		hs_arena_free(writer);
		return -ENOMEM;
	}
	*out = writer;
	return 0;
}

static int flush(struct hs_gzip_writer *writer)
{
	writer->error = hs_dump_file_write(writer->file, writer->output,
					   OUTPUT_BYTES - writer->stream.avail_out);
	empty_output(writer);
	return writer->error;
}

int hs_gzip_writer_write(struct hs_gzip_writer *writer, const void *bytes, size_t count)
{
	z_stream *stream = &writer->stream;

	stream->next_in = (z_const Bytef *)(uintptr_t)bytes;
	stream->avail_in = (uInt)count;
	while (stream->avail_in > 0 && writer->error == 0) {
		if (deflate(stream, Z_NO_FLUSH) != Z_OK)
			writer->error = -EIO;
		else if (stream->avail_out == 0)
			flush(writer);
	}
	return writer->error;
}

int hs_gzip_writer_finish(struct hs_gzip_writer *writer)
{
	int status = Z_OK;

	while (writer->error == 0 && status == Z_OK) {
		status = deflate(&writer->stream, Z_FINISH);
		if (status == Z_OK || status == Z_STREAM_END)
			flush(writer);
		else
			writer->error = -EIO;
	}
	return writer->error;
}

void hs_gzip_writer_close(struct hs_gzip_writer *writer)
{
	if (writer == NULL)
		return;
	deflateEnd(&writer->stream);
	hs_arena_free(writer);
}
