/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loops of the two profiler threads.
 *
 * They run with the signals of HS_SIGNALS_ALL blocked (base/signal_mask.h); under SCHED_OTHER; and
 * on the processors that the process could use when it began.
 */
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/live_set.h"
#include "sample/recorder.h"
#include "sample/thread_state.h"
#include "session/budget.h"
#include "session/cpu_guard.h"
#include "session/left_alone.h"
#include "session/libc_threads.h"
#include "session/memory_parts.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/threads.h"
#include "session/unlocked.h"
#include "session/worker_nap.h"

/* So many records are handled before a fork is let in, unless one waits already. */
#define BATCH_RECORDS 64

/* The thread's clock is read, by a system call, after one in so many full batches. */
#define CLOCK_BATCHES 16

/*
 * When the worker has read everything it naps, and is woken early only if the ring fills up, so
 * that not every sample costs a wake and a context switch.  The nap lasts as worker_nap.h says, or
 * this long if records must be handled soon after they were taken.
 */
#define SHORT_NAP_NS 1000000

#define STALL_NS 1000000

/* How long the worker waits for room in the queue, at most: the producer wakes it before. */
#define FULL_QUEUE_NS 2000000


/* Slots to keep free in the live set; in a small one, this part of it. */
#define SLOT_HEADROOM (96u << 10)
#define SLOT_HEADROOM_SHARE 4u

/* Whether a compiler tells of generated code.  Set by the producer, for the worker. */
static _Atomic bool knows_generated_code;

static uint32_t slot_headroom(void)
{
	uint32_t share = hs_live_set_limit() / SLOT_HEADROOM_SHARE;

	return share < SLOT_HEADROOM ? share : SLOT_HEADROOM;
}

/* Not if it is inherited: a seccomp filter may end a process that sets it. */
static void take_affinity(void)
{
	unsigned char inherited[sizeof hs_session.affinity] = {0};

	hs_syscall(SYS_sched_getaffinity, 0, sizeof inherited, (long)inherited, 0, 0, 0);
	if (memcmp(inherited, hs_session.affinity, sizeof inherited) != 0)
		hs_syscall(SYS_sched_setaffinity, 0, sizeof hs_session.affinity,
			   (long)hs_session.affinity, 0, 0, 0);
}

static void become_profiler(enum hs_profiler_thread which, const char *name)
{
	atomic_store(&hs_session.tids[which], hs_sys_gettid());
	hs_thread.kind = HS_THREAD_PROFILER;
	hs_thread.bytes_until_sample = 0;
	hs_syscall(SYS_prctl, PR_SET_NAME, (long)name, 0, 0, 0, 0);
	take_affinity();
}

/* enum hs_stop_request */
static uint32_t stop(void)
{
	return atomic_load_explicit(&hs_session.stop, memory_order_relaxed);
}

/*
 * Loads libunwind early if samples wait for the worker: later a waiting thread may hold the
 * loader's lock.
 */
static void load_engine_once(void)
{
	if (!hs_libc_loads_at_start())
		return;
	/* Read by the thread that started this one, which has looked before, and by later ones. */
	hs_session.engine_loaded = true;
	hs_unwinder_load_engine(hs_session.unwinder);
	hs_libc_worker_has_loaded();
}

/* Prefetches what the records behind the next will need. */
static void expect_records(void)
{
	const void *record;

	while ((record = hs_ring_look_ahead(&hs_session.queue, HS_PRODUCER_EXPECTED)) != NULL)
		hs_producer_expect(hs_session.producer, record);
}

/* Takes up to BATCH_RECORDS records of the queue.  Returns how many there were. */
static int take_records(void)
{
	struct hs_session *session = &hs_session;
	struct hs_ring_item item;
	int done = 0, there = (int)hs_ring_unread(&session->queue);

	for (; done < BATCH_RECORDS; done++) {
		if (done == 0 || done >= there)
			hs_producer_begin_batch(session->producer);
		/* After one at least: to callers none means that there is nothing to do. */
		if (done > 0 && hs_lock_is_wanted(&session->producer_batch))
			break;
		hs_ring_read(&session->queue, &item);
		if (item.state != HS_RING_COMMITTED)
			break;
		expect_records();
		hs_producer_take(session->producer, item.data);
		hs_ring_pass(&session->queue);
	}
	hs_ring_give_back(&session->queue);
	return done;
}

