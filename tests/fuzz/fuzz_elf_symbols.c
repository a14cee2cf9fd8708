/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzer of the symbol reader: any bytes as an object file and as an image in
 * memory.  A libFuzzer entry; with HS_FUZZ_STANDALONE a program that runs the files
 * given as arguments.
 */
#include "symbolize/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "symbolize/debug_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Each name found must be a text; the addresses looked at are those the input may hold. */
static void use_symbols(struct hs_symbols *symbols, const uint8_t *data, size_t bytes)
{
	uint64_t address;
	size_t i;

	for (i = 0; i + sizeof address <= bytes && i < 4096; i += sizeof address) {
		const char *name;

		memcpy(&address, data + i, sizeof address);
		name = hs_symbols_find(symbols, address);
		if (name != NULL && (name[0] == '\0' || strlen(name) > bytes))
			abort();
	}
	hs_symbols_object_has_dwarf(symbols);
	hs_symbols_free(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct hs_symbols *symbols;
	char path[64];
	size_t used;
	int fd;

	if (hs_arena_init((size_t)64 << 20) < 0)
		abort();
	hs_debug_file_root = "/nonexistent";
	used = hs_arena_used();
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (hs_symbols_load(path, "", &symbols) == 0)
		use_symbols(symbols, data, bytes);
	close(fd);
	if (hs_symbols_load_memory((uintptr_t)data, bytes, &symbols) == 0)
		use_symbols(symbols, data, bytes);
	if (hs_arena_used() != used)
		abort();
	return 0;
}

#ifdef HS_FUZZ_STANDALONE
static int run_file(const char *path)
{
	FILE *file = fopen(path, "re");
	uint8_t *data = NULL;
	size_t bytes = 0, got;

	if (file == NULL) {
		perror(path);
		return 1;
	}
	do {
		data = realloc(data, bytes + 65536);
		if (data == NULL)
			abort();
		got = fread(data + bytes, 1, 65536, file);
		bytes += got;
	} while (got > 0);
	fclose(file);
	LLVMFuzzerTestOneInput(data, bytes);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int i, failures = 0;

	for (i = 1; i < argc; i++)
		failures |= run_file(argv[i]);
	return failures;
}
#endif
