/* SPDX-License-Identifier: BSD-2-Clause */
/* See explore.h.  The terms are those of the paper that model.h names. */
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "machine.h"

/* A longer run counts as one that does not end. */
#define STEPS_MOST 3000
#define ENDLESS "a run does not end"

/* The first word of a schedule in whose run stores are not buffered. */
#define UNBUFFERED "unbuffered"

#define BIT(process) (1u << (process))
#define ALL_THREADS (BIT(MODEL_THREADS) - 1)
#define ALL_TIMERS (ALL_THREADS << PROCESS_TIMER)
#define ALL_DEATHS (ALL_THREADS << PROCESS_DEATH)

/* A state of the run, and the step taken from it.  Sets of processes are bit masks. */
struct node {
	unsigned process;
	uint32_t enabled;
	uint32_t backtrack; /* those to be tried from here */
	uint32_t done;      /* those tried from here before */
	uint32_t sleep;     /* not to be tried: earlier states have tried what begins with these */
	bool is_late;       /* no process could go on: only timers are enabled */
	int preemptions;    /* in the run up to here */
	unsigned thread;    /* the one that ran last; MODEL_THREADS: none */
	struct footprint footprint;
	struct clock clock;
};

struct explorer {
	int bound;
	bool is_buffered;
	unsigned length; /* steps of the run */
	unsigned fixed;  /* how many are given: those of the last run, with a new last one */
	struct clock last[PROCESSES]; /* of each process's last step */
	struct exploration counts;
	struct node nodes[STEPS_MOST];
};

/* In memory of its own: machine_restart() restores all variables. */
static struct explorer *explorer;

static unsigned first_of(uint32_t set)
{
	return (unsigned)__builtin_ctz(set);
}

/*
 * Whether the order of two steps matters.  It does not between a thread and its own buffer: the
 * thread's loads find its stores in the buffer or in memory.
 */
static bool depends(unsigned p, const struct footprint *a, unsigned q, const struct footprint *b)
{
	bool is_own_buffer =
		p % MODEL_THREADS == q % MODEL_THREADS && p < PROCESS_TIMER && q < PROCESS_TIMER;

	return !is_own_buffer && machine_conflict(a, b);
}

static bool happens_before(unsigned step, const struct clock *clock)
{
	return clock->steps[explorer->nodes[step].process] >= step + 1;
}

/*
 * Of the steps after `step` that need not come after it, up to and including `end`: the processes
 * whose step may be the first of them.
 */
static uint32_t initials(unsigned step, unsigned end)
{
	unsigned first[PROCESSES] = {0}; /* step of a process, counted from 1 */
	uint32_t found = 0;

	for (unsigned k = step + 1; k <= end; k++) {
		const struct node *node = &explorer->nodes[k];
		bool is_first = true;

		if (happens_before(step, &node->clock) && k != end)
			continue;
		for (unsigned q = 0; q < PROCESSES; q++)
			is_first &= first[q] == 0 || node->clock.steps[q] < first[q];
		if (is_first)
			found |= BIT(node->process);
		if (first[node->process] == 0)
			first[node->process] = k + 1;
	}
	return found;
}

/* The step at `end` could come before `step`: arranges that such an order is tried. */
static void reverse(unsigned step, unsigned end)
{
	struct node *node = &explorer->nodes[step];
	uint32_t set = initials(step, end);

	if ((set & (node->backtrack | node->done | node->sleep)) != 0)
		return;
	/* If none is enabled, the other needs this step to come first. */
	set &= node->enabled;
	if (set != 0)
		node->backtrack |= set & BIT(explorer->nodes[end].process)
					   ? BIT(explorer->nodes[end].process)
					   : BIT(first_of(set));
}

/* For a timeout that comes when nothing else can happen: all steps so far happen before it. */
static void clock_of_all(struct clock *clock)
{
	for (unsigned p = 0; p < PROCESSES; p++)
		machine_join(clock, &explorer->last[p]);
}

static void own_causes(const struct node *node, struct clock *clock)
{
	unsigned p = node->process;

	machine_causes(p, clock);
	machine_join(clock, &explorer->last[p]);
	if (p - p % MODEL_THREADS == PROCESS_TIMER)
		machine_join(clock, &explorer->last[p % MODEL_THREADS]);
	if (p < MODEL_THREADS && machine_is_drained(p))
		machine_join(clock, &explorer->last[PROCESS_BUFFER + p]);
	if (node->is_late)
		clock_of_all(clock);
}

