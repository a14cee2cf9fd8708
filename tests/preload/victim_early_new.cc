/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * With -DLIBRARY: a library whose operator new puts a header before each block, and whose
 * constructor uses it, maybe before all others.  Without: the program that deletes the block.
 */
#include <cstddef>
#include <cstdio>

extern int *volatile early_block;

#ifdef LIBRARY
#include <cstdlib>
#include <new>

#define HEADER 0xfeedface

void *operator new(std::size_t size)
{
	std::size_t *block = static_cast<std::size_t *>(std::malloc(size + 16));

	if (block == nullptr)
		throw std::bad_alloc();
	*block = HEADER;
	return block + 16 / sizeof *block;
}

void operator delete(void *address) noexcept
{
	std::size_t *block = static_cast<std::size_t *>(address);

	if (block == nullptr)
		return;
	block -= 16 / sizeof *block;
	if (*block != HEADER) {
		std::fputs("wrong: not a block of this operator new\n", stderr);
		std::_Exit(3);
	}
	std::free(block);
}

void operator delete(void *address, std::size_t) noexcept
{
	operator delete(address);
}

int *volatile early_block;

static struct early {
	early()
	{
		delete new long(6);
		early_block = new int(5);
	}
} early;
#else
int main()
{
	delete early_block;
	std::puts("ok");
	return 0;
}
#endif
