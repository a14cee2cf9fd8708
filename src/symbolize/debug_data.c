/* SPDX-License-Identifier: BSD-2-Clause */
/* .gnu_debugdata.  See debug_data.h for the contract. */
#include "symbolize/debug_data.h"

#include <errno.h>
#include <lzma.h>
#include <string.h>

#include "base/arena.h"

#define COMPRESSED_MAX_BYTES (8u << 20)
#define IMAGE_MAX_BYTES (32u << 20)
#define DECODER_MAX_BYTES (32u << 20)

/* Doubled as long as the image does not fit. */
#define FIRST_IMAGE_BYTES (256u << 10)

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

/* Decode until the end of the stream into *image, which grows. */
static int decode(lzma_stream *stream, char **image, size_t *bytes)
{
	size_t capacity = 0;
	lzma_ret result = LZMA_OK;

	while (result == LZMA_OK) {
		size_t larger = capacity > 0 ? 2 * capacity : FIRST_IMAGE_BYTES;
		char *moved;

		if (larger > IMAGE_MAX_BYTES)
			return -EFBIG;
		moved = hs_arena_realloc(*image, larger);
		if (moved == NULL)
			return -ENOMEM;
		*image = moved;
		stream->next_out = (uint8_t *)moved + capacity;
		stream->avail_out = larger - capacity;
		capacity = larger;
		/* Ends with the input, or with the room. */
		result = lzma_code(stream, LZMA_FINISH);
		if (result == LZMA_OK && stream->avail_out > 0)
			return -EBADMSG;
	}
	*bytes = (size_t)stream->total_out;
	return result == LZMA_STREAM_END ? 0 : error_of(result);
}

static int decompress(const char *compressed, size_t compressed_bytes, char **image, size_t *bytes)
{
	static const lzma_allocator allocator = { .alloc = allocate, .free = release };
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret started;
	int result;

	stream.allocator = &allocator;
	stream.next_in = (const uint8_t *)compressed;
	stream.avail_in = compressed_bytes;
	started = lzma_stream_decoder(&stream, DECODER_MAX_BYTES, 0);
	result = started == LZMA_OK ? decode(&stream, image, bytes) : error_of(started);
	lzma_end(&stream);
	return result;
}

int hs_debug_data_open(struct hs_elf_file *data, const struct hs_elf_file *object)
{
	size_t index = hs_elf_file_find_name(object, ".gnu_debugdata"), bytes = 0;
	char *compressed, *image = NULL;
	Elf64_Shdr section;
	int result;

	if (index == 0 || !hs_elf_file_section(object, index, &section))
		return -ENOENT;
	if (section.sh_size > COMPRESSED_MAX_BYTES)
		return -EFBIG;
	compressed = hs_arena_alloc(section.sh_size);
	if (compressed == NULL)
		return -ENOMEM;
	result = hs_elf_file_read(object, compressed, section.sh_size, section.sh_offset);
	if (result == 0)
		result = decompress(compressed, section.sh_size, &image, &bytes);
	hs_arena_free(compressed);
	if (result == 0)
		return hs_elf_file_open_image(data, image, bytes);
	hs_arena_free(image);
	return result;
}
