/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The worker's and the producer's own loops: samples get through the ring and the queue without
 * being asked for, and all before the end of the process are in its profile.  The producer's books
 * are a list here.
 */
#include <stdatomic.h>

#include "base/options.h"
#include "base/sys.h"
#include "profile/producer.h"
#include "sample/heap.h"
#include "sample/record.h"
#include "sample/recorder.h"
#include "session/session_state.h"
#include "session/threads.h"
#include "unwind/unwound.h"

#define RING_BYTES 4096u
#define RECORDS_MOST 4u

static _Alignas(64) unsigned char ring_memory[2 * RING_BYTES], queue_memory[RING_BYTES];

static bool is_committed[RECORDS_MOST];
static bool is_before_end[RECORDS_MOST]; /* committed when the process began to end */
static unsigned taken[RECORDS_MOST];     /* by the producer */
static unsigned profiles;

static bool is_batch_new;  /* no record of it has been taken yet */
static uint32_t batch_end; /* records with lower tickets were in the queue at its first one */

static void setup_queue(size_t queue_bytes)
{
	struct hs_session *session = &hs_session;

	hs_options.final_dump = true;
	session->process_id = 1;
	session->phase = HS_SESSION_ACTIVE;
	hs_ring_init(&session->ring, ring_memory, RING_BYTES);
	hs_ring_init(&session->queue, queue_memory, queue_bytes);
	session->worker = hs_worker_create(&session->ring, &session->queue, NULL, NULL, 1);
	hs_recorder.ring = &session->ring;
	session->threads = HS_THREADS_RUNNING;
	model_ignore(&hs_stats, sizeof hs_stats);
	model_ignore(hs_heaps, sizeof hs_heaps);
	model_ignore(&session->ring.used_units_max, sizeof(uint32_t));
	model_ignore(&session->queue.used_units_max, sizeof(uint32_t));
}

static void setup(void)
{
	setup_queue(1024);
}

static void setup_small_queue(void)
{
	setup_queue(256);
}

static void put(unsigned number)
{
	uint64_t open = 0;
	struct hs_record *record = hs_ring_reserve(&hs_session.ring, sizeof *record, HS_RING_KEPT,
						   model_tid(), 0, &open);

	MODEL_CHECK(record != NULL);
	*record = (struct hs_record){.kind = HS_RECORD_ALLOCATION, .size = number};
	hs_ring_note_sequence(&hs_session.ring, hs_ring_ticket(open), number + 1);
	MODEL_CHECK(hs_ring_commit(&hs_session.ring, hs_ring_ticket(open)));
	is_committed[number] = true;
	hs_ring_tell_reader(&hs_session.ring);
}

static void run_worker(void)
{
	hs_threads_run_worker(NULL);
}

static void run_producer(void)
{
	hs_threads_run_producer(NULL);
}

static void put_0(void)
{
	put(0);
}

static void put_1(void)
{
	put(1);
}

static void put_two(void)
{
	put(0);
	put(1);
}

static void put_four(void)
{
	for (unsigned number = 0; number < RECORDS_MOST; number++)
		put(number);
}

static void end_process(void)
{
	put(0);
	put(1);
	for (unsigned number = 0; number < RECORDS_MOST; number++)
		is_before_end[number] = is_committed[number];
	hs_session_finish();
	MODEL_CHECK(profiles == 1);
}

static _Atomic uint32_t ended; /* threads of the profiler */

static void run_worker_to_its_end(void)
{
	run_worker();
	atomic_fetch_add(&ended, 1);
}

static void run_producer_to_its_end(void)
{
	run_producer();
	atomic_fetch_add(&ended, 1);
}

