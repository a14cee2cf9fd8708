/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls the allocator as hand-written code does that has forgotten to align the stack.  libc's does
 * not mind.  Status 2: the case is not written for this machine.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __x86_64__
/* Calls function(a, b) with a stack pointer that is off by 8. */
uintptr_t call_unaligned(uintptr_t a, uintptr_t b, uintptr_t (*function)(uintptr_t, uintptr_t));
__asm__(".text\n"
	".type call_unaligned, @function\n"
	"call_unaligned:\n\t"
	".cfi_startproc\n\t"
	"subq $16, %rsp\n\t"
	".cfi_adjust_cfa_offset 16\n\t"
	"call *%rdx\n\t"
	"addq $16, %rsp\n\t"
	".cfi_adjust_cfa_offset -16\n\t"
	"ret\n\t"
	".cfi_endproc\n\t"
	".size call_unaligned, . - call_unaligned\n");

#define CALL(function, a, b)                                                                       \
	((void *)call_unaligned((uintptr_t)(a), (uintptr_t)(b),                                    \
				(uintptr_t(*)(uintptr_t, uintptr_t))(void *)(function)))

int main(void)
{
	unsigned whole = 0;

	for (size_t size = 1; size < 5000; size++) {
		char *block = CALL(malloc, size, 0), *cleared = CALL(calloc, size, 20);

		block[size - 1] = 'x';
		block = CALL(realloc, block, size * 10);
		whole += block[size - 1] == 'x' && cleared[20 * size - 1] == '\0';
		CALL(free, cleared, 0);
		CALL(free, block, 0);
		CALL(free, CALL(aligned_alloc, 64, 64 * size), 0);
	}
	printf("%u whole\n", whole);
	return 0;
}
#else
int main(void)
{
	return 2;
}
#endif
