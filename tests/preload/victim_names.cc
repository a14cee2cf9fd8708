/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that allocate, each its own size: a local one (163840), one of a library (196608), one
 * with the name of a Rust function (229376), a C++ method (327680).
 *
 * usage: victim_names [unlink | replace FILE | memfd LIBRARY | library LIBRARY]...
 *
 * unlink: removes its own file; replace: renames FILE to it; memfd: loads LIBRARY from memory;
 * library: loads LIBRARY and removes its file.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static void *volatile kept[16];
static int kept_count;

static void keep(void *block)
{
	kept[kept_count++ % 16] = block;
}

namespace shop {

template <class T> struct Store {
	__attribute__((noinline)) void *add(T size)
	{
		void *block = malloc(size);
		__asm__ volatile("" ::: "memory");
		return block;
	}
};

} // namespace shop

extern "C" void *rust_add(size_t size) __asm__("_RNvCs1234_4shop6rs_add");

extern "C" __attribute__((noinline)) void *rust_add(size_t size)
{
	void *block = malloc(size);
	__asm__ volatile("" ::: "memory");
	return block;
}

extern "C" {
static __attribute__((noinline)) void *local_function(size_t size)
{
	void *block = malloc(size);
	__asm__ volatile("" ::: "memory");
	return block;
}
}

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	keep(reinterpret_cast<void *(*)(size_t)>(dlsym(library, "library_function"))(196608));
}

static void load_from_memory(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC), copy = memfd_create("library", MFD_CLOEXEC);
	char name[64];
	struct stat status;

	if (file < 0 || copy < 0 || fstat(file, &status) < 0 ||
	    sendfile(copy, file, NULL, status.st_size) != status.st_size)
		exit(2);
	close(file);
	snprintf(name, sizeof name, "/proc/self/fd/%d", copy);
	load(name);
	close(copy);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "unlink") == 0 && unlink(argv[0]) < 0)
			return 2;
		if (strcmp(argv[i], "replace") == 0 && rename(argv[++i], argv[0]) < 0)
			return 2;
		if (strcmp(argv[i], "memfd") == 0) {
			load_from_memory(argv[++i]);
		} else if (strcmp(argv[i], "library") == 0) {
			load(argv[++i]);
			unlink(argv[i]);
		}
	}
	keep(local_function(163840));
	keep(rust_add(229376));
	keep(shop::Store<int>().add(327680));
	return 0;
}
