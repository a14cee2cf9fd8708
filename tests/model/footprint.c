/* SPDX-License-Identifier: BSD-2-Clause */
/* What a step reads and writes, what happens before it, and how it is printed.  See machine.h. */
#include <stdio.h>
#include <string.h>

#include "machine_state.h"

static void add(struct footprint *footprint, uintptr_t address, bool writes)
{
	footprint->address[footprint->count] = address;
	footprint->writes[footprint->count] = writes;
	footprint->count++;
	footprint->filter |= (uint64_t)1 << (address * 0x9e3779b97f4a7c15u >> 58);
}

/* Numbers for things that are not memory: a futex's queue, a thread's life. */

static uintptr_t queue_of(uintptr_t word)
{
	return ~word;
}

static uintptr_t life_of(unsigned thread)
{
	return (uintptr_t)&machine_state()->threads[thread];
}

static bool has_waiter(uintptr_t word)
{
	for (unsigned t = 0; t < MODEL_THREADS; t++) {
		const struct thread *thread = &machine_state()->threads[t];

		if (thread->life == WAITS && thread->next.address == word)
			return true;
	}
	return false;
}

static void add_futex(const struct next *next, bool exactly, struct footprint *footprint)
{
	bool waits = memory_load(next->address, 4) == (uint32_t)next->value;

	if (next->op == MODEL_FUTEX_WAKE) {
		add(footprint, queue_of(next->address), !exactly || has_waiter(next->address));
		return;
	}
	add(footprint, next->address, false);
	if (!exactly || waits)
		add(footprint, queue_of(next->address), true);
}

static void add_access(const struct next *next, bool exactly, struct footprint *footprint)
{
	switch (next->op) {
	case MODEL_LOAD:
	case MODEL_AWAIT:
		add(footprint, next->address, false);
		break;
	case MODEL_STORE:
		if (!machine_is_buffered(next))
			add(footprint, next->address, true);
		break;
	case MODEL_CAS:
		add(footprint, next->address,
		    !exactly || memory_load(next->address, next->bytes) == next->expected);
		break;
	case MODEL_FUTEX_WAIT:
	case MODEL_FUTEX_WAKE:
		add_futex(next, exactly, footprint);
		break;
	case MODEL_TAKE_OVER:
		add(footprint, life_of((unsigned)next->value), false);
		break;
	case MODEL_IS_GONE:
		if (next->value >= 1 && next->value <= MODEL_THREADS)
			add(footprint, life_of((unsigned)next->value - 1), false);
		break;
	case MODEL_FENCE:
	case MODEL_RESUME:
		break;
	case MODEL_DIE:
		break;
	default:
		add(footprint, next->address, true);
	}
}

void machine_footprint(unsigned process, bool exactly, struct footprint *footprint)
{
	unsigned t = process % MODEL_THREADS;
	const struct thread *thread = &machine_state()->threads[t];

	footprint->count = 0;
	footprint->filter = 0;
	switch (process - t) {
	case PROCESS_BUFFER:
		add(footprint, thread->buffer.stores[0].address, true);
		return;
	case PROCESS_DEATH:
		add(footprint, life_of(t), true);
		if (thread->life == WAITS)
			add(footprint, queue_of(thread->next.address), true);
		return;
	case PROCESS_TIMER:
		add(footprint, queue_of(thread->next.address), true);
		break;
	default:
		add_access(&thread->next, exactly, footprint);
		if (thread->next.op == MODEL_DIE) {
			add(footprint, life_of(t), true);
			return;
		}
	}
	if (thread->definition->flags & MODEL_MAY_DIE)
		add(footprint, life_of(t), false);
}

bool machine_conflict(const struct footprint *a, const struct footprint *b)
{
	if ((a->filter & b->filter) == 0)
		return false;
	for (unsigned i = 0; i < a->count; i++) {
		for (unsigned k = 0; k < b->count; k++) {
			if (a->address[i] == b->address[k] && (a->writes[i] || b->writes[k]))
				return true;
		}
	}
	return false;
}

void machine_join(struct clock *clock, const struct clock *other)
{
	for (unsigned p = 0; p < PROCESSES; p++) {
		if (clock->steps[p] < other->steps[p])
			clock->steps[p] = other->steps[p];
	}
}

void machine_causes(unsigned process, struct clock *clock)
{
	const struct thread *thread = &machine_state()->threads[process % MODEL_THREADS];

	if (process < MODEL_THREADS)
		*clock = thread->causes;
	else if (process - process % MODEL_THREADS == PROCESS_BUFFER)
		*clock = thread->buffer.stores[0].clock;
	else
		*clock = (struct clock){{0}};
}

void machine_process_name(unsigned process, char name[4])
{
	static const char kinds[] = {'\0', 'b', 't', 'd'};
	unsigned at = 0;

	if (process >= MODEL_THREADS)
		name[at++] = kinds[process / MODEL_THREADS];
	name[at++] = (char)('0' + process % MODEL_THREADS);
	name[at] = '\0';
}

static void describe_access(const struct next *next, char *line, size_t bytes)
{
	static const char *const names[] = {
		"load",    "store",      "exchange",   "add",   "and",
		"or",      "cas",        "fence",      "await", "goes on for",
		"wait on", "wake up to", "is it gone", "dies",  "is woken",
	};
	static const char *const orders[] = {"relaxed", "relaxed", "acquire",
					     "release", "acq_rel", "seq_cst"};
	bool is_ordered = next->op <= MODEL_STORE;

	snprintf(line, bytes, "%s:%d: %s%s%s 0x%llx", next->where.function, next->where.line,
		 is_ordered ? orders[next->order] : "", is_ordered ? " " : "", names[next->op],
		 (unsigned long long)next->value);
}

void machine_describe(unsigned process, char *line, size_t bytes)
{
	unsigned t = process % MODEL_THREADS;
	const struct thread *thread = &machine_state()->threads[t];

	switch (process - t) {
	case PROCESS_BUFFER:
		snprintf(line, bytes, "a store of 0x%llx leaves the buffer",
			 (unsigned long long)thread->buffer.stores[0].value);
		break;
	case PROCESS_TIMER:
		snprintf(line, bytes, "its wait times out");
		break;
	case PROCESS_DEATH:
		snprintf(line, bytes, "dies");
		break;
	default:
		describe_access(&thread->next, line, bytes);
	}
}
