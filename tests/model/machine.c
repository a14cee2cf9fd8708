/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and their steps.  See machine.h. */
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "coroutine.h"
#include "machine_memory.h"
#include "machine_state.h"

static struct machine *machine;

static void run_thread(void)
{
	machine->running->definition->run();
	machine->running->life = ENDED;
}

static void run_finish(void)
{
	machine->scenario->finish();
}

void machine_give_up(const char *why)
{
	fprintf(stderr, "model: %s\n", why);
	exit(2);
}

void machine_load(const struct model_scenario *scenario, bool buffered)
{
	if (machine == NULL) {
		machine = mmap(NULL, sizeof *machine, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (machine == MAP_FAILED)
			machine_give_up("no memory");
		for (unsigned t = 0; t < MODEL_THREADS; t++)
			coroutine_create(&machine->threads[t].coroutine, run_thread);
		coroutine_create(&machine->finish, run_finish);
		memory_first();
	}
	memory_forget();
	machine->scenario = scenario;
	machine->buffered = buffered;
	machine->ignored_count = 0;
	machine->running = NULL;
	for (unsigned t = 0; t < MODEL_THREADS; t++)
		machine->threads[t].definition = &scenario->threads[t];
	scenario->setup();
	memory_keep();
}

const char *machine_violation(void)
{
	return machine->violation[0] != '\0' ? machine->violation : NULL;
}

/* Runs a thread up to its next access. */
static void resume(struct thread *thread)
{
	machine->running = thread;
	memory_use_thread_state(&thread->state);
	coroutine_resume(&thread->coroutine);
	machine->running = NULL;
}

void machine_restart(void)
{
	memory_restore();
	machine->violation[0] = '\0';
	machine->late_timeouts = 0;
	machine->now_ns = 1;
	for (unsigned t = 0; t < MODEL_THREADS; t++) {
		struct thread *thread = &machine->threads[t];

		*thread = (struct thread){
			.definition = thread->definition,
			.coroutine = thread->coroutine,
			.life = thread->definition->run == NULL ? ENDED : RUNS,
			.early_timeouts = thread->definition->early_timeouts,
			.state.tid = t + 1,
		};
		coroutine_restart(&thread->coroutine);
		if (thread->life == RUNS)
			resume(thread);
	}
}

void model_fail(const char *file, int line, const char *what)
{
	snprintf(machine->violation, sizeof machine->violation, "%s:%d: not so: %s", file, line,
		 what);
	if (machine->running != NULL)
		coroutine_suspend(&machine->running->coroutine);
	else if (machine->finishing)
		coroutine_suspend(&machine->finish);
	machine_give_up(machine->violation);
}

void machine_finish(void)
{
	for (unsigned t = 0; t < MODEL_THREADS; t++) {
		const struct thread *thread = &machine->threads[t];

		if ((thread->life == RUNS || thread->life == WAITS) &&
		    !(thread->definition->flags & MODEL_DAEMON)) {
			snprintf(machine->violation, sizeof machine->violation,
				 "thread %u waits for ever, in %s:%d", t,
				 thread->next.where.function, thread->next.where.line);
			return;
		}
	}
	machine->finishing = true;
	coroutine_restart(&machine->finish);
	coroutine_resume(&machine->finish);
	machine->finishing = false;
}

/* Called by the scenarios and the library's code. */

static bool is_ignored(uintptr_t address)
{
	for (unsigned i = 0; i < machine->ignored_count; i++) {
		if (address - machine->ignored[i].start < machine->ignored[i].bytes)
			return true;
	}
	return false;
}

void model_ignore(const void *start, size_t bytes)
{
	if (machine->ignored_count == IGNORED_MOST)
		machine_give_up("too much is ignored");
	machine->ignored[machine->ignored_count++] = (struct range){(uintptr_t)start, bytes};
}

static uint64_t is_gone(uint64_t tid)
{
	return tid < 1 || tid > MODEL_THREADS || machine->threads[tid - 1].life == DEAD;
}

static uint64_t access_next(const struct next *next)
{
	struct thread *self = machine->running;

	if (self == NULL && next->op == MODEL_IS_GONE)
		return is_gone(next->value);
	if (self == NULL || is_ignored(next->address))
		return memory_do(next);
	self->next = *next;
	coroutine_suspend(&self->coroutine);
	return self->result;
}

uint64_t model_access(struct model_where where, enum model_op op, const volatile void *address,
		      size_t bytes, uint64_t value, int order)
{
	struct next next = {where, op, (uintptr_t)address, bytes, value, 0, order};

	return access_next(&next);
}

bool model_cas(struct model_where where, const volatile void *address, size_t bytes,
	       uint64_t *expected, uint64_t desired)
{
	struct next next = {where,   MODEL_CAS, (uintptr_t)address, bytes,
			    desired, *expected, __ATOMIC_SEQ_CST};
	uint64_t was = access_next(&next);
	bool is_done = was == *expected;

	*expected = was;
	return is_done;
}

int model_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
	struct next next = {{__func__, __LINE__}, MODEL_FUTEX_WAIT, (uintptr_t)word,
			    sizeof *word,         expected,         (uint64_t)timeout_ns,
			    __ATOMIC_SEQ_CST};

	return (int)access_next(&next);
}