/* Requests a profile and then the end of the threads, as thread_stop.c does. */
static void stop_at_a_profile(void)
{
	struct hs_session *session = &hs_session;
	uint32_t now;

	put(0);
	is_before_end[0] = true;
	session->final_fence = hs_drain_fence();
	atomic_fetch_or(&session->requests, HS_REQUEST_FINAL);
	hs_event_signal(&session->producer_event);
	atomic_store(&session->stop, HS_STOP_REQUEST_MADE);
	while ((now = atomic_load(&ended)) < 2) {
		hs_ring_wake_reader(&session->ring);
		hs_event_signal(&session->worker_event);
		hs_event_signal(&session->producer_event);
		hs_sys_futex_wait(&ended, now, 1000000);
	}
}

/* The profile, which was requested first, has been written. */
static void finish_stopped(void)
{
	MODEL_CHECK(ended == 2 && profiles == 1);
}

static void finish(void)
{
	for (unsigned number = 0; number < RECORDS_MOST; number++)
		MODEL_CHECK(taken[number] == is_committed[number]);
}

/* What the loops call but the model does not cover. */

/*
 * At the start of a batch the producer reads what JIT compilers have published, which must be newer
 * than all records of the batch: only those that were in the queue then may be taken.
 */
void hs_producer_begin_batch(struct hs_producer *producer)
{
	(void)producer;
	is_batch_new = true;
}

/* A record that is expected must have come and must not be taken yet. */
void hs_producer_expect(struct hs_producer *producer, const struct hs_unwound *record)
{
	(void)producer;
	MODEL_CHECK(record->size < RECORDS_MOST && record->sequence == record->size + 1);
	MODEL_CHECK(taken[record->size] == 0);
}

void hs_producer_take(struct hs_producer *producer, const struct hs_unwound *record)
{
	uint32_t ticket = (uint32_t)(hs_session.queue.next >> 32);

	(void)producer;
	if (is_batch_new)
		batch_end = hs_ring_head_ticket(&hs_session.queue);
	is_batch_new = false;
	MODEL_CHECK((int32_t)(ticket - batch_end) < 0);
	MODEL_CHECK(record->size < RECORDS_MOST && record->sequence == record->size + 1);
	taken[record->size]++;
}

bool hs_dump_write(const char *reason, unsigned flags)
{
	(void)reason;
	(void)flags;
	for (unsigned number = 0; number < RECORDS_MOST; number++)
		MODEL_CHECK(!is_before_end[number] || taken[number] == 1);
	profiles++;
	return true;
}

#define LOOPS                                                                                      \
	{.run = run_worker, .flags = MODEL_DAEMON},                                                \
	{                                                                                          \
		.run = run_producer, .flags = MODEL_DAEMON                                         \
	}

const struct model_scenario model_session_scenarios[] = {
	{.name = "worker-and-producer",
	 .setup = setup,
	 .finish = finish,
	 .threads = {LOOPS, {.run = put_0}},
	 .quick_bound = 1,
	 .full_bound = 2},
	{.name = "worker-two-writers",
	 .setup = setup,
	 .finish = finish,
	 .threads = {LOOPS, {.run = put_0}, {.run = put_1}},
	 .quick_bound = 0,
	 .full_bound = 1},
	{.name = "record-in-a-batch",
	 .setup = setup,
	 .finish = finish,
	 .threads = {LOOPS, {.run = put_two}},
	 .quick_bound = 0,
	 .full_bound = 2},
	{.name = "queue-full",
	 .setup = setup_small_queue,
	 .finish = finish,
	 .threads = {LOOPS, {.run = put_four}},
	 .quick_bound = 0,
	 .full_bound = 1},
	{.name = "exit-fence",
	 .setup = setup,
	 .finish = finish,
	 .threads = {LOOPS, {.run = end_process}},
	 .quick_bound = 0,
	 .full_bound = 2},
	{.name = "stop-at-a-profile",
	 .setup = setup,
	 .finish = finish_stopped,
	 .threads = {{.run = run_worker_to_its_end},
		     {.run = run_producer_to_its_end},
		     {.run = stop_at_a_profile}},
	 .quick_bound = 1,
	 .full_bound = 2},
	{.name = NULL},
};
