/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine that scenarios run on.  Each thread, its store buffer, its timer (which ends futex
 * waits) and its death are processes that take steps.  The explorer compares steps by footprints.
 */
#ifndef HS_TESTS_MODEL_MACHINE_H
#define HS_TESTS_MODEL_MACHINE_H

#include "model.h"

/* Numbers of processes: thread t itself is t, its others are these + t. */
enum {
	PROCESS_BUFFER = MODEL_THREADS,    /* flushes the oldest store */
	PROCESS_TIMER = 2 * MODEL_THREADS, /* ends a futex wait */
	PROCESS_DEATH = 3 * MODEL_THREADS,
	PROCESSES = 4 * MODEL_THREADS
};

/* A vector clock: each process's last step that happens before, counted from 1; 0: none. */
struct clock {
	uint16_t steps[PROCESSES];
};

#define FOOTPRINT_MOST 4

/* What a step reads and writes: addresses, and numbers for a futex's queue or a thread's life. */
struct footprint {
	uint64_t filter; /* a bit for each address, by its hash */
	uintptr_t address[FOOTPRINT_MOST];
	bool writes[FOOTPRINT_MOST];
	unsigned count;
};

/* Runs a scenario's setup and keeps the memory.  buffered: with store buffers, see model.h. */
void machine_load(const struct model_scenario *scenario, bool buffered);

/* Restores memory and threads as at the start, and runs each thread up to its first access. */
void machine_restart(void);

/* The processes that can take a step now. */
uint32_t machine_enabled(void);

/* If machine_enabled() is empty time passes: the timers of the waits that end next. */
uint32_t machine_timers(void);

/*
 * The footprint of a process's next step.  exactly: if it is taken now; otherwise all that it may
 * read and write, whatever other processes do before.
 */
void machine_footprint(unsigned process, bool exactly, struct footprint *footprint);
bool machine_conflict(const struct footprint *a, const struct footprint *b);

/* Whether a thread's next step needs its store buffer empty; whether it is still alive. */
bool machine_is_drained(unsigned thread);
bool machine_is_running(unsigned thread);

/* What happens before a process's next step, apart from its own earlier steps. */
void machine_causes(unsigned process, struct clock *clock);
void machine_join(struct clock *clock, const struct clock *other);

/* Takes a process's next step.  clock: the step's.  A thread then runs on to its next access. */
void machine_step(unsigned process, const struct clock *clock);

/* For the end of a run, when no process can go on: looks for threads that hang, calls finish. */
void machine_finish(void);

/* What went wrong, or NULL. */
const char *machine_violation(void);

/* "2", "b2", "t2", "d2": thread 2, its buffer, its timer, its death. */
void machine_process_name(unsigned process, char name[4]);

/* A process's next step, in words. */
void machine_describe(unsigned process, char *line, size_t bytes);

/* Ends the program with an error: the model checker itself cannot go on. */
void machine_give_up(const char *why) __attribute__((noreturn));

#endif
