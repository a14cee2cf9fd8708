/* SPDX-License-Identifier: BSD-2-Clause */
/* What the machine is made of, for machine.c and footprint.c. */
#ifndef HS_TESTS_MODEL_MACHINE_STATE_H
#define HS_TESTS_MODEL_MACHINE_STATE_H

#include "coroutine.h"
#include "machine.h"
#include "machine_memory.h"
#include "sample/thread_state.h"

enum life { RUNS, WAITS, ENDED, DEAD };

struct thread {
	const struct model_thread *definition;
	struct coroutine coroutine;
	struct hs_thread_state state; /* its hs_thread, while another thread runs */
	enum life life;
	struct next next;
	uint64_t result;
	struct buffer buffer;
	struct clock causes; /* of the steps that ended its waits */
	unsigned turn;       /* while it waits: how many have waited longer for the same word */
	bool is_timed;
	uint64_t end_ns; /* of a timed wait */
	unsigned early_timeouts;
};

#define IGNORED_MOST 8

struct range {
	uintptr_t start;
	size_t bytes;
};

struct machine {
	const struct model_scenario *scenario;
	bool buffered;
	struct thread threads[MODEL_THREADS];
	struct thread *running; /* NULL: the explorer, setup or finish */
	struct coroutine finish;
	bool finishing;
	unsigned late_timeouts;
	uint64_t now_ns; /* when the last late timeout came */
	struct range ignored[IGNORED_MOST];
	unsigned ignored_count;
	char violation[256];
};

struct machine *machine_state(void);

/* Whether an access is a store that goes into the store buffer. */
bool machine_is_buffered(const struct next *next);

#endif
