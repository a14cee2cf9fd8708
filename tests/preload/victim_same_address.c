/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates and frees a block 50,000 times, as fast as it can.  The allocator reuses its address.
 *
 * usage: victim_same_address [free.coroutine]     free.coroutine: on a coroutine's stack
 */
#include <string.h>
#include <ucontext.h>

#include "victim_truth.h"

#define TIMES 50000

static SITE void *site_same_address(size_t size)
{
	void *address = malloc(size);

	USE(address);
	return address;
}

static struct truth truth = { "same_address", 0, 0, 0, 0 };

static void repeat(void)
{
	for (int i = 0; i < TIMES; i++) {
		struct block block = born(&truth, site_same_address(100), 100);

		died(&block);
		free(block.address);
	}
}

static void on_coroutine(void (*function)(void))
{
	static ucontext_t here, there;
	static char stack[64 << 10];

	if (getcontext(&there) != 0)
		exit(2);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof stack;
	there.uc_link = &here;
	makecontext(&there, function, 0);
	swapcontext(&here, &there);
}

int main(int count, char **words)
{
	if (count > 1 && strcmp(words[1], "free.coroutine") == 0)
		on_coroutine(repeat);
	else
		repeat();
	print_truth(&truth, 1);
	return 0;
}