uint64_t model_now_ns(void)
{
	return machine->now_ns;
}

#define HERE ((struct model_where){__func__, __LINE__})

void model_await(const _Atomic uint32_t *word, uint32_t value)
{
	model_access(HERE, MODEL_AWAIT, word, sizeof *word, value, __ATOMIC_ACQUIRE);
}

void model_take_over(unsigned thread)
{
	model_access(HERE, MODEL_TAKE_OVER, NULL, 0, thread, 0);
	hs_thread = machine->threads[thread].state;
}

void model_die(void)
{
	model_access(HERE, MODEL_DIE, NULL, 0, 0, 0);
}

unsigned model_late_timeouts(void)
{
	return machine->late_timeouts;
}

uint32_t model_tid(void)
{
	return machine->running == NULL ? MODEL_THREADS + 1
					: (uint32_t)(machine->running - machine->threads) + 1;
}

/* The steps. */

static void forget_wait(struct thread *thread)
{
	for (unsigned t = 0; t < MODEL_THREADS; t++) {
		struct thread *other = &machine->threads[t];

		if (other->life == WAITS && other->next.address == thread->next.address &&
		    other->turn > thread->turn)
			other->turn--;
	}
}

static void end_wait(struct thread *thread, int result, const struct clock *clock)
{
	forget_wait(thread);
	thread->life = RUNS;
	thread->next.op = MODEL_RESUME;
	thread->next.value = (uint64_t)result;
	machine_join(&thread->causes, clock);
}

static unsigned count_waiters(uintptr_t word)
{
	unsigned count = 0;

	for (unsigned t = 0; t < MODEL_THREADS; t++)
		count += machine->threads[t].life == WAITS &&
			 machine->threads[t].next.address == word;
	return count;
}

/* Wakes those that have waited longest first.  Returns how many. */
static uint64_t wake(const struct next *next, const struct clock *clock)
{
	uint64_t woken = 0;

	for (unsigned t = 0; t < MODEL_THREADS && woken < next->value;) {
		struct thread *thread = &machine->threads[t];

		if (thread->life == WAITS && thread->next.address == next->address &&
		    thread->turn == 0) {
			end_wait(thread, 0, clock);
			woken++;
			t = 0;
		} else {
			t++;
		}
	}
	return woken;
}

/* After an access: hands its result to the thread, which goes on. */
static void complete(struct thread *thread, uint64_t result)
{
	thread->result = result;
	resume(thread);
}

static void step_wait(struct thread *thread)
{
	const struct next *next = &thread->next;

	if (memory_load(next->address, 4) != (uint32_t)next->value) {
		complete(thread, (uint64_t)-EAGAIN);
		return;
	}
	thread->turn = count_waiters(next->address);
	thread->is_timed = (int64_t)next->expected >= 0;
	thread->end_ns = machine->now_ns + next->expected;
	thread->life = WAITS;
}

static void step_thread(struct thread *thread, const struct clock *clock)
{
	const struct next *next = &thread->next;
	uint64_t held;

	if (machine_is_buffered(next)) {
		buffer_put(&thread->buffer, next, clock);
		complete(thread, 0);
		return;
	}
	switch (next->op) {
	case MODEL_LOAD:
		complete(thread, buffer_find(&thread->buffer, next->address, &held)
					 ? held
					 : memory_do(next));
		break;
	case MODEL_FUTEX_WAIT:
		step_wait(thread);
		break;
	case MODEL_FUTEX_WAKE:
		complete(thread, wake(next, clock));
		break;
	case MODEL_IS_GONE:
		complete(thread, is_gone(next->value));
		break;
	case MODEL_DIE:
		thread->life = DEAD;
		break;
	case MODEL_TAKE_OVER:
	case MODEL_RESUME:
		complete(thread, next->value);
		break;
	default:
		complete(thread, memory_do(next));
	}
}

static void end_late(const struct thread *thread)
{
	machine->late_timeouts++;
	machine->now_ns = thread->end_ns;
}

void machine_step(unsigned process, const struct clock *clock)
{
	struct thread *thread = &machine->threads[process % MODEL_THREADS];

	switch (process - process % MODEL_THREADS) {
	case PROCESS_BUFFER:
		buffer_flush(&thread->buffer);
		break;
	case PROCESS_TIMER:
		if (thread->early_timeouts > 0)
			thread->early_timeouts--;
		else
			end_late(thread);
		end_wait(thread, -ETIMEDOUT, clock);
		break;
	case PROCESS_DEATH:
		if (thread->life == WAITS)
			forget_wait(thread);
		thread->life = DEAD;
		break;
	default:
		step_thread(thread, clock);
	}
}

struct machine *machine_state(void)
{
	return machine;
}
