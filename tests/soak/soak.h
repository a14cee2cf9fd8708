/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that allocates in every way at once, and counts what it allocates and what is in use,
 * for each call site and size (the truth).  Blocks are kept in cells, from which all threads take
 * each other's blocks; a cell has a block's site and size beside its address.
 */
#ifndef SOAK_H
#define SOAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name): a function site_NAME, which is the call site.  The last ones have special users. */
#define SOAK_SITES(X)                                                                              \
	X(malloc)                                                                                  \
	X(calloc) X(realloc_null) X(reallocarray) X(posix_memalign) X(aligned_alloc) X(memalign)   \
		X(new) X(new_array) X(new_nothrow) X(new_aligned) X(realloc) X(handler) X(library) \
			X(short_thread) X(child)

#define SOAK_SITE_ENUM(name) SOAK_##name,
enum soak_site { SOAK_SITES(SOAK_SITE_ENUM) SOAK_SITE_COUNT };
/* The sites before the first of these numbers may be used by any thread. */
enum { SOAK_COMMON_SITES = SOAK_realloc, SOAK_SIZES = 16, SOAK_CELLS = 1 << 17, SOAK_THREADS = 8 };

/* In bytes; all different, so that a profile's row shows which size it is of. */
extern const uint32_t soak_sizes[SOAK_SIZES];

/* --- soak_blocks.c: the truth ----------------------------------------------------------- */

/* A block's address, site and size, in one word; 0: no block. */
typedef uint64_t soak_block;

/* A thread's random numbers, and whether its signal handler may allocate. */
struct soak_thread {
	uint64_t random;
	uint64_t random_of_handler;
	volatile int may_be_interrupted; /* 1: it is not in an allocator, and is not at rest */
};

uint32_t soak_random_below(uint64_t *random, uint32_t limit);

/* Allocates and counts a block: at this site, below so many frames.  thread may be NULL. */
soak_block soak_make(struct soak_thread *thread, enum soak_site site, uint32_t size_index,
		     unsigned depth);
/* The same by realloc() of a block, which ends thereby. */
soak_block soak_move(struct soak_thread *thread, soak_block old, uint32_t size_index);
/* Frees a block, if there is one. */
void soak_end(struct soak_thread *thread, soak_block block);

/* Swaps a block with that of a random cell, of those that this round uses. */
soak_block soak_exchange(uint64_t *random, soak_block block);
/* Sets how many cells are used from now on; frees the blocks in the others. */
void soak_use_cells(uint32_t count);
/* One step of a thread's work: allocates, perhaps moves, and frees. */
void soak_work(struct soak_thread *thread, unsigned depth);

/* Allocates by the library's call site, a function of the copy that is open now. */
typedef void *soak_library_call(size_t size);
soak_block soak_made_by_library(soak_library_call *call, uint32_t size_index);

/* Prints a line with the counts.  kind and profile must not need escapes. */
void soak_print_truth(const char *kind, const char *profile, int error);

/* --- soak_new.cc ------------------------------------------------------------------------ */

void *soak_new(enum soak_site site, size_t size);
void soak_delete(enum soak_site site, void *address);

/* --- soak_churn.c: what comes and goes -------------------------------------------------- */

/* Until the round ends, each of these three makes such things come and go. */
void soak_churn_threads(void);
void soak_churn_libraries(uint64_t *random, char **paths, int count);
void soak_churn_processes(uint64_t *random, char *program);
/* Closes what soak_churn_libraries() has left open. */
void soak_close_libraries(void);
/*
 * Forks the process while it is at rest: the child allocates with threads of its own and reports
 * like its parent.  All that the parent has allocated must be in the child's books too.
 */
void soak_report_child(void);
/* Installs handlers: SIGUSR1's allocates, SIGUSR2's runs on a stack of its own. */
void soak_handle_signals(void);
void soak_own_stack_for_signals(unsigned thread);
extern __thread struct soak_thread *soak_self;

/* --- soak.c ----------------------------------------------------------------------------- */

/* Whether the threads should come to rest. */
bool soak_round_is_over(void);

/* Ends the program with an error if the condition does not hold. */
void soak_check(bool holds, const char *what);

#ifdef __cplusplus
}
#endif
#endif
