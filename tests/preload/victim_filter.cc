/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations whose functions have something to hide.
 *
 *     victim_filter LIBRARY [FROM TO]
 *
 * Public functions allocate through secret ones: of this program in C (163840 bytes, by one
 * of two) and C++ (327680), and of LIBRARY (196608).  FROM is renamed to TO after that.
 * Prints the ranges of addresses that are secret: a function, "program" or "library"; START END.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

static void *volatile kept[64];
static int kept_count;

typedef void *(*allocator)(size_t size);

#define SECRET __attribute__((noinline)) void *

extern "C" {
static SECRET secret_first(size_t size)
{
	void *block = malloc(size);
	__asm__ volatile("" ::: "memory");
	return block;
}

static SECRET secret_second(size_t size)
{
	void *block = malloc(size);
	__asm__ volatile("" ::: "memory");
	return block;
}
}

namespace secrets {

template <class T> SECRET make(size_t size)
{
	void *block = malloc(size * sizeof(T));
	__asm__ volatile("" ::: "memory");
	return block;
}

} // namespace secrets

extern "C" __attribute__((noinline)) void public_function(allocator next, size_t size)
{
	kept[kept_count++ % 64] = next(size);
	__asm__ volatile("" ::: "memory");
}

static int print_object(struct dl_phdr_info *info, size_t, void *library)
{
	bool is_program = info->dlpi_name[0] == '\0';

	if (!is_program && strcmp(info->dlpi_name, static_cast<const char *>(library)) != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) &segment = info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment.p_vaddr;

		if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0)
			printf("%s %#lx %#lx\n", is_program ? "program" : "library", start,
			       start + segment.p_memsz);
	}
	return 0;
}

static void print_function(allocator function)
{
	uintptr_t start = reinterpret_cast<uintptr_t>(function);

	printf("function %#lx %#lx\n", start, start + 16); /* each is longer than that */
}

int main(int argc, char **argv)
{
	static const allocator secret[] = {secret_first, secret_second};
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	allocator of_library;

	if (library == NULL)
		return 2;
	of_library = reinterpret_cast<allocator>(dlsym(library, "library_function"));
	for (int i = 0; i < 10; i++)
		public_function(secret[i % 2], 163840);
	public_function(secrets::make<int>, 327680 / sizeof(int));
	public_function(of_library, 196608);
	if (argc > 3) {
		usleep(200000); /* samples are processed */
		if (rename(argv[2], argv[3]) < 0)
			return 2;
	}
	print_function(secret_first);
	print_function(secret_second);
	print_function(secrets::make<int>);
	dl_iterate_phdr(print_object, argv[1]);
	return 0;
}
