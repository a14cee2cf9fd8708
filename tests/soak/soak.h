/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that allocates in every way at once, and knows what it allocated: for each call
 * site and size, how often, and how much of it is in use.  Blocks lie in cells from which
 * all threads take each other's; what is known of a block is in its cell, beside its address.
 */
#ifndef SOAK_H
#define SOAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name): a function site_NAME, which is the call site.  The last ones are of one thread's kind.
 */
#define SOAK_SITES(X)                                                                              \
	X(malloc)                                                                                  \
	X(calloc) X(realloc_null) X(reallocarray) X(posix_memalign) X(aligned_alloc) X(memalign)   \
		X(new) X(new_array) X(new_nothrow) X(new_aligned) X(realloc) X(handler) X(library) \
			X(short_thread) X(child)

#define SOAK_SITE_ENUM(name) SOAK_##name,
enum soak_site { SOAK_SITES(SOAK_SITE_ENUM) SOAK_SITE_COUNT };
/* Those that any thread chooses among: the ones before. */
enum { SOAK_COMMON_SITES = SOAK_realloc, SOAK_SIZES = 16, SOAK_CELLS = 1 << 17, SOAK_THREADS = 8 };

/* In bytes; no two are the same, so that rows tell which they are of. */
extern const uint32_t soak_sizes[SOAK_SIZES];

/* --- soak_blocks.c: the truth ----------------------------------------------------------- */

/* What is known of a block: its address, its site and its size, in one word; 0: none. */
typedef uint64_t soak_block;

/* A thread's random numbers, and what of it a signal handler must know. */
struct soak_thread {
	uint64_t random;
	uint64_t random_of_handler;
	volatile int may_be_interrupted; /* 1: it is not in an allocator, and is not at rest */
};

uint32_t soak_random_below(uint64_t *random, uint32_t limit);

/* Allocate at this site, at a stack of some depth, and count it.  thread may be NULL. */
soak_block soak_make(struct soak_thread *thread, enum soak_site site, uint32_t size_index,
		     unsigned depth);
/* The same by realloc() of a block, which ends. */
soak_block soak_move(struct soak_thread *thread, soak_block old, uint32_t size_index);
/* Free it; nothing if there is none. */
void soak_end(struct soak_thread *thread, soak_block block);

/* Swap a block with that of a cell, of those that are in use in this round. */
soak_block soak_exchange(uint64_t *random, soak_block block);
/* How many cells are in use from now on; blocks in others are freed. */
void soak_use_cells(uint32_t count);
/* Something of everything, once. */
void soak_work(struct soak_thread *thread, unsigned depth);

/* The library's site, as found in the library that is open now. */
typedef void *soak_library_call(size_t size);
soak_block soak_made_by_library(soak_library_call *call, uint32_t size_index);

/* One line for the standard output; kind and profile have no character that needs an escape. */
void soak_print_truth(const char *kind, const char *profile, int error);

/* --- soak_new.cc ------------------------------------------------------------------------ */

void *soak_new(enum soak_site site, size_t size);
void soak_delete(enum soak_site site, void *address);

/* --- soak_churn.c: what comes and goes -------------------------------------------------- */

/* Threads, each until the round ends. */
void soak_churn_threads(void);
void soak_churn_libraries(uint64_t *random, char **paths, int count);
void soak_churn_processes(uint64_t *random, char *program);
/* Close what soak_churn_libraries() left open. */
void soak_close_libraries(void);
/*
 * A child of the process at rest, which allocates with threads of its own and reports like
 * its parent: all that the parent has allocated is in its books too.
 */
void soak_report_child(void);
/* Handlers: of SIGUSR1, which allocates, and SIGUSR2, on a stack of its own. */
void soak_handle_signals(void);
void soak_own_stack_for_signals(unsigned thread);
extern __thread struct soak_thread *soak_self;

/* --- soak.c ----------------------------------------------------------------------------- */

/* Threads are to come to rest. */
bool soak_round_is_over(void);

/* Ends the program if it does not hold. */
void soak_check(bool holds, const char *what);

#ifdef __cplusplus
}
#endif
#endif
