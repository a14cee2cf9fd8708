// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program with an operator new and an operator delete of its own, whose blocks begin with a
 * header.  All other forms are the C++ library's, which calls these two.
 *
 * With -DARRAYS it has those of arrays in their place; with -DALL it has all but the aligned ones.
 * With -DLIBRARY they are a library's; with -DPROGRAM: the program that is linked with that.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

extern "C" long in_use;

#ifndef PROGRAM
struct header {
	size_t mark;
	size_t size;
};

static const size_t MARK = 0x6d61726b;
long in_use;

static void *make(size_t size)
{
	struct header *header = static_cast<struct header *>(malloc(size + sizeof *header));

	if (header == NULL)
		throw std::bad_alloc();
	*header = {MARK, size};
	in_use++;
	return header + 1;
}

static void take(void *block)
{
	struct header *header = static_cast<struct header *>(block) - 1;

	if (block == NULL)
		return;
	if (header->mark != MARK) {
		printf("not a block of operator new\n");
		exit(1);
	}
	in_use--;
	free(header);
}

#ifndef ARRAYS
void *operator new(size_t size)
{
	return make(size);
}

void operator delete(void *block) noexcept
{
	take(block);
}
#endif

#if defined ALL || defined ARRAYS
void *operator new[](size_t size)
{
	return make(size);
}

void operator delete[](void *block) noexcept
{
	take(block);
}
#endif

#ifdef ALL
void *operator new(size_t size, const std::nothrow_t &) noexcept
{
	return make(size);
}

void *operator new[](size_t size, const std::nothrow_t &) noexcept
{
	return make(size);
}

void operator delete(void *block, size_t) noexcept
{
	take(block);
}

void operator delete[](void *block, size_t) noexcept
{
	take(block);
}

void operator delete(void *block, const std::nothrow_t &) noexcept
{
	take(block);
}

void operator delete[](void *block, const std::nothrow_t &) noexcept
{
	take(block);
}
#endif
#endif

#ifndef LIBRARY
/* The compiler may leave out pairs of new and delete that it sees. */
static void *volatile seen;

template <typename T> static T *see(T *block)
{
	seen = block;
	return static_cast<T *>(seen);
}

int main()
{
	std::vector<int> numbers;
	std::string *text = see(new std::string(100, 'x'));
	int *number = see(new (std::nothrow) int(1));
	char *bytes = see(new char[100]), *more = see(new (std::nothrow) char[100]);

	printf("%ld in use\n", in_use);
	delete text;
	delete number;
	delete[] bytes;
	delete[] more;
	for (int i = 0; i < 10000; i++)
		numbers.push_back(i * 7919 % 1000);
	/* Its buffer is had by the nothrow form. */
	std::stable_sort(numbers.begin(), numbers.end());
	numbers = std::vector<int>();
	printf("%ld in use\n", in_use);
	return 0;
}
#endif
