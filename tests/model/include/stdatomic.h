/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In place of the compiler's <stdatomic.h> where the library's code is compiled for the model
 * checker: each access is a step of the explorer (tests/model/model.h).  Has only what the library
 * uses.
 */
#ifndef HS_TESTS_MODEL_STDATOMIC_H
#define HS_TESTS_MODEL_STDATOMIC_H

#include "../model.h"

typedef enum {
	memory_order_relaxed = __ATOMIC_RELAXED,
	memory_order_acquire = __ATOMIC_ACQUIRE,
	memory_order_release = __ATOMIC_RELEASE,
	memory_order_acq_rel = __ATOMIC_ACQ_REL,
	memory_order_seq_cst = __ATOMIC_SEQ_CST
} memory_order;

#define MODEL_HERE ((struct model_where){__func__, __LINE__})

/* The type of an object without qualifiers, and a value of it from a number. */
#define MODEL_TYPE(p) __typeof__((void)0, *(p))
#define MODEL_DO(op, p, value, order)                                                              \
	((MODEL_TYPE(p))model_access(MODEL_HERE, op, p, sizeof *(p), (uint64_t)(value), order))

#define atomic_load_explicit(p, order) MODEL_DO(MODEL_LOAD, p, 0, order)
#define atomic_store_explicit(p, value, order)                                                     \
	((void)model_access(MODEL_HERE, MODEL_STORE, p, sizeof *(p),                               \
			    (uint64_t)(MODEL_TYPE(p))(value), order))
#define atomic_exchange_explicit(p, value, order) MODEL_DO(MODEL_EXCHANGE, p, value, order)
#define atomic_fetch_add_explicit(p, value, order) MODEL_DO(MODEL_ADD, p, value, order)
#define atomic_fetch_sub_explicit(p, value, order) MODEL_DO(MODEL_ADD, p, -(uint64_t)(value), order)
#define atomic_fetch_and_explicit(p, value, order) MODEL_DO(MODEL_AND, p, value, order)
#define atomic_fetch_or_explicit(p, value, order) MODEL_DO(MODEL_OR, p, value, order)

#define atomic_compare_exchange_strong_explicit(p, expected, desired, success, failure)            \
	({                                                                                         \
		__typeof__(expected) model_expected = (expected);                                  \
		uint64_t model_was = (uint64_t)*model_expected;                                    \
		bool model_done = model_cas(MODEL_HERE, p, sizeof *(p), &model_was,                \
					    (uint64_t)(MODEL_TYPE(p))(desired));                   \
		*model_expected = (__typeof__(*model_expected))model_was;                          \
		(void)(success);                                                                   \
		(void)(failure);                                                                   \
		model_done;                                                                        \
	})
#define atomic_compare_exchange_weak_explicit atomic_compare_exchange_strong_explicit

#define atomic_load(p) atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store(p, value) atomic_store_explicit(p, value, memory_order_seq_cst)
#define atomic_exchange(p, value) atomic_exchange_explicit(p, value, memory_order_seq_cst)
#define atomic_fetch_add(p, value) atomic_fetch_add_explicit(p, value, memory_order_seq_cst)
#define atomic_fetch_sub(p, value) atomic_fetch_sub_explicit(p, value, memory_order_seq_cst)
#define atomic_fetch_or(p, value) atomic_fetch_or_explicit(p, value, memory_order_seq_cst)
#define atomic_compare_exchange_strong(p, expected, desired)                                       \
	atomic_compare_exchange_strong_explicit(p, expected, desired, memory_order_seq_cst,        \
						memory_order_seq_cst)
#define atomic_compare_exchange_weak atomic_compare_exchange_strong

/* For a thread's own signal handlers; there are none here. */
#define atomic_signal_fence(order) ((void)(order))

/* For what is not declared _Atomic. */
#define __atomic_load_n(p, order) atomic_load_explicit(p, order)
#define __atomic_store_n(p, value, order) atomic_store_explicit(p, value, order)
#define __atomic_fetch_or(p, value, order) atomic_fetch_or_explicit(p, value, order)
#define __atomic_compare_exchange_n(p, expected, desired, weak, success, failure)                  \
	atomic_compare_exchange_strong_explicit(p, expected, desired, success, failure)

#endif
