/* SPDX-License-Identifier: BSD-2-Clause */
/* The session's start and its samples.  See session.h. */
#include "session/session.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/alone.h"
#include "base/arena.h"
#include "base/hot.h"
#include "base/likely.h"
#include "base/log.h"
#include "base/options.h"
#include "base/root.h"
#include "base/sys.h"
#include "profile/heap_tracker.h"
#include "profile/symbol_filter.h"
#include "sample/capture.h"
#include "sample/heap.h"
#include "sample/labels.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "sample/thread_state.h"
#include "session/epoch.h"
#include "session/left_alone.h"
#include "session/libc_threads.h"
#include "session/memory_parts.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/started.h"
#include "session/threads.h"
#include "session/unlocked.h"

HS_SAMPLE_DATA struct hs_session hs_session;

/* Set by the loader before anything runs: where the main thread's stack begins. */
extern void *__libc_stack_end;

/* The table of generated code, and symbols that are kept, may each take one part of the memory. */
#define JIT_SHARE 8
#define SYMBOLS_SHARE 8

static void report_problem(const char *line)
{
	hs_log(HS_LOG_WARN, "%s", line);
}

static void read_options(char **environment)
{
	hs_options_parse(&hs_options, environment, NULL);
	hs_log_init(hs_options.log_level, hs_options.logfile);
}

/* One line for each setting that makes no sense. */
static void report_settings(char **environment)
{
	/* Parsed a second time, now that messages can go to the file that hs_options names. */
	static struct hs_options again;
	int error = hs_log_check_file();
	const char *text = error == -EBADF ? "it is not open" : hs_dump_error_text(error);

	hs_options_parse(&again, environment, report_problem);
	if (error != 0)
		hs_log(HS_LOG_WARN,
		       "HEAPSAMPLE_LOGFILE=%s cannot be opened: %s (%d; expected a file to append "
		       "to); using the standard error", hs_options.logfile, text, -error);
}

static struct hs_producer *make_producer(void)
{
	bool named = hs_options.symbolize != HS_SYMBOLIZE_NONE ||
		     hs_symbol_filter_has_names(hs_options.skip_symbol_prefix);

	return hs_producer_create(&(struct hs_producer_setup){
		.mappings = hs_session.mapping_table,
		.labels = hs_options.labels,
		.delta = hs_options.delta,
		.keeps_peak = hs_options.peak,
		.hidden = hs_options.skip_symbol_prefix,
		.symbol_bytes = hs_memory_most() / SYMBOLS_SHARE,
		.jit_sources = named ? hs_options.jit : 0,
		.jit_bytes = hs_memory_most() / JIT_SHARE,
		.hints = hs_options.map,
		.stream = hs_options_streams(&hs_options) ? hs_stream_add : NULL,
		.at_file = hs_unlocked_at_file,
	});
}

static int make_stages(void)
{
	struct hs_session *session = &hs_session;
	struct hs_map_hints *hints;
	int error = hs_session_make_buffers();

	if (error != 0)
		return error;
	session->mapping_table = hs_mapping_table_create();
	if (session->mapping_table == NULL)
		return -ENOMEM;
	hs_mapping_table_set_own(session->mapping_table, (uintptr_t)&hs_session_start);
	hints = hs_mapping_table_add_hints(session->mapping_table, hs_options.map);
	if (hints == NULL)
		return -ENOMEM;
	session->producer = make_producer();
	if (session->producer == NULL)
		return -ENOMEM;
	if (hs_options_streams(&hs_options))
		error = hs_stream_init();
	else
		session->unwinder = hs_unwinder_create(session->mapping_table,
						       hs_threads_before_libunwind);
	if (error != 0 || (session->unwinder == NULL && !hs_options_streams(&hs_options)))
		return -ENOMEM;
	hs_labels_init();
	session->worker = hs_worker_create(&session->ring, &session->queue, session->unwinder,
					   hints, hs_options.depth_frames);
	return session->worker != NULL ? 0 : -ENOMEM;
}

int hs_session_make(void)
{
	int error = hs_memory_init();

	return error != 0 ? error : make_stages();
}

void hs_session_limit_changed(int resource)
{
	struct hs_undisturbed before;

	if ((resource != RLIMIT_AS && resource != RLIMIT_DATA) || hs_on_profiler_thread() ||
	    !hs_fork_is_own_process())
		return;
	hs_threads_begin_undisturbed(&before);
	hs_arena_follow_limit();
	hs_threads_end_undisturbed(&before);
}

static void start_sampling(void)
{
	struct hs_session *session = &hs_session;
	uint64_t seed = hs_options.has_seed ? hs_options.seed : hs_sys_random();
	bool streams = hs_options_streams(&hs_options);

	hs_sampler_seed(seed);
	hs_row_seed(seed);
	hs_recorder.ring = &session->ring;
	hs_recorder.stack_limit_bytes = streams ? 0 : hs_options.stack_bytes;
	hs_recorder.depth_frames = hs_options.depth_frames;
	hs_recorder.died = hs_threads_died;
	/* No walks in place with map hints, which may change what code is: see hint_record.c. */
	if (session->unwinder != NULL && hs_options.map[0] == '\0')
		atomic_store_explicit(&hs_recorder.known_pcs,
				      hs_unwinder_known_pcs(session->unwinder),
				      memory_order_relaxed);
	hs_heaps_start();
	hs_recorder.block_ns =
		hs_options_block_ns(&hs_options, hs_options_least_interval(&hs_options));
	atomic_store_explicit(&hs_recorder.process_id, session->process_id, memory_order_relaxed);
	session->start_ns = hs_sys_monotonic_ns();
	/* Release: for threads of the program that are there already, and report heaps. */
	atomic_store_explicit(&hs_sampler_interval, hs_options.interval_bytes,
			      memory_order_release);
	hs_epoch_init(hs_options.active);
	/* Release: who sees the phase, or that the sampler is ready, sees everything above. */
	atomic_store_explicit(&session->phase, HS_SESSION_ACTIVE, memory_order_release);
	atomic_store_explicit(&hs_sampler_is_ready, true, memory_order_release);
}

