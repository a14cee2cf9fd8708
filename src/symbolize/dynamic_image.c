/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamic symbols in memory.  See dynamic_image.h for the contract.
 * Source: System V ABI, chapter 5 (dynamic section, hash table); the GNU hash table as in
 * glibc's elf/dl-lookup.c.
 */
#include "symbolize/dynamic_image.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/elf_header.h"
#include "base/sys.h"

#define SEGMENTS_MAX 64
#define NOTES_MAX_BYTES 4096
#define DYNAMIC_MAX_BYTES 4096
#define NAMES_MAX_BYTES (64u << 20)
#define SYMBOLS_MAX (1u << 22)
#define CHUNK_SYMBOLS 256
#define CHUNK_WORDS 1024

struct image {
	uint64_t base; /* run-time address of ELF virtual address 0 */
	Elf64_Phdr segments[SEGMENTS_MAX];
	unsigned segment_count;
	uint64_t symbols; /* run-time addresses; 0: there is none */
	uint64_t names;
	uint64_t names_bytes;
	uint64_t hash;
	uint64_t gnu_hash;
	union {
		char notes[NOTES_MAX_BYTES];
		Elf64_Dyn dynamic[DYNAMIC_MAX_BYTES / sizeof(Elf64_Dyn)];
		uint32_t words[CHUNK_WORDS];
		Elf64_Sym symbols[CHUNK_SYMBOLS];
	} chunk;
};

/* at: the run-time address of the ELF header. */
static int read_headers_at(struct image *image, uint64_t at)
{
	Elf64_Ehdr header;
	int result = hs_sys_read_memory_all(at, &header, sizeof header);

	if (result < 0)
		return result;
	if (!hs_elf_header_is_ours(&header) || header.e_type != ET_DYN ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > SEGMENTS_MAX ||
	    header.e_phoff > UINT32_MAX)
		return -ENOEXEC;
	image->segment_count = header.e_phnum;
	return hs_sys_read_memory_all(at + header.e_phoff, image->segments,
				      header.e_phnum * sizeof(Elf64_Phdr));
}

/*
 * The header is at the object's first address, which is 0 unless the linker was told another one;
 * then its code is as far from there as in the file.
 */
static int read_headers(struct image *image, const struct hs_mapping *object)
{
	int result = read_headers_at(image, image->base);

	return result == 0 ? 0 : read_headers_at(image, object->start - object->offset);
}

static bool has_build_id(struct image *image, const char *build_id)
{
	char hex[HS_BUILD_ID_HEX_BYTES];

	for (unsigned i = 0; i < image->segment_count; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type == PT_NOTE && segment->p_memsz <= NOTES_MAX_BYTES &&
		    hs_sys_read_memory_all(image->base + segment->p_vaddr, image->chunk.notes,
					   segment->p_memsz) == 0 &&
		    hs_build_id_find(image->chunk.notes, segment->p_memsz, segment->p_align, hex))
			return strcmp(hex, build_id) == 0;
	}
	return false;
}

/* glibc has turned these addresses into run-time ones, but not those of the vDSO. */
static uint64_t run_time(const struct image *image, uint64_t address)
{
	return address < image->base ? image->base + address : address;
}

static int read_dynamic(struct image *image)
{
	const Elf64_Phdr *segment = image->segments, *end = segment + image->segment_count;
	size_t bytes;
	int result;

	while (segment < end && segment->p_type != PT_DYNAMIC)
		segment++;
	if (segment == end)
		return -ENOEXEC;
	bytes = segment->p_memsz < DYNAMIC_MAX_BYTES ? segment->p_memsz : DYNAMIC_MAX_BYTES;
	result =
		hs_sys_read_memory_all(image->base + segment->p_vaddr, image->chunk.dynamic, bytes);
	if (result < 0)
		return result;
	for (size_t i = 0; i < bytes / sizeof(Elf64_Dyn); i++) {
		const Elf64_Dyn *entry = &image->chunk.dynamic[i];

		if (entry->d_tag == DT_NULL)
			break;
		else if (entry->d_tag == DT_SYMTAB)
			image->symbols = run_time(image, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_STRTAB)
			image->names = run_time(image, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_STRSZ)
			image->names_bytes = entry->d_un.d_val;
		else if (entry->d_tag == DT_HASH)
			image->hash = run_time(image, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_GNU_HASH)
			image->gnu_hash = run_time(image, entry->d_un.d_ptr);
	}
	return image->symbols != 0 && image->names != 0 && image->names_bytes > 0 &&
			       image->names_bytes <= NAMES_MAX_BYTES
		       ? 0
		       : -ENOEXEC;
}

