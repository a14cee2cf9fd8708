/* SPDX-License-Identifier: BSD-2-Clause */
/* In place of src/arch/fast_path.h, for the model checker: its loads are steps. */
#ifndef HS_ARCH_FAST_PATH_H
#define HS_ARCH_FAST_PATH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

static inline uintptr_t hs_arch_load_shift(const uintptr_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static inline bool hs_arch_is_below(uintptr_t number, const uintptr_t *word)
{
	return number < atomic_load_explicit(word, memory_order_relaxed);
}

static inline bool hs_arch_is_set(const uint8_t *byte)
{
	return atomic_load_explicit(byte, memory_order_relaxed) != 0;
}

static inline bool hs_arch_count_down(uint64_t *left, uint64_t size)
{
	bool ended = *left <= size + (size == 0);

	*left -= size + (size == 0);
	return ended;
}

static inline uint64_t hs_arch_fetch_add_unlocked(_Atomic uint64_t *word, uint64_t n)
{
	uint64_t was = atomic_load_explicit(word, memory_order_relaxed);

	atomic_store_explicit(word, was + n, memory_order_release);
	return was;
}

/*
 * Without a lock it is a load and then a store, even if it fails: other threads may come in
 * between.
 */
#define HS_ARCH_COMPARE_EXCHANGE(name, word_type, type)                                            \
	static inline bool name(word_type *word, type *expected, type desired, bool is_locked)     \
	{                                                                                          \
		type now;                                                                          \
		bool is_done;                                                                      \
												   \
		if (is_locked)                                                                     \
			return atomic_compare_exchange_strong(word, expected, desired);            \
		now = atomic_load_explicit(word, memory_order_relaxed);                            \
		is_done = now == *expected;                                                        \
		atomic_store_explicit(word, is_done ? desired : now, memory_order_release);        \
		*expected = now;                                                                   \
		return is_done;                                                                    \
	}
HS_ARCH_COMPARE_EXCHANGE(hs_arch_compare_exchange, _Atomic uint64_t, uint64_t)
HS_ARCH_COMPARE_EXCHANGE(hs_arch_compare_exchange_byte, uint8_t, uint8_t)
#undef HS_ARCH_COMPARE_EXCHANGE

#endif
