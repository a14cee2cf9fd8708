// SPDX-License-Identifier: BSD-2-Clause
/*
 * With -DFORMS: a library of a C program with some forms of operator new and delete of its own,
 * whose blocks begin with a header (-DSCALARS: all that are not of arrays); with -DSTATIC: one that
 * gets some from the C++ library that is linked into it.  Without: one that the program opens,
 * which has the other forms from the C++ library, and prints how many blocks of the first one's are
 * in use.
 */
#include <cstdio>
#include <cstdlib>

#ifdef FORMS
#include <cstddef>

struct header {
	size_t mark;
	size_t size;
};

static const size_t MARK = 0x6d61726b;
extern "C" long forms_in_use;
long forms_in_use;

void *operator new(size_t size)
{
	struct header *header = static_cast<struct header *>(malloc(size + sizeof *header));

	*header = {MARK, size};
	forms_in_use++;
	return header + 1;
}

void operator delete(void *block) noexcept
{
	struct header *header = static_cast<struct header *>(block) - 1;

	if (block == NULL)
		return;
	if (header->mark != MARK) {
		printf("not a block of operator new\n");
		exit(1);
	}
	forms_in_use--;
	free(header);
}

void operator delete(void *block, size_t) noexcept
{
	operator delete(block);
}

#ifdef SCALARS
#include <new>

void *operator new(size_t size, const std::nothrow_t &) noexcept
{
	return operator new(size);
}

void operator delete(void *block, const std::nothrow_t &) noexcept
{
	operator delete(block);
}

/* The header is at the end of as many bytes as it is aligned to, with those before it. */
void *operator new(size_t size, std::align_val_t align)
{
	size_t before = static_cast<size_t>(align);
	char *memory = static_cast<char *>(aligned_alloc(before, size + before));

	*reinterpret_cast<struct header *>(memory + before - sizeof(struct header)) = {MARK, size};
	forms_in_use++;
	return memory + before;
}

void operator delete(void *block, std::align_val_t align) noexcept
{
	struct header *header = static_cast<struct header *>(block) - 1;

	if (header->mark != MARK) {
		printf("not a block of operator new\n");
		exit(1);
	}
	forms_in_use--;
	free(static_cast<char *>(block) - static_cast<size_t>(align));
}

void operator delete(void *block, size_t, std::align_val_t align) noexcept
{
	operator delete(block, align);
}
#endif
#elif defined STATIC
int *volatile number = new int(5);

__attribute__((destructor)) static void end()
{
	delete number;
}
#else
#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

extern "C" long forms_in_use __attribute__((weak));

struct alignas(64) wide {
	char bytes[64];
};

/* The compiler may leave out pairs of new and delete that it sees. */
static void *volatile seen;

template <typename T> static T *see(T *block)
{
	seen = block;
	return static_cast<T *>(seen);
}

static void say(const char *what)
{
	printf("%s %ld\n", what, &forms_in_use != NULL ? forms_in_use : 0);
}

extern "C" int run_in_library(const char *mode)
{
	if (strcmp(mode, "scalar") == 0) {
		int *number = see(new int(5));

		say(mode);
		delete number;
	} else if (strcmp(mode, "array") == 0) {
		char *bytes = see(new char[100]);

		say(mode);
		delete[] bytes;
		::operator delete[](see(::operator new[](50)), std::nothrow);
	} else if (strcmp(mode, "nothrow") == 0) {
		char *bytes = see(new (std::nothrow) char[100]);

		say(mode);
		delete[] bytes;
	} else if (strcmp(mode, "sort") == 0) {
		std::vector<int> numbers(100, 1);

		numbers[5] = 0;
		/* Its buffer is had by the nothrow form. */
		std::stable_sort(numbers.begin(), numbers.end());
		say(mode);
	} else if (strcmp(mode, "aligned") == 0) {
		struct wide *block = see(new struct wide), *blocks = see(new struct wide[3]);

		say(mode);
		delete block;
		delete[] blocks;
	}
	say("end");
	return 0;
}
#endif
