/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes can take a step.  See machine.h. */
#include "machine_state.h"

bool machine_is_buffered(const struct next *next)
{
	return machine_state()->buffered && next->op == MODEL_STORE &&
	       next->order != __ATOMIC_SEQ_CST;
}

/* Locked instructions and system calls wait until the store buffer is empty. */
static bool needs_empty_buffer(const struct next *next)
{
	return next->op != MODEL_LOAD && next->op != MODEL_AWAIT && next->op != MODEL_RESUME &&
	       next->op != MODEL_DIE && next->op != MODEL_TAKE_OVER && !machine_is_buffered(next);
}

static bool can_go_on(const struct thread *thread)
{
	if (thread->life != RUNS || (thread->buffer.count > 0 && needs_empty_buffer(&thread->next)))
		return false;
	if (thread->next.op == MODEL_TAKE_OVER)
		return machine_state()->threads[thread->next.value].life == DEAD &&
		       machine_state()->threads[thread->next.value].buffer.count == 0;
	return thread->next.op != MODEL_AWAIT ||
	       memory_load(thread->next.address, thread->next.bytes) == thread->next.value;
}

static bool is_timed(const struct thread *thread)
{
	return thread->life == WAITS && thread->is_timed;
}

bool machine_is_drained(unsigned thread)
{
	return needs_empty_buffer(&machine_state()->threads[thread].next);
}

bool machine_is_running(unsigned thread)
{
	return machine_state()->threads[thread].life == RUNS ||
	       machine_state()->threads[thread].life == WAITS;
}

uint32_t machine_enabled(void)
{
	uint32_t enabled = 0;

	for (unsigned t = 0; t < MODEL_THREADS; t++) {
		const struct thread *thread = &machine_state()->threads[t];

		if (can_go_on(thread))
			enabled |= 1u << t;
		if (thread->buffer.count > 0)
			enabled |= 1u << (PROCESS_BUFFER + t);
		if (is_timed(thread) && thread->early_timeouts > 0)
			enabled |= 1u << (PROCESS_TIMER + t);
		/* Even after its end: so each run has this step, tried before any other. */
		if ((thread->definition->flags & MODEL_MAY_DIE) && thread->life != DEAD)
			enabled |= 1u << (PROCESS_DEATH + t);
	}
	return enabled;
}

uint32_t machine_timers(void)
{
	uint64_t end_ns = UINT64_MAX;
	uint32_t timers = 0;

	for (unsigned t = 0; t < MODEL_THREADS; t++) {
		const struct thread *thread = &machine_state()->threads[t];

		if (!is_timed(thread) || thread->end_ns > end_ns)
			continue;
		if (thread->end_ns < end_ns)
			timers = 0;
		end_ns = thread->end_ns;
		timers |= 1u << (PROCESS_TIMER + t);
	}
	return timers;
}
