/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of a call site: what an unwinder needs to walk on from it.
 *
 * The stub of arch/x86_64/entry.h stores them on behalf of an interposed function: pc is the
 * return address into the caller, sp the caller's stack pointer after the return, and the
 * callee-saved registers hold the caller's values.  The stub knows the order of the fields.
 */
#ifndef HS_ARCH_X86_64_REGS_H
#define HS_ARCH_X86_64_REGS_H

#include <stddef.h>
#include <stdint.h>

struct hs_regs {
	uint64_t pc;
	uint64_t sp;
	uint64_t bp;
	uint64_t bx;
	uint64_t r12;
	uint64_t r13;
	uint64_t r14;
	uint64_t r15;
};

/*
 * Copies without calling memcpy: the program may have preloaded another one, and the vector
 * registers that memcpy uses make the next SSE instruction slow.
 */
static inline void hs_arch_copy(void *to, const void *from, size_t bytes)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

/*
 * Prefetches a cache line for writing.  __builtin_prefetch() compiles to a prefetch for reading
 * unless the target is known to have this instruction; processors without it treat it as a nop.
 */
static inline void hs_arch_prefetch_write(const void *address)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
}

/* The stack pointer of the caller of this inline function. */
static inline uintptr_t hs_arch_stack_pointer(void)
{
	uintptr_t sp;

	__asm__("mov %%rsp, %0" : "=r"(sp));
	return sp;
}

/*
 * The thread control block of the calling thread.  On glibc it sits at the upper
 * end of the thread's stack, above everything that the thread pushes.
 */
static inline uintptr_t hs_arch_thread_pointer(void)
{
	uintptr_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
}

/*
 * Calls a function with another stack, whose upper end is top (a multiple of 16).  Unwinders do not
 * come past it.
 */
static inline void hs_arch_call_on(char *top, void (*call)(void *), void *argument)
{
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %[top], %%rsp\n\t"
			 "call *%[call]\n\t"
			 "mov %%rbx, %%rsp"
			 : "+D"(argument), [top] "+r"(top), [call] "+r"(call)
			 :
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0",
			   "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
			   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
}

/*
 * The registers of the point of this call, for code that unwinds itself (the
 * worker's check of the unwinder, tests).  Must be inlined.
 */
static inline __attribute__((always_inline)) void hs_arch_capture(struct hs_regs *regs)
{
	__asm__ volatile("lea 0(%%rip), %%rax\n\t"
			 "mov %%rax, 0(%0)\n\t"
			 "mov %%rsp, 8(%0)\n\t"
			 "mov %%rbp, 16(%0)\n\t"
			 "mov %%rbx, 24(%0)\n\t"
			 "mov %%r12, 32(%0)\n\t"
			 "mov %%r13, 40(%0)\n\t"
			 "mov %%r14, 48(%0)\n\t"
			 "mov %%r15, 56(%0)\n\t"
			 :
			 : "c"(regs)
			 : "rax", "memory");
}

#endif
