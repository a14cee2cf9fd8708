/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine that scenarios run on: threads, their store buffers, futexes, deaths and timeouts,
 * as processes that take steps.  What the explorer needs to know of a step is its footprint.
 */
#ifndef HS_TESTS_MODEL_MACHINE_H
#define HS_TESTS_MODEL_MACHINE_H

#include "model.h"

/* Of thread t: itself at t, the others at their first + t. */
enum {
	PROCESS_BUFFER = MODEL_THREADS,    /* flushes the oldest store */
	PROCESS_TIMER = 2 * MODEL_THREADS, /* ends a futex wait */
	PROCESS_DEATH = 3 * MODEL_THREADS,
	PROCESSES = 4 * MODEL_THREADS
};

/* For each process the last step, counted from 1, that happens before; 0: none. */
struct clock {
	uint16_t steps[PROCESSES];
};

#define FOOTPRINT_MOST 4

/* What a step reads and writes: addresses, or what stands for a futex's queue or a life. */
struct footprint {
	uint64_t filter; /* a bit for each address */
	uintptr_t address[FOOTPRINT_MOST];
	bool writes[FOOTPRINT_MOST];
	unsigned count;
};

/* Enter a scenario: threads are made, setup has been run, memory is kept.  buffered: see model.h */
void machine_load(const struct model_scenario *scenario, bool buffered);

/* Memory and threads as at the start; each thread up to its first access. */
void machine_restart(void);

/* The processes that can take a step now. */
uint32_t machine_enabled(void);

/* The timers that are next to end waits when machine_enabled() is nothing: then time passes. */
uint32_t machine_timers(void);

/*
 * The step that a process would take next.  exactly: as it would be now; otherwise as it
 * may be whatever other processes do before.
 */
void machine_footprint(unsigned process, bool exactly, struct footprint *footprint);
bool machine_conflict(const struct footprint *a, const struct footprint *b);

/* Whether the next step of a thread waits for its buffer to be empty; whether it has not ended. */
bool machine_is_drained(unsigned thread);
bool machine_is_running(unsigned thread);

/* What happens before the next step of a process but is no earlier step of its own. */
void machine_causes(unsigned process, struct clock *clock);
void machine_join(struct clock *clock, const struct clock *other);

/* Take the step.  clock: its own.  Threads go on to their next access. */
void machine_step(unsigned process, const struct clock *clock);

/* No process can go on: checks what must be so. */
void machine_finish(void);

/* What went wrong, or NULL. */
const char *machine_violation(void);

/* "2", "b2", "t2", "d2": thread 2, its buffer, its timer, its death. */
void machine_process_name(unsigned process, char name[4]);

/* The step that a process would take next, in words. */
void machine_describe(unsigned process, char *line, size_t bytes);

/* The explorer itself cannot go on. */
void machine_give_up(const char *why) __attribute__((noreturn));

#endif
