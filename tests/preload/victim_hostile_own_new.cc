// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program with an operator new and an operator delete of its own, whose blocks begin with a
 * header.  All other forms are the C++ library's, which calls these two.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

struct header {
	size_t mark;
	size_t size;
};

static const size_t MARK = 0x6d61726b;
static long in_use;

void *operator new(size_t size)
{
	struct header *header = static_cast<struct header *>(malloc(size + sizeof *header));

	if (header == NULL)
		throw std::bad_alloc();
	*header = {MARK, size};
	in_use++;
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
	in_use--;
	free(header);
}

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
