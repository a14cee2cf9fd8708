/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every allocation and every free does, in fewer instructions than compilers make of it:
 * gcc 12 never folds the address into an atomic load, nor a comparison into two steps of one
 * subtraction.
 */
#ifndef HS_ARCH_X86_64_FAST_PATH_H
#define HS_ARCH_X86_64_FAST_PATH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Subtracts size, or 1 where it is 0, from *left.  Returns whether nothing, or less, is left;
 * then *left is of no use.
 */
static inline bool hs_arch_count_down(uint64_t *left, uint64_t size)
{
	bool ended;

	/* The first instruction's borrow says that size is 0. */
	__asm__("cmp $1, %[size]\n\t"
		"sbb %[size], %[left]"
		: [left] "+r"(*left), "=@ccbe"(ended)
		: [size] "r"(size));
	return ended;
}

/* Relaxed atomic load of a word that is also a shift: into the register that has those. */
static inline uintptr_t hs_arch_load_shift(const uintptr_t *word)
{
	uintptr_t value;

	__asm__("mov %[word], %[value]" : [value] "=c"(value) : [word] "m"(*word));
	return value;
}

/* Relaxed atomic load of a word: whether a number is below it. */
static inline bool hs_arch_is_below(uintptr_t number, const uintptr_t *word)
{
	bool is_below;

	__asm__("cmp %[word], %[number]"
		: "=@ccb"(is_below)
		: [number] "r"(number), [word] "m"(*word));
	return is_below;
}

/* Relaxed atomic load of a byte: whether it is not 0. */
static inline bool hs_arch_is_set(const uint8_t *byte)
{
	bool is_set;

	__asm__("cmpb $0, %[byte]" : "=@ccne"(is_set) : [byte] "m"(*byte));
	return is_set;
}

/* Adds without a lock, in one instruction for this thread's handlers.  Returns what was there. */
static inline uint64_t hs_arch_fetch_add_unlocked(_Atomic uint64_t *word, uint64_t n)
{
	__asm__ volatile("xadd %[n], %[word]" : [n] "+r"(n), [word] "+m"(*word) : : "memory");
	return n;
}

/*
 * hs_arch_compare_exchange(), of a word, and hs_arch_compare_exchange_byte():
 * atomic_compare_exchange_strong(), or without a lock in the same way.  One instruction for both,
 * with or without its prefix: two would take twice the registers, and so stack.  In vain it writes
 * what it has read, which without a lock may undo what another thread has written in between.
 */
#ifdef __SANITIZE_THREAD__
/* It sees nothing of an assembler's. */
static inline bool hs_arch_compare_exchange(_Atomic uint64_t *word, uint64_t *expected,
					    uint64_t desired, bool is_locked)
{
	(void)is_locked;
	return atomic_compare_exchange_strong(word, expected, desired);
}

static inline bool hs_arch_compare_exchange_byte(uint8_t *byte, uint8_t *expected, uint8_t desired,
						 bool is_locked)
{
	(void)is_locked;
	return __atomic_compare_exchange_n(byte, expected, desired, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}
#else
#define HS_ARCH_COMPARE_EXCHANGE(name, word_type, type)                                            \
	static inline bool name(word_type *word, type *expected, type desired, bool is_locked)     \
	{                                                                                          \
		bool is_done;                                                                      \
												   \
		__asm__ volatile("test %[is_locked], %[is_locked]\n\t"                             \
				 "jz 1f\n\t"                                                       \
				 "lock\n"                                                          \
				 "1:\tcmpxchg %[desired], %[word]"                                 \
				 : "=@ccz"(is_done), "+a"(*expected), [word] "+m"(*word)           \
				 : [desired] "q"(desired), [is_locked] "q"(is_locked)              \
				 : "memory");                                                      \
		return is_done;                                                                    \
	}
HS_ARCH_COMPARE_EXCHANGE(hs_arch_compare_exchange, _Atomic uint64_t, uint64_t)
HS_ARCH_COMPARE_EXCHANGE(hs_arch_compare_exchange_byte, uint8_t, uint8_t)
#undef HS_ARCH_COMPARE_EXCHANGE
#endif

#endif