/* hs_threads_process(), but for the count of its time. */
static bool process(void)
{
	static bool is_live_set_short;
	struct hs_session *session = &hs_session;
	/*
	 * Frees first: the allocation of a free taken here is in the ring or the queue by
	 * now, the free of an allocation taken below may come later.
	 */
	uint32_t freed = hs_producer_take_freed(session->producer);
	bool has_worked = take_records() > 0 || freed > 0;
	bool waiting = hs_producer_commit(session->producer), is_exhausted;

	hs_drain_watch_gap(waiting);
	if (!hs_ring_is_filling(&session->queue) && atomic_exchange(&session->is_queue_full, false))
		hs_event_signal(&session->worker_event);
	/* Samples that find no slot leave no work. */
	if (has_worked || is_live_set_short) {
		is_live_set_short = hs_live_set_maintain(slot_headroom()) != 0 ||
				    hs_live_set_used() >= hs_live_set_limit();
		hs_budget_follow(is_live_set_short);
		atomic_store_explicit(&knows_generated_code,
				      hs_producer_knows_generated_code(session->producer),
				      memory_order_relaxed);
	}
	is_exhausted = is_live_set_short && !waiting && !has_worked &&
		       hs_ring_unread(&session->ring) == 0;
	/* Stored only if it changes: each sample reads its cache line. */
	if (hs_live_set_is_exhausted() != is_exhausted)
		atomic_store_explicit(&hs_live_set_exhausted, is_exhausted, memory_order_relaxed);
	hs_budget_tell_losses(is_live_set_short);
	return has_worked;
}

bool hs_threads_process(void)
{
	uint64_t start_ns = hs_sys_monotonic_ns();
	bool has_worked = process();

	if (has_worked)
		hs_stats_add(bookkeeping_ns, hs_sys_monotonic_ns() - start_ns);
	return has_worked;
}

/*
 * If the thread that the ring waits for has ended, its sample is given up.  In a forked child those
 * of the parent's threads are not lost: the parent has them.
 */
static void close_dead(void)
{
	struct hs_session *session = &hs_session;
	bool is_own = hs_ring_unread_before(&session->ring, session->ring_before_fork) == 0;

	if (hs_ring_close_dead(&session->ring) && is_own)
		hs_stats_add(abandoned, 1);
}

/* Unwinds as many records as a fork may wait for.  Returns how many there were. */
static int unwind_batch(enum hs_worker_result *result)
{
	static unsigned full_batches;
	struct hs_session *session = &hs_session;
	int done = 0, there;

	hs_lock_acquire(&session->worker_batch);
	/* Program state read for these is newer than they; for later ones it may be older. */
	there = (int)hs_ring_unread(&session->ring);
	do {
		if (session->unwinder != NULL && (done == 0 || done >= there))
			hs_unwinder_begin_batch(session->unwinder);
		*result = hs_worker_step(session->worker);
	} while (*result == HS_WORKER_DID_ONE && ++done < BATCH_RECORDS &&
		 !hs_lock_is_wanted(&session->worker_batch));
	hs_ring_give_back(&session->ring);
	hs_ring_prepare(&session->ring);
	if (*result == HS_WORKER_STALLED)
		close_dead();
	if (done < BATCH_RECORDS || ++full_batches % CLOCK_BATCHES == 0)
		hs_cpu_note_worker();
	hs_lock_hand_over(&session->worker_batch);
	return done;
}

/*
 * How long to nap.  Short if a record's thread name, generated code, memory or bytes are to be read
 * soon after the record was taken.
 */
static int64_t nap_ns(struct hs_worker_nap *nap)
{
	int64_t ns;

	if ((hs_options.labels & HS_LABEL_THREAD) != 0 || hs_options.oom_percent != 0 ||
	    hs_options.alloc_interval_bytes != 0 || hs_options.inuse_interval_bytes != 0)
		return SHORT_NAP_NS;
	ns = hs_worker_nap_ns(nap, hs_sys_monotonic_ns(), hs_ring_head_ticket(&hs_session.ring));
	return atomic_load_explicit(&knows_generated_code, memory_order_relaxed) ? HS_NAP_LEAST_NS
										 : ns;
}

/*
 * The queue is full.  If the producer waits for a file, does its work for it until there is room,
 * so that the ring does not fill because of a disk.
 */
static void make_room_in_queue(void)
{
	struct hs_session *session = &hs_session;

	if (!atomic_load(&session->is_at_file) ||
	    !hs_lock_acquire_within(&session->producer_batch, 0))
		return;
	/* The producer may go on at a message, for which the lock is released. */
	while (atomic_load(&session->is_at_file) && atomic_load(&session->is_queue_full) &&
	       !hs_lock_is_wanted(&session->producer_batch)) {
		bool has_worked;

		(void)hs_memory_begin_books_turn();
		has_worked = process();
		hs_memory_end_books_turn();
		if (!has_worked)
			break;
	}
	hs_lock_release(&session->producer_batch);
}

/*
 * Waits until there may be something to do.  has_read: whether there were records since the last
 * wait.  Returns whether it was woken.
 */