/* Computes the clock of the newest step.  For each race, arranges that the reverse is tried. */
static void find_races(unsigned step)
{
	struct node *node = &explorer->nodes[step];
	static unsigned races[STEPS_MOST];
	unsigned count = 0;

	if (explorer->bound != MODEL_COMPLETE)
		return;
	own_causes(node, &node->clock);
	for (unsigned i = step; i-- > 0;) {
		const struct node *other = &explorer->nodes[i];

		if (happens_before(i, &node->clock) ||
		    !depends(other->process, &other->footprint, node->process, &node->footprint))
			continue;
		if (other->process != node->process)
			races[count++] = i;
		machine_join(&node->clock, &other->clock);
	}
	node->clock.steps[node->process] = (uint16_t)(step + 1);
	while (count > 0)
		reverse(races[--count], step);
}

/* The next state's sleep set: those that slept or were tried here and commute with the step. */
static uint32_t still_asleep(const struct node *node)
{
	uint32_t set = node->sleep | node->done, asleep = 0;
	struct footprint footprint;

	if (node->is_late || explorer->bound != MODEL_COMPLETE)
		return 0;
	for (; set != 0; set &= set - 1) {
		unsigned process = first_of(set);

		if (process == node->process)
			continue;
		machine_footprint(process, false, &footprint);
		if (!depends(process, &footprint, node->process, &node->footprint))
			asleep |= BIT(process);
	}
	return asleep;
}

static int preemptions_of(const struct node *node, unsigned process)
{
	bool is_other = process < MODEL_THREADS && process != node->thread;

	if (node->is_late)
		return 0;
	if (process >= PROCESS_DEATH)
		return machine_is_running(process % MODEL_THREADS);
	if (process >= PROCESS_TIMER)
		return 1;
	return is_other && node->thread < MODEL_THREADS && (node->enabled & BIT(node->thread)) != 0;
}

/* Chooses what to try from a new state.  False: nothing. */
static bool open_node(struct node *node)
{
	uint32_t tried = 0;

	node->done = 0;
	if (explorer->bound == MODEL_COMPLETE) {
		tried = node->enabled & ~node->sleep;
		if (tried == 0)
			return false;
		node->process = tried & BIT(node->thread) ? node->thread : first_of(tried);
		node->backtrack = node->is_late ? node->enabled : BIT(node->process);
		return true;
	}
	for (unsigned p = 0; p < PROCESSES; p++) {
		bool is_useless = p >= PROCESS_DEATH && !machine_is_running(p % MODEL_THREADS);

		if ((node->enabled & BIT(p)) != 0 && !is_useless &&
		    node->preemptions + preemptions_of(node, p) <= explorer->bound)
			tried |= BIT(p);
	}
	/* A run that has reached the bound goes on to its end nevertheless. */
	node->backtrack = tried != 0 ? tried : BIT(first_of(node->enabled));
	node->process =
		node->backtrack & BIT(node->thread) ? node->thread : first_of(node->backtrack);
	return true;
}

/* Takes the step of a state, and fills in what the next state takes over from it. */
static void take_step(unsigned step)
{
	struct node *node = &explorer->nodes[step], *next = node + 1;
	bool is_new = step + 1 >= explorer->fixed;

	if (is_new) {
		machine_footprint(node->process, true, &node->footprint);
		find_races(step);
		next->sleep = still_asleep(node);
		next->preemptions = node->preemptions + preemptions_of(node, node->process);
		if (next->preemptions > explorer->bound)
			next->preemptions = explorer->bound;
		next->thread = node->process < MODEL_THREADS ? node->process : node->thread;
	}
	explorer->last[node->process] = node->clock;
	machine_step(node->process, &node->clock);
	explorer->counts.steps++;
}

enum run { RUN_ENDED, RUN_CUT, RUN_LONG };

static enum run run_once(void)
{
	memset(explorer->last, 0, sizeof explorer->last);
	machine_restart();
	for (explorer->length = 0; machine_violation() == NULL; explorer->length++) {
		struct node *node = &explorer->nodes[explorer->length];
		uint32_t enabled = machine_enabled();
		bool is_late = enabled == 0;

		if (is_late)
			enabled = machine_timers();
		if (enabled == 0) {
			machine_finish();
			return RUN_ENDED;
		}
		if (explorer->length + 1 == STEPS_MOST)
			return RUN_LONG;
		node->enabled = enabled;
		node->is_late = is_late;
		if (explorer->length >= explorer->fixed && !open_node(node))
			return RUN_CUT;
		take_step(explorer->length);
	}
	return RUN_ENDED;
}

