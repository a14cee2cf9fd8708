/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw system call of x86-64.  Returns the kernel's value: below 0 (and above
 * -4096) is -errno.  Source: System V ABI, AMD64 supplement, A.2.1.
 */
#ifndef HS_ARCH_X86_64_SYSCALL_H
#define HS_ARCH_X86_64_SYSCALL_H

#include <sys/syscall.h>

/* The clock_gettime() of the vDSO. */
#define HS_ARCH_VDSO_CLOCK "__vdso_clock_gettime"

/* The version of what glibc has had on this machine from the beginning. */
#define HS_ARCH_FIRST_GLIBC "GLIBC_2.2.5"

static inline long hs_arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	/* Not initialized where they are declared: cppcheck 2.17 cannot parse that. */
	register long r10 __asm__("r10");
	register long r8 __asm__("r8");
	register long r9 __asm__("r9");
	long result;

	r10 = d;
	r8 = e;
	r9 = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/*
 * clone(), not by libc's function: a program may have something else of that name.  The new thread
 * calls run(argument) on the stack whose upper end is top (a multiple of 16), and ends.
 */
static inline long hs_arch_clone(long flags, char *top, void (*run)(void *), void *argument,
				 void *parent_tid, void *child_tid, unsigned long thread_pointer)
{
	register void *r10 __asm__("r10");
	register unsigned long r8 __asm__("r8");
	void **stack = (void **)(void *)top - 2;
	long result;

	stack[0] = (void *)run;
	stack[1] = argument;
	r10 = child_tid;
	r8 = thread_pointer;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "pop %%rax\n\t"
			 "pop %%rdi\n\t"
			 "call *%%rax\n\t"
			 "xor %%edi, %%edi\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n"
			 "1:"
			 : "=a"(result)
			 : "0"(SYS_clone), "D"(flags), "S"(stack), "d"(parent_tid), "r"(r10),
			   "r"(r8), [exit] "i"(SYS_exit)
			 : "rcx", "r11", "memory", "cc");
	return result;
}

#endif
