/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * With -DLIBRARY: a library whose malloc and free count calls and pass them on.  Without: a program
 * that calls operator new and delete a thousand times, and prints the library's counts.
 */
#include <cstddef>
#include <cstdio>
#include <new>

#ifdef LIBRARY
#include <dlfcn.h>

extern "C" {
unsigned long first_mallocs, first_frees;

void *malloc(std::size_t size)
{
	static void *(*next)(std::size_t);

	if (next == nullptr)
		*reinterpret_cast<void **>(&next) = dlsym(RTLD_NEXT, "malloc");
	first_mallocs++;
	return next(size);
}

void free(void *block)
{
	static void (*next)(void *);

	if (next == nullptr)
		*reinterpret_cast<void **>(&next) = dlsym(RTLD_NEXT, "free");
	first_frees++;
	next(block);
}
}
#else
extern "C" unsigned long first_mallocs __attribute__((weak)), first_frees __attribute__((weak));

extern "C" __attribute__((noinline)) void *site_first()
{
	void *block = ::operator new(100);

	__asm__ volatile("" : "+r"(block));
	return block;
}

int main()
{
	unsigned long mallocs, frees;

	if (&first_mallocs == nullptr || &first_frees == nullptr) {
		std::puts("none");
		return 0;
	}
	mallocs = first_mallocs;
	frees = first_frees;
	for (unsigned i = 0; i < 1000; i++)
		::operator delete(site_first());
	std::printf("%lu %lu\n", first_mallocs - mallocs, first_frees - frees);
	return 0;
}
#endif
