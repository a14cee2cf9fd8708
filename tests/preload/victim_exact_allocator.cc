// SPDX-License-Identifier: BSD-2-Clause
/*
 * An allocator, on top of libc's, with the scalar forms of operator new and delete only.  With
 * -DCALLS_MALLOC: these call malloc() and free() by name, where the profiler's come first.  With
 * -DONLY_NEW or -DONLY_DELETE: the other ones are the C++ library's.
 */
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>

extern "C" {
void *__libc_malloc(size_t size);
void __libc_free(void *block);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
	return __libc_malloc(size);
}

void free(void *block)
{
	__libc_free(block);
}

void *calloc(size_t count, size_t size)
{
	return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
	return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size)
{
	return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	*out = __libc_memalign(alignment, size);
	return *out != NULL ? 0 : ENOMEM;
}
}

#ifndef CALLS_MALLOC
#define malloc __libc_malloc
#define free __libc_free
#endif

#ifndef ONLY_DELETE
/* Blocks of operator new. */
extern "C" long new_in_use;
long new_in_use;

/* Its first call has a string made, by libc's call of malloc(). */
void *operator new(size_t size)
{
	static char *const name = strdup("name");
	void *block = malloc(size);

	if (name == NULL)
		throw std::bad_alloc();
	if (block == NULL)
		throw std::bad_alloc();
#ifndef ONLY_NEW
	__atomic_fetch_add(&new_in_use, 1, __ATOMIC_RELAXED);
#endif
	return block;
}
#endif

#ifndef ONLY_NEW
void operator delete(void *block) noexcept
{
#ifndef ONLY_DELETE
	if (block != NULL)
		__atomic_fetch_sub(&new_in_use, 1, __ATOMIC_RELAXED);
#endif
	free(block);
}

void operator delete(void *block, size_t) noexcept
{
	operator delete(block);
}
#endif