static void pass_through(void)
{
	atomic_store_explicit(&hs_session.phase, HS_SESSION_OFF, memory_order_relaxed);
	/* With the interval 0 each thread's first allocation switches its countdown off. */
	atomic_store_explicit(&hs_sampler_is_ready, true, memory_order_release);
}

static void start_profiling(char **environment)
{
	int error;

	report_settings(environment);
	error = hs_session_make();
	if (error != 0) {
		hs_log(HS_LOG_ERROR,
		       "no memory for the profiler (error %d; %s): %s is not profiled", -error,
		       hs_memory_limits(), hs_session.program);
		pass_through();
		return;
	}
	hs_thread.tid = (uint32_t)hs_sys_gettid();
	hs_capture_init_main(&hs_thread, (uintptr_t)__libc_stack_end);
	hs_syscall(SYS_sched_getaffinity, 0, sizeof hs_session.affinity, (long)hs_session.affinity,
		   0, 0, 0);
	hs_left_alone_begin();
	hs_process_mark_root();
	hs_fork_install();
	hs_started_init();
	hs_schedule_start();
	if (hs_options.final_dump == HS_FINAL_TERM)
		hs_term_install();
	/* After the handlers: who waits for this line, or for the threads, may send the signals. */
	hs_session_describe(HS_LOG_INFO, "profiling", NULL);
	hs_session_make_paths_absolute();
	hs_alone_begin(hs_session.next.single_threaded[0]);
	start_sampling();
	hs_heaps_notify();
	if (hs_recorder.block_ns != 0 || hs_options.signal_number != 0 ||
	    hs_options.time_interval_s != 0 || hs_options.oom_percent != 0 ||
	    hs_options.final_dump == HS_FINAL_TERM)
		hs_threads_ensure();
	/* The loader's lock is free here: the worker can load libunwind. */
	if (hs_recorder.block_ns != 0) {
		hs_threads_wait_for_reader();
		hs_libc_constructor_ends();
	}
}

void hs_session_start(char **environment, bool interposed, const struct hs_session_next *next)
{
	int saved_errno = errno;

	hs_session.next = *next;
	hs_sys_clock_start();
	hs_root_note();
	hs_thread_trial_init();
	/* The user of a privileged program must not choose the file for its messages. */
	read_options(getauxval(AT_SECURE) != 0 ? NULL : environment);
	if (!hs_process_decide(environment)) {
		if (getauxval(AT_SECURE) == 0)
			hs_session_explain_pass();
		pass_through();
	} else if (hs_options.mode != HS_MODE_ON) {
		report_settings(environment);
		if (hs_options.mode == HS_MODE_CHECK)
			hs_session_check(interposed);
		pass_through();
	} else if (!interposed) {
		hs_log(HS_LOG_ERROR,
		       "malloc cannot be interposed: %s, or a library that comes before this one, "
		       "defines its own; %s is not profiled",
		       hs_session.program, hs_session.program);
		pass_through();
	} else {
		start_profiling(environment);
	}
	errno = saved_errno;
}

bool hs_session_root_leaves(void)
{
	/* Not in a vfork child, whose memory is its parent's. */
	return hs_fork_is_own_process() && hs_root_leaves();
}

void hs_session_root_stays(void)
{
	hs_root_stays();
}

void hs_session_disable(const char *reason)
{
	uint32_t active = HS_SESSION_ACTIVE;

	if (!hs_session_is_active())
		return;
	hs_sampler_end();
	/* First: a process that ends does not wait for a session that is off. */
	hs_log(HS_LOG_ERROR, "%s: profiling is off, %s runs on", reason, hs_session.program);
	atomic_compare_exchange_strong(&hs_session.phase, &active, HS_SESSION_OFF);
}

void hs_session_recorded(const struct hs_regs *regs)
{
	struct hs_thread_state *thread = &hs_thread;

	if (hs_unlikely(atomic_load_explicit(&hs_session.threads, memory_order_relaxed) !=
			HS_THREADS_RUNNING) &&
	    hs_threads_may_start(regs->sp))
		hs_threads_start_for_sample(regs->sp);
	if (hs_unlikely(atomic_load_explicit(&hs_session.libc_view, memory_order_relaxed) ==
			HS_LIBC_ASKED) &&
	    hs_threads_may_start(regs->sp))
		hs_libc_answer_worker();
	if (hs_unlikely(thread->closing != 0))
		hs_close_wait();
}

void hs_session_record(const void *address, size_t size, const struct hs_regs *regs)
{
	if (hs_likely(hs_record_allocation(address, size, regs)) ||
	    atomic_load_explicit(&hs_session.is_ring_full_early, memory_order_relaxed))
		hs_session_recorded(regs);
}
