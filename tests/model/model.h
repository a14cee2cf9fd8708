/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Model checking of the lock-free code: runs the library's C files, unchanged, in every order of
 * their threads' atomic accesses.
 *
 * The files are compiled against a <stdatomic.h> of the model's own (tests/model/include), which
 * asks the explorer before each atomic access.  Threads of a scenario are coroutines of one real
 * thread.  Futexes, deaths of threads and the passing of time are transitions like accesses.
 * A scenario is run from its start for each order (explore.c):
 *
 * - Complete: depth first with dynamic partial order reduction (source sets and sleep sets,
 *   Abdulla, Aronsson, Jonsson, Sagonas: "Optimal dynamic partial order reduction", 2014): if
 *   orders differ only by accesses that commute, one of them is run.
 * - Bounded: all orders in which preemptions (of a thread that could go on), deaths and early
 *   timeouts together are no more than a bound; without reduction.
 *
 * Memory is that of x86-64 (total store order): a store that is not sequentially consistent
 * waits in its thread's buffer, in order, while the thread's loads go ahead.  A flush, which is
 * a transition too, writes the oldest store to memory.  Locked instructions and system calls wait
 * until the buffer is empty.  Memory is sequentially consistent in bounded exploration, and if
 * MODEL_SC is in the environment.
 *
 * Not found here:
 * - What only weaker processors or compilers reorder.  Acquire and release are left to
 *   ThreadSanitizer (scripts/run-tests); it does not understand fences, but the library has none.
 * - Spurious failures: weak compare-and-swap fails only if the value is another.
 * - Data races: an access that is not atomic happens together with the atomic one before it.
 *   ThreadSanitizer finds them.  Scenarios write records by atomics, so that torn ones show.
 *
 * To add a scenario: write its functions in a scenarios_*.c, and add it to that file's table.
 *
 *   setup     runs once; each run begins with memory as it is afterwards
 *   threads   a function each; loops must end: wait with model_await() or a futex, do not spin
 *   finish    runs when no thread can go on; it checks the result
 *
 * A failed MODEL_CHECK(), a thread that waits for ever (unless MODEL_DAEMON), or a run that does
 * not end is a violation; the schedule that led there is printed, and `test_model replay
 * SCENARIO SCHEDULE` runs it again, step by step.  A new seeded bug is a line in bugs.txt.
 */
#ifndef HS_TESTS_MODEL_H
#define HS_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_THREADS 4

enum model_thread_flags {
	MODEL_DAEMON = 1,  /* may wait for ever at the end */
	MODEL_MAY_DIE = 2, /* in some runs it is killed, before any one of its steps */
};

struct model_thread {
	void (*run)(void);
	unsigned flags;
	/* How many waits may time out at any time; others do only when nothing else can happen. */
	unsigned early_timeouts;
};

struct model_scenario {
	const char *name;
	void (*setup)(void);
	void (*finish)(void);
	struct model_thread threads[MODEL_THREADS];
	int quick_bound; /* for `make check`: most preemptions, or MODEL_COMPLETE */
	int full_bound;  /* for `make check-model` */
};

#define MODEL_COMPLETE (-1)

/* Tables that end with an empty scenario. */
extern const struct model_scenario model_ring_scenarios[];
extern const struct model_scenario model_live_scenarios[];
extern const struct model_scenario model_wait_scenarios[];
extern const struct model_scenario model_sample_scenarios[];
extern const struct model_scenario model_pcs_scenarios[];
extern const struct model_scenario model_session_scenarios[];

/* Reports a violation.  Does not return. */
void model_fail(const char *file, int line, const char *what) __attribute__((noreturn));

#define MODEL_CHECK(condition) ((condition) ? (void)0 : model_fail(__FILE__, __LINE__, #condition))

/* Waits until a word has a value, which must be its last one.  One access. */
void model_await(const _Atomic uint32_t *word, uint32_t value);

/* Ends this thread as if it was killed here. */
void model_die(void);

/*
 * Waits until a thread has been killed and its stores are in memory, and goes on in its place, with
 * its hs_thread, as after a jump out of a handler.
 */
void model_take_over(unsigned thread);

/* How many waits timed out because nothing else could happen.  Called in finish. */
unsigned model_late_timeouts(void);

/* The thread id, as hs_sys_gettid() gives it.  Threads have the ids 1, 2, ... */
uint32_t model_tid(void);

/* Accesses to this memory are not steps: for counts that decide nothing.  Called in setup. */
void model_ignore(const void *start, size_t bytes);

/* As hs_sys_futex_wait().  Time passes only when waits time out because nothing else can happen. */
int model_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);
uint64_t model_now_ns(void);

/* The atomic accesses, for <stdatomic.h>.  where: the function and line to show for it. */
struct model_where {
	const char *function;
	int line;
};

enum model_op {
	MODEL_LOAD,
	MODEL_STORE, /* into the store buffer, unless sequentially consistent */
	MODEL_EXCHANGE,
	MODEL_ADD,
	MODEL_AND,
	MODEL_OR,
	MODEL_CAS,
	MODEL_FENCE,
	MODEL_AWAIT,
	MODEL_TAKE_OVER,
	MODEL_FUTEX_WAIT,
	MODEL_FUTEX_WAKE,
	MODEL_IS_GONE,
	MODEL_DIE,
	MODEL_RESUME, /* a futex wait has ended: its thread goes on */
};

uint64_t model_access(struct model_where where, enum model_op op, const volatile void *address,
		      size_t bytes, uint64_t value, int order);
bool model_cas(struct model_where where, const volatile void *address, size_t bytes,
	       uint64_t *expected, uint64_t desired);

#endif