static bool worker_rest(enum hs_worker_result result, bool has_read)
{
	static struct hs_worker_nap nap;
	struct hs_session *session = &hs_session;
	uint32_t ticket;

	switch (result) {
	case HS_WORKER_DID_ONE:
		return false;
	case HS_WORKER_FULL:
		/* The first time, look again before waiting: there may be room by now. */
		if (atomic_exchange(&session->is_queue_full, true)) {
			hs_event_wait(&session->worker_event, FULL_QUEUE_NS);
			make_room_in_queue();
		}
		return false;
	case HS_WORKER_STALLED:
		hs_ring_reader_sleep(&session->ring, STALL_NS);
		return true;
	case HS_WORKER_IDLE:
		break;
	}
	/* No rest: when the producer ends nobody may be left to wake this thread. */
	if (stop() != HS_STOP_REQUEST_NONE)
		return hs_ring_reader_nap(&session->ring, SHORT_NAP_NS);
	if (has_read)
		return hs_ring_reader_nap(&session->ring, nap_ns(&nap));
	ticket = hs_ring_head_ticket(&session->ring);
	hs_ring_reader_sleep(&session->ring, -1);
	hs_worker_nap_begin(&nap, hs_sys_monotonic_ns(), ticket);
	return true;
}

void *hs_threads_run_worker(void *unused)
{
	struct hs_session *session = &hs_session;
	bool has_read = false; /* records, since it last waited */
	bool woken = false;

	(void)unused;
	become_profiler(HS_WORKER, "heapsample-unw");
	hs_lock_acquire(&session->worker_batch);
	load_engine_once();
	hs_lock_hand_over(&session->worker_batch);
	atomic_store_explicit(&hs_recorder.reader_runs, true, memory_order_release);
	while (stop() != HS_STOP_REQUEST_AGREED) {
		enum hs_worker_result result;

		has_read |= unwind_batch(&result) > 0;
		/*
		 * Wakes the producer in a pause, or if there is much in the queue; also if this
		 * thread was woken and found no record: the live set is full, and frees are to be
		 * handled.
		 */
		if (result == HS_WORKER_DID_ONE ? hs_ring_is_filling(&session->queue)
						: has_read || woken)
			hs_event_signal(&session->producer_event);
		woken = worker_rest(result, has_read);
		if (result != HS_WORKER_DID_ONE && result != HS_WORKER_FULL)
			has_read = false;
	}
	atomic_store_explicit(&hs_recorder.reader_runs, false, memory_order_relaxed);
	return NULL;
}

void hs_threads_pause(void)
{
	bool is_writing;

	hs_unlocked_begins();
	hs_unlocked_ends();
	hs_cpu_note_producer(false);
	is_writing = hs_memory_begin_books_turn();
	hs_threads_process();
	hs_memory_end_books_turn();
	hs_cpu_note_producer(is_writing);
}

/*
 * Whether the producer ends now: it was told to, the ring is empty, and the final profile is
 * written if it is due.  Cannot be taken back.
 */
static bool agrees_to_stop(void)
{
	struct hs_session *session = &hs_session;
	uint32_t asked = HS_STOP_REQUEST_MADE;

	/* Acquire: sees what was requested before. */
	if (atomic_load_explicit(&session->stop, memory_order_acquire) != HS_STOP_REQUEST_MADE)
		return false;
	hs_lock_acquire(&session->producer_batch);
	hs_drain_ring();
	hs_cpu_note_producer(false);
	hs_lock_hand_over(&session->producer_batch);
	if (atomic_load(&session->requests) & HS_REQUEST_FINAL)
		return false;
	return atomic_compare_exchange_strong(&session->stop, &asked, HS_STOP_REQUEST_AGREED);
}

void *hs_threads_run_producer(void *unused)
{
	struct hs_session *session = &hs_session;
	unsigned turns = 0;
	int64_t sleep_ns;
	bool busy;

	(void)unused;
	become_profiler(HS_PRODUCER, "heapsample-prod");
	hs_lock_acquire(&session->producer_batch);
	hs_dump_drop_inherited();
	hs_live_set_begin();
	hs_lock_hand_over(&session->producer_batch);
	while (!agrees_to_stop()) {
		hs_lock_acquire(&session->producer_batch);
		busy = hs_threads_process();
		hs_schedule_run_due();
		if (!busy || ++turns % CLOCK_BATCHES == 0)
			hs_cpu_guard_follow();
		sleep_ns = hs_schedule_sleep_ns();
		if (hs_producer_commit(session->producer) &&
		    (sleep_ns < 0 || sleep_ns > hs_drain_gap_sleep_ns()))
			sleep_ns = hs_drain_gap_sleep_ns();
		busy |= hs_producer_has_taken_frees(session->producer);
		hs_lock_hand_over(&session->producer_batch);
		if (!busy)
			hs_left_alone_wait(&session->producer_event, sleep_ns);
	}
	return NULL;
}
