/* SPDX-License-Identifier: BSD-2-Clause */
/* The symbol reader: any bytes as an object file and as an image in memory. */
#include "symbolize/symbols.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "symbolize/debug_file.h"

/* Each name that is found must be a text.  Looks up addresses that the input may contain. */
static void use_symbols(struct hs_symbols *symbols, const uint8_t *data, size_t bytes)
{
	uint64_t address;
	size_t i;

	for (i = 0; i + sizeof address <= bytes && i < 4096; i += sizeof address) {
		const char *name;

		memcpy(&address, data + i, sizeof address);
		name = hs_symbols_find(symbols, address);
		MUST(name == NULL || (name[0] != '\0' && strlen(name) <= bytes));
	}
	hs_symbols_object_has_dwarf(symbols);
	hs_symbols_free(symbols);
}

/* Loads the input again, now only the names of some addresses that it may contain. */
static void use_wanted(const struct hs_mapping *object, const uint8_t *data, size_t bytes)
{
	uint64_t addresses[64] = {0}, address;
	const struct hs_wanted wanted = { addresses, 64 };
	struct hs_symbols *symbols;

	for (size_t i = 1; i < 64; i++) {
		addresses[i] = addresses[i - 1];
		if ((i + 1) * sizeof address <= bytes)
			memcpy(&address, data + i * sizeof address, sizeof address);
		else
			address = 0x1000 + 16 * i;
		if (address > addresses[i])
			addresses[i] = address;
	}
	if (hs_symbols_load(object, &wanted, NULL, &symbols) == 0)
		use_symbols(symbols, data, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char path[64];
	struct hs_mapping object = {.path = path, .flags = HS_MAPPING_FILE};
	struct hs_symbols *symbols;
	size_t used;
	int fd;

	hs_arena_init(FUZZ_BUDGET);
	hs_debug_file_root = "/nonexistent";
	used = hs_arena_used();
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	MUST(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (hs_symbols_load(&object, NULL, NULL, &symbols) == 0)
		use_symbols(symbols, data, bytes);
	use_wanted(&object, data, bytes);
	close(fd);
	if (hs_symbols_load_memory((uintptr_t)data, bytes, NULL, &symbols) == 0)
		use_symbols(symbols, data, bytes);
	MUST(hs_arena_used() == used);
	return 0;
}