/* Returns to the last state from which there is something left to try.  False: none. */
static bool go_back(void)
{
	for (unsigned i = explorer->length; i-- > 0;) {
		struct node *node = &explorer->nodes[i];
		uint32_t left;

		node->done |= BIT(node->process);
		left = node->backtrack & node->enabled & ~node->done & ~node->sleep;
		if (left != 0) {
			node->process = first_of(left);
			explorer->fixed = i + 1;
			return true;
		}
	}
	return false;
}

static void print_schedule(void)
{
	char name[4];

	printf("  schedule:%s", explorer->is_buffered ? "" : " " UNBUFFERED);
	for (unsigned i = 0, times; i < explorer->length; i += times) {
		for (times = 1; i + times < explorer->length &&
				explorer->nodes[i + times].process == explorer->nodes[i].process;)
			times++;
		machine_process_name(explorer->nodes[i].process, name);
		printf(times > 1 ? " %s*%u" : " %s", name, times);
	}
	printf("\n");
}

static void prepare(const struct model_scenario *scenario, bool is_buffered)
{
	if (explorer == NULL)
		explorer = mmap(NULL, sizeof *explorer, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (explorer == MAP_FAILED)
		machine_give_up("no memory");
	explorer->is_buffered = is_buffered;
	machine_load(scenario, is_buffered);
}

bool explore(const struct model_scenario *scenario, int bound, struct exploration *done)
{
	bool is_well = true;

	prepare(scenario, bound == MODEL_COMPLETE && !getenv("MODEL_SC"));
	memset(&explorer->counts, 0, sizeof explorer->counts);
	explorer->bound = bound;
	explorer->fixed = 0;
	explorer->nodes[0].sleep = 0;
	explorer->nodes[0].preemptions = 0;
	explorer->nodes[0].thread = MODEL_THREADS;
	do {
		enum run run = run_once();

		explorer->counts.runs += run != RUN_CUT;
		explorer->counts.cut += run == RUN_CUT;
		if (explorer->counts.longest < explorer->length)
			explorer->counts.longest = explorer->length;
		if (run == RUN_LONG || machine_violation() != NULL) {
			printf("%s: %s\n", scenario->name,
			       run == RUN_LONG ? ENDLESS : machine_violation());
			print_schedule();
			is_well = false;
		}
	} while (is_well && go_back());
	*done = explorer->counts;
	return is_well;
}

static unsigned process_named(const char *name, size_t length)
{
	char own[4];

	for (unsigned p = 0; p < PROCESSES; p++) {
		machine_process_name(p, own);
		if (strlen(own) == length && memcmp(own, name, length) == 0)
			return p;
	}
	return PROCESSES;
}

static void replay_step(unsigned process)
{
	static const struct clock none;
	char name[4], line[200];

	if (process == PROCESSES || ((machine_enabled() | machine_timers()) & BIT(process)) == 0)
		machine_give_up("the schedule does not fit");
	machine_process_name(process, name);
	machine_describe(process, line, sizeof line);
	printf("%-3s %s\n", name, line);
	machine_step(process, &none);
}

static const char *next_word(const char *at)
{
	at += strcspn(at, " ");
	return at + strspn(at, " ");
}

bool explore_replay(const struct model_scenario *scenario, const char *schedule)
{
	const char *at = schedule + strspn(schedule, " "), *violation;
	bool is_buffered = strncmp(at, UNBUFFERED, strlen(UNBUFFERED)) != 0;
	unsigned steps = 0;

	prepare(scenario, is_buffered);
	machine_restart();
	for (at = is_buffered ? at : next_word(at); *at != '\0'; at = next_word(at)) {
		size_t length = strcspn(at, "* ");
		unsigned long times = at[length] == '*' ? strtoul(at + length + 1, NULL, 10) : 1;

		for (; times > 0; times--, steps++)
			replay_step(process_named(at, length));
	}
	if (machine_violation() == NULL && machine_enabled() == 0)
		machine_finish();
	violation = steps + 1 == STEPS_MOST ? ENDLESS : machine_violation();
	if (violation != NULL)
		printf("%s\n", violation);
	return violation == NULL;
}
