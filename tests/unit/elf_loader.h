/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads the images of elf_writer.h by way of a memory file, and says which names to expect. */
#ifndef HS_TESTS_ELF_LOADER_H
#define HS_TESTS_ELF_LOADER_H

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_writer.h"
#include "symbolize/symbols.h"

/* Loads a file of any kind. */
static inline int load_path(const char *path, const char *build_id, const struct hs_wanted *wanted,
			    struct hs_symbols **symbols)
{
	struct hs_mapping object = {.path = path, .flags = HS_MAPPING_FILE | HS_MAPPING_HINT};

	snprintf(object.build_id, sizeof object.build_id, "%s", build_id);
	return hs_symbols_load(&object, wanted, NULL, symbols);
}

/* NULL on failure; the result of the load in *result. */
static inline struct hs_symbols *load_wanted(const void *data, size_t bytes, const char *build_id,
					     const struct hs_wanted *wanted, int *result)
{
	struct hs_symbols *symbols = NULL;
	int fd = memfd_create("image", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		__builtin_trap();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	*result = load_path(path, build_id, wanted, &symbols);
	close(fd);
	return symbols;
}

/* Loads the names of all addresses. */
static inline struct hs_symbols *load_bytes(const void *data, size_t bytes, const char *build_id,
					    int *result)
{
	return load_wanted(data, bytes, build_id, NULL, result);
}

static inline struct hs_symbols *load_image(const struct elf_image *image, int *result)
{
	return load_bytes(image->data, image->bytes, "", result);
}

static inline bool contains(const struct elf_symbol *symbol, uint64_t address)
{
	return address >= symbol->value &&
	       address - symbol->value < (symbol->bytes > 0 ? symbol->bytes : 1);
}

static inline int binding_order(const struct elf_symbol *symbol)
{
	return symbol->binding == STB_WEAK ? 1 : symbol->binding == STB_LOCAL ? 0 : 2;
}

/* Whether a, rather than b, names an address in both, by the rules of symbols.h. */
static inline bool is_preferred(const struct elf_symbol *a, const struct elf_symbol *b)
{
	if ((a->bytes > 0) != (b->bytes > 0))
		return a->bytes > 0;
	if (a->value != b->value)
		return a->value > b->value;
	if (binding_order(a) != binding_order(b))
		return binding_order(a) > binding_order(b);
	if ((a->name[0] == '_') != (b->name[0] == '_'))
		return b->name[0] == '_';
	if (strlen(a->name) != strlen(b->name))
		return strlen(a->name) < strlen(b->name);
	return strcmp(a->name, b->name) < 0;
}

/* The expected name of an address, found by looking at every symbol. */
static inline const char *expected_name(const struct elf_symbol *symbols, size_t count,
					uint64_t address)
{
	const struct elf_symbol *best = NULL;
	size_t i;

	for (i = 0; i < count; i++) {
		if (contains(&symbols[i], address) &&
		    (best == NULL || is_preferred(&symbols[i], best)))
			best = &symbols[i];
	}
	return best == NULL ? NULL : best->name;
}

static inline bool same_name(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

#endif
