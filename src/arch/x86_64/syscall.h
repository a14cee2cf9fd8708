/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw system call of x86-64.  Returns the kernel's value: below 0 (and above
 * -4096) is -errno.  Source: System V ABI, AMD64 supplement, A.2.1.
 */
#ifndef HS_ARCH_X86_64_SYSCALL_H
#define HS_ARCH_X86_64_SYSCALL_H

/* The clock_gettime() of the vDSO. */
#define HS_ARCH_VDSO_CLOCK "__vdso_clock_gettime"

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

#endif
