/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces what else the worker's and the producer's loops call, by functions that do as little as
 * the scenarios need.  The linker drops what only the start of a session calls.
 */
#include <errno.h>

#include "base/log.h"
#include "base/sys.h"
#include "maps/map_hint_text.h"
#include "maps/map_hints.h"
#include "profile/producer.h"
#include "session/ask.h"
#include "session/budget.h"
#include "session/cpu_guard.h"
#include "session/epoch.h"
#include "session/left_alone.h"
#include "session/libc_threads.h"
#include "session/oom_watch.h"
#include "session/session_state.h"
#include "session/started.h"
#include "session/threads.h"

void hs_log(enum hs_log_level level, const char *format, ...)
{
	(void)level;
	(void)format;
}

bool hs_map_hint_check_range(uint64_t start, uint64_t length, uint64_t offset,
			     struct hs_map_hint_problem *problem)
{
	(void)start, (void)length, (void)offset, (void)problem;
	return true;
}

int hs_map_hints_add(struct hs_map_hints *hints, const char *path, uint64_t start, uint64_t length,
		     uint64_t offset)
{
	(void)hints, (void)path, (void)start, (void)length, (void)offset;
	return 0;
}

int hs_map_hints_remove(struct hs_map_hints *hints, uint64_t start, uint64_t length)
{
	(void)hints, (void)start, (void)length;
	return 0;
}

int hs_unwinder_load_engine(struct hs_unwinder *unwinder)
{
	(void)unwinder;
	return 0;
}

/* libc's view of the threads (session/libc_threads.h) has no effect on the ring and the books. */
void hs_libc_worker_has_loaded(void)
{
}

bool hs_libc_loads_at_start(void)
{
	return false;
}

void hs_libc_answer_worker(void)
{
}

void hs_unwinder_begin_batch(struct hs_unwinder *unwinder)
{
	(void)unwinder;
}

/* The producer's books; scenarios_session.c has hs_producer_take(), _expect(), _begin_batch(). */

bool hs_producer_knows_generated_code(const struct hs_producer *producer)
{
	(void)producer;
	return false;
}

bool hs_producer_commit(struct hs_producer *producer)
{
	(void)producer;
	return false;
}

bool hs_producer_has_taken_frees(const struct hs_producer *producer)
{
	(void)producer;
	return false;
}

void hs_producer_commit_before(struct hs_producer *producer, uint64_t number)
{
	(void)producer;
	(void)number;
}

uint32_t hs_producer_take_freed(struct hs_producer *producer)
{
	(void)producer;
	return 0;
}

uint64_t hs_producer_next_number(const struct hs_producer *producer)
{
	(void)producer;
	return 0;
}

void hs_producer_skip_gap(struct hs_producer *producer, uint64_t stuck_before)
{
	(void)producer, (void)stuck_before;
}

uint64_t hs_producer_in_use_bytes(const struct hs_producer *producer, uint32_t heap)
{
	(void)producer;
	(void)heap;
	return 0;
}

/* The profiler's threads run already, and no system call is refused. */

/* The program's threads have not ended. */
void hs_left_alone_wait(struct hs_event *event, int64_t timeout_ns)
{
	hs_event_wait(event, timeout_ns);
}

bool hs_fork_is_own_process(void)
{
	return true;
}

void hs_fork_let_go(void)
{
}

void hs_threads_begin_undisturbed(struct hs_undisturbed *before)
{
	(void)before;
}

void hs_threads_end_undisturbed(const struct hs_undisturbed *before)
{
	(void)before;
}

bool hs_threads_await(void)
{
	return true;
}

bool hs_threads_may_start(uintptr_t sp)
{
	(void)sp;
	return false;
}

uint64_t hs_threads_wait_slice(_Atomic uint32_t *word, uint32_t now)
{
	hs_sys_futex_wait(word, now, 50000000);
	return 0;
}

bool hs_threads_died(void)
{
	return false;
}

bool hs_threads_cannot_wake(uint64_t start_ns, bool not_begun)
{
	(void)start_ns, (void)not_begun;
	return false;
}

bool hs_sys_is_wake_refused(void)
{
	return false;
}

int hs_sys_signal_handler(int number, uintptr_t *handler)
{
	(void)number, (void)handler;
	return -EINVAL;
}

void hs_budget_follow(bool is_live_set_short)
{
	(void)is_live_set_short;
}

void hs_budget_tell_losses(bool is_live_set_short)
{
	(void)is_live_set_short;
}

void hs_cpu_note_worker(void)
{
}

void hs_cpu_note_producer(bool writes)
{
	(void)writes;
}

void hs_cpu_guard_follow(void)
{
}

int hs_epoch_start(void)
{
	return 0;
}

void hs_ask_serve(void)
{
}

bool hs_ask_is_waiting(void)
{
	return false;
}

bool hs_oom_watch_is_crossed(uint64_t *look_bytes)
{
	(void)look_bytes;
	return false;
}

void hs_oom_watch_rearm(void)
{
}

uint64_t hs_stream_due_ns(void)
{
	return 0;
}

void hs_stream_run_due(void)
{
}

bool hs_stream_awaits_frees(void)
{
	return false;
}

void hs_started_tell(void)
{
}

void hs_budget_tell_stackless(void)
{
}

void hs_keep_add(const char *path)
{
	(void)path;
}

void hs_dump_drop_inherited(void)
{
}

const char *hs_profile_file_last(void)
{
	return "";
}
