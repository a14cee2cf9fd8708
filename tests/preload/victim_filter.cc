/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates in functions whose names are to be hidden.
 *
 * usage: victim_filter LIBRARY [FROM TO]
 *
 * A public function calls secret ones: two in C (163840 bytes each time), one in C++ (327680), one
 * of LIBRARY (196608).  Then renames FROM to TO.  Prints the address ranges that may be secret, as
 * KIND START END; KIND is "function", "program" or "library".
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

	printf("function %#lx %#lx\n", start, start + 16); /* all are longer */
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
