/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Model checking of the lock-free code: runs the library's C files, unchanged, in every
 * order in which their threads' accesses can be made.
 *
 * The files are compiled against an own <stdatomic.h> (tests/model/include), which asks the
 * explorer before each atomic access.  Threads of a scenario are coroutines of one real
 * thread; futexes, deaths of threads and the passing of time are transitions like accesses.
 * A scenario is run again from its start for each order (explore.c):
 *
 * - Complete: depth first with dynamic partial order reduction (source sets and sleep sets,
 *   Abdulla, Aronsson, Jonsson, Sagonas: "Optimal dynamic partial order reduction", 2014), so
 *   that of the orders that differ only by accesses that commute one is run.
 * - Bounded: all orders with at most so many preemptions (of a thread that could go on),
 *   deaths and early timeouts; without reduction.
 *
 * Memory is that of x86-64 (total store order): a store that is not sequentially consistent
 * waits in its thread's buffer, in order, while the thread's loads go ahead, until a flush
 * (a transition too), a locked instruction, or a system call.  Bounded exploration has
 * sequentially consistent memory.  What only weaker processors or compilers reorder is not
 * found here: acquire and release are left to ThreadSanitizer (scripts/run-tests), which
 * does not know orders that fences make, and there are none.  Weak compare-and-swap fails
 * only for its value.  Accesses that are not atomic happen together with the atomic one
 * before them: data races are ThreadSanitizer's too, and what a scenario writes into a record is
 * written by atomics so that torn records show.
 *
 * To add a scenario: write its functions in a scenarios_*.c, enter it in that file's table.
 *
 *   setup     is run once; what memory is then is what each run begins with
 *   threads   each a function; loops must end: wait with model_await() or a futex, not by
 *             looking again and again
 *   finish    is run when no thread can go on; it checks what must be so
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
	MODEL_MAY_DIE = 2, /* is killed, in some runs, before any of its steps */
};

struct model_thread {
	void (*run)(void);
	unsigned flags;
	/* Timeouts that may come at any time; others when nothing else can happen, in turn. */
	unsigned early_timeouts;
};

struct model_scenario {
	const char *name;
	void (*setup)(void);
	void (*finish)(void);
	struct model_thread threads[MODEL_THREADS];
	int quick_bound; /* for `make check`: preemptions; MODEL_COMPLETE */
	int full_bound;  /* for `make check-model` */
};

#define MODEL_COMPLETE (-1)

/* Ends with an empty one. */
extern const struct model_scenario model_ring_scenarios[];
extern const struct model_scenario model_live_scenarios[];
extern const struct model_scenario model_wait_scenarios[];
extern const struct model_scenario model_sample_scenarios[];
extern const struct model_scenario model_session_scenarios[];

/* A violation: does not return. */
void model_fail(const char *file, int line, const char *what) __attribute__((noreturn));

#define MODEL_CHECK(condition) ((condition) ? (void)0 : model_fail(__FILE__, __LINE__, #condition))

/* Wait until a word that is written once, atomically, has its last value.  One access. */
void model_await(const _Atomic uint32_t *word, uint32_t value);

/* This thread ends here, as if killed. */
void model_die(void);

/*
 * Go on in place of a thread that was killed, once it is: with its hs_thread, as after a
 * jump out of a handler.  What it had stored is seen.
 */
void model_take_over(unsigned thread);

/* How many waits have ended because nothing else could happen.  In finish. */
unsigned model_late_timeouts(void);

/* The thread id, as hs_sys_gettid() gives it; threads have the first numbers from 1 on. */
uint32_t model_tid(void);

/* Accesses to what is here are no steps: counts that decide nothing.  In setup. */
void model_ignore(const void *start, size_t bytes);

/* As hs_sys_futex_wait(), and the time that has gone by at the waits that ended late. */
int model_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);
uint64_t model_now_ns(void);

/* The atomic accesses, for <stdatomic.h>.  where: a function and a line of it, to be shown. */
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
	MODEL_RESUME, /* of a futex wait that has ended */
};

uint64_t model_access(struct model_where where, enum model_op op, const volatile void *address,
		      size_t bytes, uint64_t value, int order);
bool model_cas(struct model_where where, const volatile void *address, size_t bytes,
	       uint64_t *expected, uint64_t desired);

#endif