/* The highest of count words at address; 0 if they cannot be read. */
static uint32_t highest_word(struct image *image, uint64_t address, uint32_t count)
{
	uint32_t highest = 0;

	while (count > 0) {
		uint32_t part = count < CHUNK_WORDS ? count : CHUNK_WORDS;

		if (hs_sys_read_memory_all(address, image->chunk.words, part * sizeof(uint32_t)) <
		    0)
			return 0;
		for (uint32_t i = 0; i < part; i++) {
			if (image->chunk.words[i] > highest)
				highest = image->chunk.words[i];
		}
		address += part * sizeof(uint32_t);
		count -= part;
	}
	return highest;
}

/*
 * The table's length is not said; the GNU hash table ends with the chain of the bucket that
 * begins last, whose last word is odd.
 */
static uint32_t count_by_gnu_hash(struct image *image)
{
	struct {
		uint32_t buckets, first, bloom_words, shift;
	} header;
	uint64_t buckets, chains;
	uint32_t last, word;

	if (hs_sys_read_memory_all(image->gnu_hash, &header, sizeof header) < 0 ||
	    header.buckets > SYMBOLS_MAX || header.bloom_words > SYMBOLS_MAX)
		return 0;
	buckets = image->gnu_hash + sizeof header + header.bloom_words * sizeof(uint64_t);
	chains = buckets + header.buckets * sizeof(uint32_t);
	last = highest_word(image, buckets, header.buckets);
	if (last < header.first)
		return header.first < SYMBOLS_MAX ? header.first : 0;
	for (; last < SYMBOLS_MAX; last++) {
		if (hs_sys_read_memory_all(chains + (uint64_t)(last - header.first) * sizeof word,
					   &word, sizeof word) < 0)
			return 0;
		if ((word & 1) != 0)
			return last + 1;
	}
	return 0;
}

static uint32_t count_symbols(struct image *image)
{
	uint32_t header[2]; /* buckets, symbols */

	if (image->gnu_hash != 0)
		return count_by_gnu_hash(image);
	if (image->hash == 0 || hs_sys_read_memory_all(image->hash, header, sizeof header) < 0)
		return 0;
	return header[1] < SYMBOLS_MAX ? header[1] : SYMBOLS_MAX;
}

static const Elf64_Phdr *code_segment(const struct image *image, uint64_t address)
{
	for (unsigned i = 0; i < image->segment_count; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
		    address - segment->p_vaddr < segment->p_memsz)
			return segment;
	}
	return NULL;
}

static int add_symbol(const struct image *image, struct hs_symbol_list *list,
		      const Elf64_Sym *symbol)
{
	unsigned char type = ELF64_ST_TYPE(symbol->st_info);
	const Elf64_Phdr *segment = code_segment(image, symbol->st_value);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_shndx >= SHN_LORESERVE || segment == NULL ||
	    hs_symbol_name_length(list->names, list->names_bytes, symbol->st_name) == 0)
		return 0;
	return hs_symbol_list_add(list, symbol, segment->p_vaddr, segment->p_memsz,
				  symbol->st_name);
}

static int read_symbols(struct image *image, struct hs_symbol_list *list)
{
	uint32_t count = count_symbols(image), at, part;
	int result;

	list->names = hs_arena_alloc(image->names_bytes);
	if (list->names == NULL)
		return -ENOMEM;
	list->names_bytes = image->names_bytes;
	list->names_capacity = image->names_bytes;
	result = hs_sys_read_memory_all(image->names, list->names, list->names_bytes);
	for (at = 0; at < count && result == 0; at += part) {
		part = count - at < CHUNK_SYMBOLS ? count - at : CHUNK_SYMBOLS;
		result = hs_sys_read_memory_all(image->symbols + (uint64_t)at * sizeof(Elf64_Sym),
						image->chunk.symbols, part * sizeof(Elf64_Sym));
		for (uint32_t i = 0; i < part && result == 0; i++)
			result = add_symbol(image, list, &image->chunk.symbols[i]);
	}
	return result;
}

static int read_image(struct image *image, struct hs_symbol_list *list,
		      const struct hs_mapping *object)
{
	int result = read_headers(image, object);

	if (result == 0 &&
	    (object->build_id[0] == '\0' || !has_build_id(image, object->build_id)))
		result = -ESTALE;
	if (result == 0)
		result = read_dynamic(image);
	if (result == 0)
		result = read_symbols(image, list);
	return result;
}

int hs_dynamic_image_read(struct hs_symbol_list *list, const struct hs_mapping *object)
{
	struct image *image = hs_arena_zalloc(sizeof *image);
	int result;

	if (image == NULL)
		return -ENOMEM;
	image->base = object->load_bias;
	result = read_image(image, list, object);
	hs_arena_free(image);
	if (result < 0)
		hs_symbol_list_free(list);
	return result;
}
