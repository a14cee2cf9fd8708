/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .gnu_debugdata: the input after its first byte is this section of an object that has no other
 * symbols.  If the first byte is 1 the section is compressed before use, so that damage gets into
 * the image: damaged compressed bytes do not get past their checksums.
 */
#include "symbolize/symbols.h"

#include <lzma.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/elf_writer.h"
#include "fuzz.h"
#include "symbolize/debug_file.h"

#define SECTION_BYTES ((size_t)64 << 10)

static uint8_t section[SECTION_BYTES];

static size_t compress(const uint8_t *data, size_t bytes)
{
	size_t used = 0;

	if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, data, bytes, section, &used,
				    sizeof section) != LZMA_OK)
		return 0;
	return used;
}

/* An object whose only contents are the section. */
static void write_object(int fd, const void *contents, size_t bytes)
{
	static struct elf_image image;
	Elf64_Shdr *header;

	elf_write(&image, &(struct elf_spec){.debug_name = ".gnu_debugdata"});
	header = elf_section(&image, ELF_DEBUG);
	header->sh_offset = image.bytes;
	header->sh_size = bytes;
	MUST(ftruncate(fd, 0) == 0);
	MUST(pwrite(fd, image.data, image.bytes, 0) == (ssize_t)image.bytes);
	MUST(pwrite(fd, contents, bytes, (off_t)image.bytes) == (ssize_t)bytes);
}

static void look_up(struct hs_symbols *symbols)
{
	for (uint64_t address = 0; address < 0x8000; address += 0x80) {
		const char *name = hs_symbols_find(symbols, address);

		MUST(name == NULL || name[0] != '\0');
	}
	hs_symbols_free(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int fd = -1;
	char path[64];
	struct hs_mapping object = {.path = path, .flags = HS_MAPPING_FILE};
	struct hs_symbols *symbols;
	size_t used;

	hs_arena_init(FUZZ_BUDGET);
	hs_debug_file_root = "/nonexistent";
	used = hs_arena_used();
	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (bytes > 0 && data[0] == 1)
		write_object(fd, section, compress(data + 1, bytes - 1));
	else if (bytes > 0)
		write_object(fd, data + 1, bytes - 1);
	else
		write_object(fd, data, 0);
	if (hs_symbols_load(&object, NULL, NULL, &symbols) == 0)
		look_up(symbols);
	MUST(hs_arena_used() == used);
	return 0;
}
