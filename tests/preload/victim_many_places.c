/* SPDX-License-Identifier: BSD-2-Clause */
/* victim_many_places N: allocates once in each of N pieces of code, which are made as it runs. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PIECE_BYTES = 16, BLOCK_BYTES = 100000 };

/* Calls the function that is its argument. */
static const unsigned char piece[] = {
	0x55,             /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp,%rbp */
	0xff, 0xd7,       /* call *%rdi */
	0x5d,             /* pop %rbp */
	0xc3,             /* ret */
};

__attribute__((noinline)) static void allocate(void)
{
	char *volatile block = malloc(BLOCK_BYTES);

	free(block);
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	unsigned char *code = mmap(NULL, count * PIECE_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < count; i++)
		memcpy(code + i * PIECE_BYTES, piece, sizeof piece);
	if (mprotect(code, count * PIECE_BYTES, PROT_READ | PROT_EXEC) != 0)
		return 1;
	for (size_t i = 0; i < count; i++)
		((void (*)(void (*)(void)))(void *)(code + i * PIECE_BYTES))(allocate);
	return 0;
}
