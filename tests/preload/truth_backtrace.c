/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A preloaded library that records the true stack of each allocation: the allocating thread
 * unwinds itself with unw_backtrace().  It is preloaded before the library under test, which sees
 * the same calls with one more frame.
 *
 * Writes to $TRUTH_FILE, which must not exist before: a word with the number of bytes used; then
 * for each allocation a word with the number of addresses, and the return addresses, innermost
 * first.  The file is mapped, so it is complete however the process ends.  The mappings of the
 * process go to $TRUTH_FILE.maps.
 *
 * libunwind is loaded with RTLD_LOCAL: linked, it would handle the program's exceptions.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define FILE_BYTES (UINT64_C(512) << 20)
#define DEPTH 1024

static uint64_t *record_words; /* NULL: not recording */
static pid_t owner;

/* Set during unw_backtrace(), whose own allocations are not recorded. */
static __thread int busy __attribute__((tls_model("initial-exec")));

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_memalign)(size_t, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static int (*backtrace_in_place)(void **, int);

static void resolve(void)
{
	if (next_malloc != NULL)
		return;
	*(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	*(void **)&next_memalign = dlsym(RTLD_NEXT, "memalign");
	*(void **)&next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
}

static void load_libunwind(void)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (library != NULL)
		*(void **)&backtrace_in_place = dlsym(library, "unw_backtrace");
	if (backtrace_in_place == NULL) {
		fprintf(stderr, "truth_backtrace: no unw_backtrace() in libunwind.so.8\n");
		_exit(99);
	}
}

static void copy_maps(const char *path)
{
	static char buffer[1 << 16];
	char name[4096];
	ssize_t bytes;
	int from = open("/proc/self/maps", O_RDONLY), to;

	snprintf(name, sizeof name, "%s.maps", path);
	to = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	while ((bytes = read(from, buffer, sizeof buffer)) > 0)
		if (write(to, buffer, (size_t)bytes) != bytes)
			_exit(99);
	close(from);
	close(to);
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("TRUTH_FILE");
	void *memory;
	int fd;

	resolve();
	if (path == NULL)
		return;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 && errno == EEXIST)
		return; /* it is another process's */
	if (fd < 0 || ftruncate(fd, (off_t)FILE_BYTES) != 0)
		_exit(99);
	memory = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		_exit(99);
	load_libunwind();
	copy_maps(path);
	owner = getpid();
	record_words = memory;
	*record_words = sizeof *record_words;
}

static __attribute__((noinline)) void record(const void *address)
{
	void *stack[DEPTH];
	uint64_t bytes, at, less;
	int depth, saved = errno;

	if (address == NULL || record_words == NULL || busy || getpid() != owner)
		return;
	busy = 1;
	depth = backtrace_in_place(stack, DEPTH);
	if (depth < 2)
		_exit(99);
	/* libunwind 1.3 gives addresses that are less by 1. */
	less = (uintptr_t)__builtin_return_address(0) - (uintptr_t)stack[1];
	if (less > 1)
		_exit(99);
	bytes = (uint64_t)(depth + 1) * sizeof *record_words;
	at = __atomic_fetch_add(record_words, bytes, __ATOMIC_RELAXED);
	if (at + bytes > FILE_BYTES)
		_exit(99);
	record_words[at / 8] = (uint64_t)depth;
	for (int i = 0; i < depth; i++)
		record_words[at / 8 + 1 + (uint64_t)i] = (uintptr_t)stack[i] + less;
	busy = 0;
	errno = saved;
}

EXPORT void *malloc(size_t size)
{
	void *address;

	resolve();
	address = next_malloc(size);
	record(address);
	return address;
}

EXPORT void *calloc(size_t count, size_t size)
{
	void *address;

	resolve();
	address = next_calloc(count, size);
	record(address);
	return address;
}

EXPORT void *realloc(void *old, size_t size)
{
	void *address;

	resolve();
	address = next_realloc(old, size);
	record(address);
	return address;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	void *address;

	resolve();
	address = next_aligned_alloc(alignment, size);
	record(address);
	return address;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	void *address;

	resolve();
	address = next_memalign(alignment, size);
	record(address);
	return address;
}

EXPORT int posix_memalign(void **address, size_t alignment, size_t size)
{
	int result;

	resolve();
	result = next_posix_memalign(address, alignment, size);
	record(result == 0 ? *address : NULL);
	return result;
}
