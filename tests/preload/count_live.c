/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A preloaded library that counts the blocks and the bytes that a program has asked for and not
 * freed, to compare with a profile.  It is preloaded before the library under test and sees the
 * same calls.  On SIGUSR1 it writes "OBJECTS BYTES" to the file $COUNT_LIVE_FILE.
 *
 * An open hash table of addresses and sizes in mapped memory, with a spin lock.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define SLOTS (UINT64_C(1) << 23)
#define GONE UINTPTR_MAX

struct slot {
	uintptr_t address; /* 0: never used */
	size_t size;
};

static struct slot *slots;
static char lock;
static uint64_t live_bytes, live_objects;

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);

static void on_signal(int number)
{
	char text[64];
	int fd = open(getenv("COUNT_LIVE_FILE"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int length = snprintf(text, sizeof text, "%llu %llu\n", (unsigned long long)live_objects,
			      (unsigned long long)live_bytes);

	(void)number;
	if (fd < 0 || write(fd, text, (size_t)length) != length)
		_exit(99);
	close(fd);
}

static void resolve(void)
{
	void *memory;

	if (slots != NULL)
		return;
	memory = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		_exit(99);
	*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next_free = dlsym(RTLD_NEXT, "free");
	*(void **)&next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	*(void **)&next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	slots = memory;
	if (getenv("COUNT_LIVE_FILE") != NULL)
		signal(SIGUSR1, on_signal);
}

static void acquire(void)
{
	while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		usleep(1);
}

static void release(void)
{
	__atomic_clear(&lock, __ATOMIC_RELEASE);
}

static uint64_t first_slot(uintptr_t address)
{
	return (address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - 23);
}

static void *add(void *address, size_t size)
{
	int saved = errno;

	if (address != NULL) {
		acquire();
		for (uint64_t i = first_slot((uintptr_t)address);; i = (i + 1) % SLOTS) {
			if (slots[i].address != 0 && slots[i].address != GONE)
				continue;
			slots[i].address = (uintptr_t)address;
			slots[i].size = size;
			break;
		}
		live_bytes += size;
		live_objects++;
		release();
	}
	errno = saved;
	return address;
}

/* The size that was asked for; SIZE_MAX if the address is not known. */
static size_t take(const void *address)
{
	size_t size = SIZE_MAX;
	int saved = errno;

	acquire();
	for (uint64_t i = first_slot((uintptr_t)address); slots[i].address != 0;
	     i = (i + 1) % SLOTS) {
		if (slots[i].address != (uintptr_t)address)
			continue;
		slots[i].address = GONE;
		size = slots[i].size;
		live_bytes -= size;
		live_objects--;
		break;
	}
	release();
	errno = saved;
	return size;
}

EXPORT void *malloc(size_t size)
{
	resolve();
	return add(next_malloc(size), size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	resolve();
	return add(next_calloc(count, size), count * size);
}

EXPORT void *realloc(void *old, size_t size)
{
	size_t old_size = SIZE_MAX;
	void *address;

	resolve();
	if (old != NULL)
		old_size = take(old);
	address = next_realloc(old, size);
	if (address == NULL && size != 0 && old_size != SIZE_MAX)
		add(old, old_size);
	return add(address, size);
}

EXPORT void free(void *address)
{
	resolve();
	if (address != NULL)
		take(address);
	next_free(address);
}

EXPORT int posix_memalign(void **address, size_t alignment, size_t size)
{
	int result;

	resolve();
	result = next_posix_memalign(address, alignment, size);
	if (result == 0)
		add(*address, size);
	return result;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	resolve();
	return add(next_aligned_alloc(alignment, size), size);
}
