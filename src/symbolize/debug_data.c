/* SPDX-License-Identifier: BSD-2-Clause */
/* .gnu_debugdata.  See debug_data.h for the contract. */
#include "symbolize/debug_data.h"

#include <errno.h>
#include <lzma.h>

#include "base/arena.h"

#define COMPRESSED_MAX_BYTES (8u << 20)
#define IMAGE_MAX_BYTES (32u << 20)
#define DECODER_MAX_BYTES (32u << 20)

/* Doubled as long as the image does not fit. */
#define FIRST_IMAGE_BYTES (256u << 10)

/* Decompressed between two pauses, a millisecond or two; rooms are multiples of it. */
#define PIECE_BYTES (64u << 10)

struct hs_debug_data {
	lzma_stream stream; /* all zero is LZMA_STREAM_INIT */
	char *compressed;
	char *image; /* of capacity bytes */
	size_t capacity;
};

static void *allocate(void *unused, size_t count, size_t bytes)
{
	(void)unused;
	return count > SIZE_MAX / (bytes | 1) ? NULL : hs_arena_alloc(count * bytes);
}

static void release(void *unused, void *block)
{
	(void)unused;
	hs_arena_free(block);
}

static int error_of(lzma_ret result)
{
	if (result == LZMA_MEM_ERROR)
		return -ENOMEM;
	return result == LZMA_MEMLIMIT_ERROR ? -EFBIG : -EBADMSG;
}

/* Doubles the room for the image.  0 or -errno. */
static int grow(struct hs_debug_data *work)
{
	size_t larger = work->capacity > 0 ? 2 * work->capacity : FIRST_IMAGE_BYTES;
	char *moved;

	if (larger > IMAGE_MAX_BYTES)
		return -EFBIG;
	moved = hs_arena_realloc(work->image, larger);
	if (moved == NULL)
		return -ENOMEM;
	work->image = moved;
	work->capacity = larger;
	return 0;
}

/* Decodes until the end of the stream.  0 or -errno. */
static int decode(struct hs_debug_data *work, struct hs_pauses *pauses)
{
	lzma_stream *stream = &work->stream;
	lzma_ret result = LZMA_OK;

	while (result == LZMA_OK) {
		size_t done = (size_t)stream->total_out;
		int error = done == work->capacity ? grow(work) : 0;

		if (error != 0)
			return error;
		stream->next_out = (uint8_t *)work->image + done;
		stream->avail_out = PIECE_BYTES;
		/* Ends with the input, or with the room. */
		result = lzma_code(stream, LZMA_FINISH);
		if (result == LZMA_OK && stream->avail_out > 0)
			return -EBADMSG;
		if (pauses != NULL)
			hs_pauses_take(pauses);
	}
	return result == LZMA_STREAM_END ? 0 : error_of(result);
}

static int decompress(struct hs_debug_data *work, size_t bytes, struct hs_pauses *pauses)
{
	static const lzma_allocator allocator = {.alloc = allocate, .free = release};
	lzma_ret started;

	work->stream.allocator = &allocator;
	work->stream.next_in = (const uint8_t *)work->compressed;
	work->stream.avail_in = bytes;
	started = lzma_stream_decoder(&work->stream, DECODER_MAX_BYTES, 0);
	return started == LZMA_OK ? decode(work, pauses) : error_of(started);
}

int hs_debug_data_open(struct hs_elf_file *data, const struct hs_elf_file *object,
		       struct hs_debug_data **work, struct hs_pauses *pauses)
{
	size_t index = hs_elf_file_find_name(object, ".gnu_debugdata"), bytes;
	char *image = NULL;
	Elf64_Shdr section;
	int result = -ENOMEM;

	if (index == 0 || !hs_elf_file_section(object, index, &section))
		return -ENOENT;
	if (section.sh_size > COMPRESSED_MAX_BYTES)
		return -EFBIG;
	*work = hs_arena_zalloc(sizeof **work);
	if (*work == NULL)
		return -ENOMEM;
	(*work)->compressed = hs_arena_alloc(section.sh_size);
	if ((*work)->compressed != NULL)
		result = hs_elf_file_read(object, (*work)->compressed, section.sh_size,
					  section.sh_offset);
	if (result == 0)
		result = decompress(*work, section.sh_size, pauses);
	bytes = (size_t)(*work)->stream.total_out;
	if (result == 0) {
		image = (*work)->image;
		(*work)->image = NULL;
	}
	hs_debug_data_end(*work);
	*work = NULL;
	return result == 0 ? hs_elf_file_open_image(data, image, bytes) : result;
}

void hs_debug_data_end(struct hs_debug_data *work)
{
	if (work == NULL)
		return;
	lzma_end(&work->stream);
	hs_arena_free(work->compressed);
	hs_arena_free(work->image);
	hs_arena_free(work);
}
