/* SPDX-License-Identifier: BSD-2-Clause */
/* The sample path: what is recorded, what is lost, signal handlers, moves. */
#include "sample/heap.h"
#include "sample/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/arena.h"
#include "base/libraries.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "process_vm.h"
#include "sample/capture.h"
#include "sample/live_index.h"
#include "sample/live_set.h"
#include "sample/live_slots.h"
#include "sample/live_table.h"
#include "sample/record.h"
#include "sample/reentry.h"
#include "sample/report.h"
#include "sample/sampler.h"
#include "sample_testing.h"

#define DATA_BYTES 65536u

static struct hs_ring ring;
static struct hs_regs here; /* a call site in main() */
static unsigned char block[64];

static void start(uint64_t interval)
{
	static unsigned char *memory;

	if (memory == NULL)
		memory = hs_sys_map(hs_ring_memory_bytes(DATA_BYTES), 3);
	memset(memory, 0, hs_ring_memory_bytes(DATA_BYTES));
	hs_ring_init(&ring, memory, DATA_BYTES);
	hs_recorder.process_id = hs_sys_getpid();
	hs_recorder.ring = &ring;
	hs_recorder.stack_limit_bytes = 1024;
	hs_heap_forget_lost(HS_HEAP_MALLOC);
	memset(&hs_stats, 0, sizeof hs_stats);
#define FORGET(name) hs_heaps[HS_HEAP_MALLOC].name = 0;
	HS_HEAP_COUNTS(FORGET)
#undef FORGET
	atomic_store(&hs_sampler_interval, interval);
	atomic_store(&hs_sampler_is_ready, true);
	hs_thread.has_drawn = false;
	/* The first call draws with the new interval, whatever is left of the old countdown. */
	hs_thread.bytes_until_sample = 0;
	hs_thread.drawn = hs_thread.guarded_countdown = 0;
}

/* As the interposer does. */
static bool allocate(const void *address, size_t size)
{
	return !hs_sampler_passes(size) && hs_record_allocation(address, size, &here);
}

/* Takes the next record out of the ring, and gives back the sample's slot. */
static struct hs_ring_item next(struct hs_record *record)
{
	struct hs_ring_item item;
	uint32_t slot;

	memset(record, 0, sizeof *record);
	hs_ring_read(&ring, &item);
	slot = hs_record_cookie_slot(item.cookie);
	if (item.state == HS_RING_EMPTY || item.state == HS_RING_OPEN)
		return item;
	if (item.state == HS_RING_COMMITTED)
		memcpy(record, item.data, sizeof *record);
	/* Not if the sample was freed: then the slot comes with the freed list. */
	if (item.cookie != 0 && hs_live_set_free_sequence(slot) > atomic_load(&hs_sequence.next))
		hs_live_set_recycle(slot, hs_record_cookie_generation(item.cookie));
	hs_live_set_give_back();
	ring_release(&ring);
	return item;
}

static void drain(void)
{
	struct hs_record record;
	enum hs_ring_state state;
	struct hs_freed_slots freed;
	uint32_t slot;

	do
		state = next(&record).state;
	while (state != HS_RING_EMPTY && state != HS_RING_OPEN);
	CHECK_INT(state, HS_RING_EMPTY);
	hs_live_set_take_freed(&freed);
	while ((slot = hs_live_set_next_freed(&freed)) != HS_SLOT_NONE)
		hs_live_set_recycle(slot, hs_live_set_generation(slot));
	hs_live_set_give_back();
	CHECK_INT(hs_live_set_used(), 0);
}

static void test_nothing_before_the_start(void)
{
	atomic_store(&hs_sampler_interval, 1);
	for (int i = 0; i < 10; i++)
		CHECK(!allocate(block, 100));
	CHECK_INT(hs_heap_total(samples), 0);
	CHECK_INT(hs_thread.bytes_until_sample, 0);
	CHECK_INT(hs_thread.guard_sp, 0);
}

/* A thread that was there before sampling starts samples until it takes one. */
static struct {
	bool (*sample)(const struct hs_regs *regs);
	_Atomic unsigned tries;
} early;

static void *sample_early(void *unused)
{
	struct hs_regs regs;

	hs_arch_capture(&regs);
	do
		atomic_fetch_add_explicit(&early.tries, 1, memory_order_relaxed);
	while (!early.sample(&regs));
	return unused;
}

/* All that is set before sampling starts is there for that thread: ThreadSanitizer checks it. */
static void start_beside(bool (*sample)(const struct hs_regs *regs))
{
	pthread_t thread;

	early.sample = sample;
	atomic_store(&early.tries, 0);
	CHECK_INT(pthread_create(&thread, NULL, sample_early, NULL), 0);
	/* Relaxed, as in the thread: this does not order anything. */
	while (atomic_load_explicit(&early.tries, memory_order_relaxed) == 0)
		sched_yield();
	start(1);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(hs_heap_total(samples), 1);
	drain();
}

static bool sample_malloc(const struct hs_regs *regs)
{
	return hs_record_allocation(block, 100, regs);
}

static bool sample_reported(const struct hs_regs *regs)
{
	return hs_report_sample(HS_HEAP_FIRST_REPORTED, 1, 100, 100, regs);
}

static void test_start_beside_a_thread(void)
{
	start_beside(sample_malloc);
	start(0);
	CHECK_INT(hs_heap_make("pool", 0, false), HS_HEAP_FIRST_REPORTED);
	hs_heap_register(HS_HEAP_FIRST_REPORTED);
	start_beside(sample_reported);
	CHECK(hs_heap_unregister(HS_HEAP_FIRST_REPORTED));
	hs_heap_gone(HS_HEAP_FIRST_REPORTED);
	hs_heaps[HS_HEAP_FIRST_REPORTED].samples = 0; /* start() forgets malloc's only */
}

static void test_interval_1_records_everything(void)
{
	struct hs_record record;
	uint64_t number;

	start(1);
	number = atomic_load(&hs_sequence.next);
	hs_thread.labels = 77;
	for (size_t i = 0; i < 20; i++) {
		struct hs_ring_item item;

		errno = 4242;
		CHECK(allocate(block + i, i * 10));
		CHECK_INT(errno, 4242);
		CHECK(hs_live_set_may_hold(block + i));
		item = next(&record);
		CHECK_INT(item.state, HS_RING_COMMITTED);
		CHECK_INT(item.sequence, number + i);
		CHECK(record.address == (uintptr_t)(block + i));
		CHECK_INT(record.size, i * 10);
		CHECK_INT(record.interval_bytes, 1);
		CHECK_INT(record.kind, HS_RECORD_ALLOCATION);
		CHECK_INT(record.regs.pc, here.pc);
		CHECK(record.stack_bytes > 0 && record.stack_bytes <= 1024);
		CHECK_INT(record.tid, hs_sys_gettid());
		CHECK_INT(record.labels, 77);
	}
	hs_thread.labels = 0;
	CHECK_INT(hs_heap_total(samples), 20);
	hs_record_settle();
	CHECK_INT(hs_stats_get(allocated_bytes), 1 + 10 * 190);
	drain();
}

/* Records of a stream have the time but no stack; they may use the part kept for small records. */
static void test_stream(void)
{
	struct hs_record record;
	uint64_t before, recorded = 0;

	start(1);
	hs_recorder.stream = true;
	hs_recorder.stack_limit_bytes = 0;
	before = hs_sys_clock_ns(CLOCK_MONOTONIC_COARSE);
	CHECK(allocate(block, 100));
	CHECK_INT(next(&record).bytes, sizeof record);
	CHECK(record.address == (uintptr_t)block && record.size == 100 && record.stack_bytes == 0);
	CHECK(record.time_ns >= before &&
	      record.time_ns <= hs_sys_clock_ns(CLOCK_MONOTONIC_COARSE));
	while (allocate((void *)(0x1000000 + 4096 * recorded), 1))
		recorded++;
	CHECK_INT(hs_heap_total(lost_ring), 1);
	CHECK_INT(hs_heap_total(stackless), 0);
	CHECK(recorded > DATA_BYTES / sizeof record * 7 / 8);
	hs_recorder.stream = false;
	drain();
}

/* The bytes that a thread has allocated are counted in pieces, and when sampling is off. */
static void test_total_in_pieces(void)
{
	start(1);
	CHECK(allocate(block, 1000));
	CHECK_INT(hs_stats_get(allocated_bytes), 0);
	CHECK(allocate(block, 100000));
	CHECK_INT(hs_stats_get(allocated_bytes), 101000);
	CHECK(allocate(block, 10));
	CHECK_INT(hs_stats_get(allocated_bytes), 101000);
	atomic_store(&hs_sampler_interval, 0);
	CHECK(!allocate(block, 20));
	CHECK_INT(hs_stats_get(allocated_bytes), 101030);
	hs_record_settle();
	CHECK_INT(hs_stats_get(allocated_bytes), 101030);
	drain();
}

/* Its bytes count, though no sample comes that would add them. */
static void test_allocations_while_sampling_is_off(void)
{
	start(0);
	CHECK(!allocate(block, 100));
	CHECK(!allocate(block, 50));
	hs_record_settle();
	CHECK_INT(hs_stats_get(allocated_bytes), 150);
}

static void test_failed_allocation(void)
{
	uint64_t left;

	start(1);
	CHECK(allocate(block, 1));
	left = hs_thread.bytes_until_sample;
	CHECK(!allocate(NULL, 100));
	CHECK_INT(hs_thread.bytes_until_sample, left);
	/* As many bytes as are left end the countdown too. */
	CHECK(!allocate(NULL, left));
	CHECK_INT(hs_thread.bytes_until_sample, left);
	CHECK_INT(hs_heap_total(samples), 1);
	hs_record_settle();
	CHECK_INT(hs_stats_get(allocated_bytes), 1);
	drain();
	/* Nor does one within a countdown count as allocated. */
	start((uint64_t)1 << 40);
	CHECK(!allocate(NULL, 100));
	CHECK(!allocate(block, 10));
	hs_record_settle();
	CHECK_INT(hs_stats_get(allocated_bytes), 10);
}

static void test_total_is_exact(void)
{
	uint64_t total = 0, random = 3;

	start(1000);
	for (unsigned i = 0; i < 100000; i++) {
		size_t size = (random = random * 6364136223846793005u + 1) >> 54;

		allocate(block, size);
		total += size + (size == 0);
		if (i % 16 == 0)
			drain();
	}
	hs_record_settle();
	hs_record_settle();
	CHECK_INT(hs_stats_get(allocated_bytes), total);
	CHECK(hs_heap_total(samples) > 30000);
	drain();
}

static void test_full_ring(void)
{
	uint64_t full = 0, stackless = 0, lost = 0, cancelled;
	static unsigned char blocks[16000];
	struct hs_record record;

	start(1);
	cancelled = hs_live_supply.cancelled;
	for (unsigned i = 0; i < 1000; i++)
		lost += !allocate(blocks + i * 16, 10);
	CHECK(lost > 1);
	/* Only the first loss looks for room as other samples do. */
	CHECK_INT(hs_live_supply.cancelled - cancelled, 1);
	CHECK_INT(hs_heap_total(lost_ring), lost);
	CHECK_INT(hs_heap_lost_weight(HS_HEAP_MALLOC), lost * HS_WEIGHT_ONE);
	CHECK_INT(hs_heaps[HS_HEAP_MALLOC].lost.bytes, lost * 10);
	while (next(&record).state == HS_RING_COMMITTED) {
		if (record.flags & HS_RECORD_STACKLESS) {
			CHECK(record.flags & HS_RECORD_STACK_CUT);
			CHECK_INT(record.stack_bytes, 0);
			stackless++;
		} else {
			CHECK_INT(stackless, 0);
			full++;
		}
	}
	CHECK(full > 0 && stackless > 0);
	CHECK_INT(full + stackless + lost, 1000);
	CHECK_INT(hs_heap_total(stackless), stackless);
	CHECK_INT(hs_live_set_used(), 0);
	/* The next sample has a stack again. */
	CHECK(allocate(block, 10));
	CHECK_INT(next(&record).state, HS_RING_COMMITTED);
	CHECK(record.stack_bytes > 0);
	drain();
}

/* Fills the ring, and has a sample refused because the one before it was lost. */
static void fill_ring(void)
{
	for (unsigned i = 0; allocate((void *)(0x1000000 + 4096 * (uintptr_t)i), 10); i++) {
	}
	CHECK(hs_thread.met_full_ring);
	CHECK(!allocate(block + 1, 10));
	CHECK(hs_thread.sample.is_refused);
}

/* A thread that was refused gets the last room that there is, for a record without a stack. */
static void test_refused_until_there_is_room(void)
{
	struct hs_record record;

	start(1);
	fill_ring();
	do
		CHECK_INT(next(&record).state, HS_RING_COMMITTED);
	while ((record.flags & HS_RECORD_STACKLESS) == 0);
	fill_ring();
	CHECK_INT(next(&record).bytes, sizeof record);
	CHECK(allocate(block, 10));
	CHECK(!allocate(block + 1, 10));
	drain();
}

/* A sample that is refused shows that what was at its address before has been freed. */
static void test_allocated_again_without_room(void)
{
	start(1);
	CHECK(allocate(block, 5));
	fill_ring();
	CHECK_INT(hs_heap_total(frees), 0);
	CHECK(!allocate(block, 5));
	CHECK(hs_thread.sample.is_refused);
	CHECK_INT(hs_heap_total(frees), 1);
	CHECK_INT(hs_stats_get(superseded), 1);
	drain();
}

/* The index has no place for an address: its record, begun already, ends without contents. */
static void test_index_without_a_place(void)
{
	const struct hs_live_bucket *home = NULL, *other;
	struct hs_record record;
	uintptr_t address = 0x1000000;
	unsigned count = 0;

	start(1);
	while (count < 2 * HS_BUCKET_LANES + 1) {
		other = hs_live_table_home(atomic_load(&hs_live_index), hs_live_hash(address));
		if (home == NULL || other == home) {
			home = other;
			count++;
			CHECK_INT(allocate((void *)address, 5), count <= 2 * HS_BUCKET_LANES);
		}
		address += 16;
	}
	CHECK_INT(hs_heap_total(lost_live_set), 1);
	CHECK_INT(hs_thread.reservation, 0);
	while (--count > 0)
		CHECK_INT(next(&record).state, HS_RING_COMMITTED);
	CHECK_INT(next(&record).state, HS_RING_ABANDONED);
	drain();
}

static void test_sleeping_reader_is_woken(void)
{
	start(1);
	atomic_store(&ring.reader_asleep, HS_RING_ASLEEP);
	CHECK(allocate(block, 5));
	CHECK_INT(atomic_load(&ring.reader_asleep), HS_RING_WOKEN);
	drain();
}

/* A record tells which closes of libraries came before it. */
static void test_closes(void)
{
	struct hs_record record;

	start(1);
	for (unsigned i = 0; i < 4; i++) {
		hs_close_begins();
		if (i % 2 == 0)
			hs_close_goes_on();
		CHECK(allocate(block, 5));
		CHECK_INT(next(&record).state, HS_RING_COMMITTED);
		CHECK(record.closes == hs_closes_now());
		CHECK_INT(record.closes_unwaited, i / 2 + 1);
		hs_close_ends(true);
	}
	drain();
}

/* Nothing of older records in the ring's memory is left in new ones. */
static void test_recycled_records_begin_anew(void)
{
	struct hs_record record;

	start(1);
	while (allocate(block, 10)) {
	}
	while (next(&record).state == HS_RING_COMMITTED) {
	}
	for (unsigned i = 0; i < 1000; i++) {
		CHECK(allocate(block, i));
		CHECK_INT(next(&record).state, HS_RING_COMMITTED);
		CHECK_INT(record.flags & (HS_RECORD_STACKLESS | HS_RECORD_WEIGHED), 0);
		CHECK_INT(record.kind, HS_RECORD_ALLOCATION);
		CHECK_INT(record.heap, HS_HEAP_MALLOC);
		CHECK_INT(record.size, i);
		CHECK_INT(record.interval_bytes, 1);
		CHECK_INT(record.epoch, 1);
		CHECK_INT(record.labels, 0);
		CHECK(record.stack_bytes > 0);
	}
	drain();
}

static unsigned slices;

static long count_slices(long number)
{
	slices += number == SYS_futex;
	return 0;
}

/* Fills the ring and waits for a reader that does not come.  Returns how many slices it waited. */
static unsigned wait_in_vain(uint64_t limit_ms)
{
	hs_recorder.block_ns = 0;
	for (unsigned i = 0; i < 1000; i++)
		allocate((void *)(0x1000000 + 4096 * (uintptr_t)i), 10);
	hs_recorder.block_ns = limit_ms * 1000000;
	slices = 0;
	hs_sys_fault = count_slices;
	CHECK(!allocate(block, 10));
	hs_sys_fault = NULL;
	return slices;
}

static void test_wait_ends_after_its_limit(void)
{
	uint64_t before_ns = hs_sys_monotonic_ns();

	start(1);
	hs_recorder.reader_runs = true;
	CHECK_INT(wait_in_vain(0), 0);
	CHECK_INT(hs_stats_get(blocked), 0);
	/* Each slice takes a millisecond or longer. */
	CHECK_INT(hs_stats_get(blocked_ns), 0);
	CHECK(wait_in_vain(3) <= 3);
	CHECK_INT(hs_stats_get(blocked), 1);
	CHECK(hs_stats_get(blocked_ns) > 1000000);
	CHECK(hs_stats_get(blocked_ns) <= hs_sys_monotonic_ns() - before_ns);
	CHECK_INT(hs_stats_get(block_expired), 1);
	CHECK(hs_thread.block_after_ns >= before_ns + 3000000 + HS_BLOCK_PAUSE_NS);
	/* After that it does not wait for a while. */
	hs_thread.block_after_ns = UINT64_MAX;
	CHECK_INT(wait_in_vain(3), 0);
	hs_thread.block_after_ns = 0;
	CHECK(wait_in_vain(1) <= 1);
	CHECK_INT(hs_stats_get(blocked), 2);
	CHECK_INT(hs_stats_get(block_expired), 2);
	hs_recorder.block_ns = 0;
	hs_recorder.reader_runs = false;
	drain();
}

/* The thread would hold up its parent, or the worker that it waits for. */
static void test_where_no_sample_waits(void)
{
	struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
	struct sched_param none = {.sched_priority = 0};

	start(1);
	hs_recorder.reader_runs = true;
	hs_thread.block_after_ns = 0;
	hs_thread.no_wait = true; /* in a handler of pthread_atfork() */
	CHECK_INT(wait_in_vain(3), 0);
	hs_thread.no_wait = false;
	hs_recorder.process_id++; /* in a child of vfork() */
	CHECK_INT(wait_in_vain(3), 0);
	hs_recorder.process_id--;
	hs_heaps[HS_HEAP_MALLOC].waits = false; /* as a heap with an interval of its own above 1 */
	CHECK_INT(wait_in_vain(3), 0);
	hs_heaps[HS_HEAP_MALLOC].waits = true;
	if (sched_setscheduler(0, SCHED_FIFO, &lowest) == 0) {
		CHECK_INT(wait_in_vain(3), 0);
		CHECK_INT(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	}
	CHECK_INT(hs_stats_get(blocked), 0);
	CHECK(wait_in_vain(3) > 0);
	CHECK_INT(hs_stats_get(blocked), 1);
	hs_recorder.block_ns = 0;
	hs_recorder.reader_runs = false;
	drain();
}

static bool has_died(void)
{
	return true;
}

/* It was killed, and has not said that it does not read any more: nobody makes room. */
static void test_wait_ends_with_the_worker(void)
{
	start(1);
	hs_recorder.reader_runs = true;
	hs_thread.block_after_ns = 0;
	hs_recorder.died = has_died;
	CHECK_INT(wait_in_vain(3), 0);
	CHECK_INT(hs_stats_get(block_expired), 0);
	hs_recorder.died = NULL;
	wait_in_vain(3);
	CHECK_INT(hs_stats_get(block_expired), 1);
	hs_recorder.block_ns = 0;
	hs_recorder.reader_runs = false;
	drain();
}

static long refuse_futex(long number)
{
	return number == SYS_futex ? -EPERM : 0;
}

/* A worker that sleeps could not be woken. */
static void test_no_sample_waits_where_no_wake_is_allowed(void)
{
	_Atomic uint32_t word = 0;

	start(1);
	hs_recorder.reader_runs = true;
	hs_thread.block_after_ns = 0;
	hs_sys_fault = refuse_futex;
	hs_sys_futex_wake(&word, 1);
	hs_sys_fault = NULL;
	CHECK_INT(wait_in_vain(3), 0);
	CHECK_INT(hs_stats_get(blocked), 0);
	hs_sys_futex_wake(&word, 1);
	wait_in_vain(3);
	CHECK_INT(hs_stats_get(blocked), 1);
	hs_recorder.block_ns = 0;
	hs_recorder.reader_runs = false;
	drain();
}

/* The threads that give slots back sleep while nothing is recorded: they must be woken. */
static void test_full_live_set_wakes_the_reader(void)
{
	uint32_t slots = hs_live_set_capacity();
	struct hs_taken_slot *taken = calloc(slots, sizeof *taken);

	start(1);
	for (uint32_t i = 0; i < slots; i++)
		CHECK(hs_live_set_take(&taken[i]));
	atomic_store(&ring.reader_asleep, HS_RING_ASLEEP);
	CHECK(!allocate(block, 8));
	CHECK_INT(atomic_load(&ring.reader_asleep), HS_RING_WOKEN);
	CHECK_INT(hs_heap_total(lost_live_set), 1);
	/* A slot is waited for, but not where none can come while the program waits. */
	hs_recorder.reader_runs = true;
	hs_recorder.block_ns = 1000000;
	hs_thread.block_after_ns = 0;
	hs_live_set_exhausted = true;
	CHECK(!allocate(block, 8));
	CHECK_INT(hs_stats_get(blocked), 0);
	hs_live_set_exhausted = false;
	CHECK(!allocate(block, 8));
	CHECK_INT(hs_stats_get(blocked), 1);
	CHECK_INT(hs_heap_total(lost_live_set), 3);
	hs_recorder.reader_runs = false;
	hs_recorder.block_ns = 0;
	for (uint32_t i = 0; i < slots; i++)
		hs_live_set_cancel(taken[i]);
	free(taken);
	CHECK(allocate(block, 8));
	drain();
}

static void test_interval_0_is_off(void)
{
	start(0);
	for (unsigned i = 0; i < 100; i++)
		CHECK(!allocate(block, 1 << 20));
	CHECK_INT(hs_heap_total(samples), 0);
	/* If sampling is switched off the running countdown ends without a sample. */
	start(1);
	CHECK(allocate(block, 1));
	atomic_store(&hs_sampler_interval, 0);
	CHECK(!allocate(block, 1));
	CHECK(!allocate(block, 1));
	CHECK_INT(hs_heap_total(samples), 1);
	drain();
}

/* --- signal handlers inside the slow path ---------------------------------------- */

static sigjmp_buf jump;
static bool jump_out;

static void on_signal(int signal)
{
	struct hs_regs regs; /* of a call site further down than what was interrupted */

	(void)signal;
	hs_arch_capture(&regs);
	CHECK(!hs_sampler_passes(100));
	CHECK(!hs_record_allocation(block + 1, 100, &regs));
	hs_record_move_end(hs_record_move_begin(block + 1), true);
	/* As for a profile that the handler asks for: the countdown is being drawn. */
	hs_record_settle();
	CHECK_INT(hs_stats_get(allocated_bytes), 0);
	if (jump_out)
		siglongjmp(jump, 1);
}

static long raise_in_copy(long number)
{
	if (number == SYS_process_vm_readv) {
		hs_sys_fault = NULL; /* once */
		raise(SIGUSR1);
	}
	return 0;
}

/* A sample on an unknown stack, which is copied by a system call: there the handler runs. */
static bool interrupted_allocation(size_t size)
{
	static unsigned char stack[256];
	struct hs_regs regs = {.sp = (uintptr_t)stack};
	bool recorded;

	hs_sys_fault = raise_in_copy;
	recorded = hs_record_allocation(block, size, &regs);
	hs_sys_fault = NULL;
	return recorded;
}

static void test_handler_is_passed_through(void)
{
	struct hs_record record;

	start(1);
	jump_out = false;
	signal(SIGUSR1, on_signal);
	CHECK(interrupted_allocation(10));
	CHECK_INT(next(&record).state, HS_RING_COMMITTED);
	CHECK(record.address == (uintptr_t)block);
	CHECK_INT(hs_heap_total(samples), 1);
	drain();
}

/* An allocation of 10 bytes, the first one, is left by a handler. */
static void jump_out_of_a_handler(void)
{
	start(1);
	jump_out = true;
	signal(SIGUSR1, on_signal);
	if (sigsetjmp(jump, 1) == 0)
		interrupted_allocation(10);
	hs_sys_fault = NULL;
}

static void test_jump_out_of_a_handler(void)
{
	struct hs_record record;

	jump_out_of_a_handler();
	CHECK(hs_thread.guard_sp != 0);
	CHECK(hs_thread.reservation != 0);
	CHECK_INT(next(&record).state, HS_RING_OPEN);

	CHECK(allocate(block, 20));
	CHECK_INT(hs_thread.guard_sp, 0);
	CHECK_INT(hs_thread.reservation, 0);
	CHECK_INT(hs_stats_get(abandoned), 1);
	hs_record_settle();
	CHECK_INT(hs_stats_get(allocated_bytes), 30);
	CHECK_INT(next(&record).state, HS_RING_ABANDONED);
	CHECK_INT(next(&record).state, HS_RING_COMMITTED);
	CHECK_INT(record.size, 20);
	drain();
}

/* The process ends after a handler has jumped out: nobody waits for what that left open. */
static void test_end_after_a_handler(void)
{
	struct hs_record record;

	jump_out_of_a_handler();
	CHECK_INT(next(&record).state, HS_RING_OPEN);
	atomic_store(&ring.reader_asleep, HS_RING_ASLEEP);
	hs_record_stop_thread();
	CHECK_INT(atomic_load(&ring.reader_asleep), HS_RING_WOKEN);
	CHECK_INT(next(&record).state, HS_RING_ABANDONED);
	CHECK(allocate(block, 20));
	hs_record_settle();
	CHECK_INT(hs_stats_get(allocated_bytes), 30);
	drain();
}

/* Leaves things as enter() and a reservation do, without an end. */
static void leave_open(void)
{
	CHECK(hs_ring_reserve(&ring, 64, HS_RING_ORDINARY, hs_thread.tid, 0,
			      &hs_thread.reservation) != NULL);
	hs_thread.guarded_countdown = hs_thread.bytes_until_sample;
	hs_thread.bytes_until_sample = 0;
}

static void test_guard_is_validated(void)
{
	static struct hs_guard guard;
	struct hs_record record;

	start(1);
	guard.mark = hs_guard_mark((uintptr_t)&guard);
	CHECK(allocate(block, 1));
	drain();
	leave_open();
	hs_thread.guard_sp = here.sp + 64; /* further up: that slow path still runs */
	CHECK(!allocate(block, 1));
	hs_thread.guard_sp = (uintptr_t)&guard; /* on another stack, and there */
	CHECK(!allocate(block, 1));
	hs_thread.guard_sp = here.sp - 64; /* where this call is, it cannot be */
	CHECK(allocate(block, 1));
	CHECK_INT(next(&record).state, HS_RING_ABANDONED);
	hs_record_settle();
	CHECK_INT(hs_stats_get(allocated_bytes), 2);
	drain();
}

/* A handler has jumped out of a slow path far deeper, where the stack has not been used since. */
static void test_guard_far_below(void)
{
	static struct {
		struct hs_guard guard;
		char frames[64 << 10];
	} stack;
	stack_t none = {.ss_flags = SS_DISABLE}, before; /* a sanitizer has an alternate stack */
	struct hs_record record;
	uintptr_t sp = here.sp, low = hs_thread.stack_low, high = hs_thread.stack_high;

	start(1);
	CHECK(allocate(block, 1));
	drain();
	CHECK_INT(sigaltstack(&none, &before), 0);
	hs_thread.stack_low = (uintptr_t)&stack;
	hs_thread.stack_high = (uintptr_t)(&stack + 1);
	here.sp = hs_thread.stack_high - 1024;
	stack.guard.mark = hs_guard_mark((uintptr_t)&stack.guard);
	leave_open();
	hs_thread.guard_sp = (uintptr_t)&stack.guard;
	atomic_store(&hs_reentry_stacks_disarm, true);
	CHECK(!allocate(block, 1)); /* this may be a handler on a stack that lies above */
	atomic_store(&hs_reentry_stacks_disarm, false);
	CHECK(allocate(block, 1));
	CHECK_INT(next(&record).state, HS_RING_ABANDONED);
	drain();
	here.sp = sp;
	hs_thread.stack_low = low;
	hs_thread.stack_high = high;
	CHECK_INT(sigaltstack(&before, NULL), 0);
}

static void test_guard_on_a_coroutine(void)
{
	static struct hs_guard guard;
	uintptr_t low = hs_thread.stack_low, high = hs_thread.stack_high;
	struct hs_record record;

	if (!may_read_by_process_vm()) {
		printf("not run without process_vm_readv(): test_guard_on_a_coroutine\n");
		return;
	}
	start(1);
	guard.mark = hs_guard_mark((uintptr_t)&guard);
	CHECK(allocate(block, 1));
	drain();
	leave_open();
	hs_thread.stack_low = hs_thread.stack_high = 0; /* neither is on a known stack */
	hs_thread.guard_sp = (uintptr_t)&guard;
	CHECK(!allocate(block, 1));
	guard.mark ^= 1;
	CHECK(allocate(block, 1));
	CHECK_INT(next(&record).state, HS_RING_ABANDONED);
	drain();
	hs_thread.stack_low = low;
	hs_thread.stack_high = high;
}

static long refuse_reading(long number)
{
	return number == SYS_process_vm_readv ? -EPERM : 0;
}

static long refuse_stacks(long number)
{
	return number == SYS_sigaltstack ? -EPERM : 0;
}

static long refuse_both(long number)
{
	return refuse_reading(number) | refuse_stacks(number);
}

static uintptr_t low_before, high_before;
static stack_t alternate_before;

/* Has this thread a known stack from low to high, and no alternate one; and a guard be left. */
static void leave_guard(uintptr_t low, uintptr_t high, uintptr_t guard)
{
	stack_t none = {.ss_flags = SS_DISABLE};

	start(1);
	CHECK(allocate(block, 1));
	drain();
	CHECK_INT(sigaltstack(&none, &alternate_before), 0);
	low_before = hs_thread.stack_low;
	high_before = hs_thread.stack_high;
	hs_thread.stack_low = low;
	hs_thread.stack_high = high;
	leave_open();
	hs_thread.guard_sp = guard;
}

/* The next allocation has found it gone. */
static void end_guard(void)
{
	struct hs_record record;

	CHECK_INT(hs_thread.guard_sp, 0);
	CHECK_INT(next(&record).state, HS_RING_ABANDONED);
	drain();
	hs_thread.stack_low = low_before;
	hs_thread.stack_high = high_before;
	CHECK_INT(sigaltstack(&alternate_before, NULL), 0);
}

/* On a stack of unknown bounds a guard further down, not too far, is on the same stack. */
static void test_guard_below_on_a_coroutine(void)
{
	static struct {
		struct hs_guard guard;
		char frames[512 << 10];
	} stack;
	uintptr_t sp = here.sp, guard = (uintptr_t)&stack.guard;

	stack.guard.mark = hs_guard_mark(guard);
	leave_guard(0, 0, guard);
	here.sp = guard + (300 << 10);
	CHECK(!allocate(block, 1));
	here.sp = guard + (200 << 10);
	hs_sys_fault = refuse_stacks; /* then this may be a handler on a stack of its own */
	CHECK(!allocate(block, 1));
	hs_sys_fault = NULL;
	CHECK(allocate(block, 1));
	here.sp = sp;
	end_guard();
}

/* A coroutine that runs within the slow path, switched to by a handler, is on another stack. */
static void test_guard_on_the_stack_and_a_coroutine(void)
{
	static struct hs_guard guard;
	uintptr_t low = (uintptr_t)&guard;

	guard.mark = hs_guard_mark(low);
	leave_guard(low, low + sizeof guard, low);
	CHECK(!allocate(block, 1));
	guard.mark ^= 1;
	CHECK(allocate(block, 1));
	end_guard();
}

/* Its stack is there no more, as that of a coroutine that has ended. */
static void test_guard_that_is_unmapped(void)
{
	void *page = hs_sys_map(HS_PAGE_BYTES, 0);

	if (!may_read_by_process_vm()) {
		printf("not run without process_vm_readv(): test_guard_that_is_unmapped\n");
		return;
	}
	CHECK(page != NULL);
	leave_guard(0, 0, (uintptr_t)page);
	CHECK(allocate(block, 1));
	end_guard();
	hs_sys_unmap(page, HS_PAGE_BYTES);
}

/* Where the kernel does not read it: it is read if it is on the thread's own stack, only then. */
static void test_guard_that_the_kernel_does_not_read(void)
{
	static struct hs_guard guard; /* without its mark */
	void *page = hs_sys_map(HS_PAGE_BYTES, 0);

	CHECK(page != NULL);
	hs_sys_fault = refuse_reading;
	leave_guard(0, 0, (uintptr_t)page);
	CHECK(!allocate(block, 1));
	hs_thread.guard_sp = (uintptr_t)&guard;
	CHECK(!allocate(block, 1));
	hs_thread.stack_low = (uintptr_t)&guard;
	hs_thread.stack_high = (uintptr_t)(&guard + 1);
	CHECK(allocate(block, 1));
	hs_sys_fault = NULL;
	end_guard();
	hs_sys_unmap(page, HS_PAGE_BYTES);
	/* Where this call is, it cannot be. */
	leave_guard(0, 0, here.sp - 64);
	hs_sys_fault = refuse_both;
	CHECK(allocate(block, 1));
	hs_sys_fault = NULL;
	end_guard();
}

static _Alignas(16) char low_stack[64 << 10];
static void *above_stack; /* of the handler */

/* With a handler on a stack that lies above this one. */
static void allocate_below(void *unused)
{
	stack_t above = {.ss_sp = above_stack, .ss_size = 64 << 10}, before;

	(void)unused;
	CHECK_INT(sigaltstack(&above, &before), 0);
	CHECK(interrupted_allocation(10));
	CHECK_INT(sigaltstack(&before, NULL), 0);
}

/* Its guard has the mark, and so is seen to be in use. */
static void test_handler_on_a_stack_above(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	char memory[64 << 10];
	struct hs_record record;

	if (!may_read_by_process_vm()) {
		printf("not run without process_vm_readv(): test_handler_on_a_stack_above\n");
		return;
	}
	start(1);
	jump_out = false;
	above_stack = memory;
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	hs_arch_call_on(low_stack + sizeof low_stack, allocate_below, NULL);
	CHECK_INT(next(&record).state, HS_RING_COMMITTED);
	CHECK_INT(hs_heap_total(samples), 1);
	drain();
}

/* --- frees that nobody tells ------------------------------------------------------- */

static void test_allocated_again(void)
{
	struct hs_record record;
	uint64_t number;

	start(1);
	CHECK(allocate(block, 5));
	number = atomic_load(&hs_sequence.next);
	CHECK(allocate(block, 7));
	CHECK_INT(hs_stats_get(superseded), 1);
	CHECK_INT(hs_heap_total(frees), 1);
	CHECK_INT(next(&record).sequence, number - 1);
	CHECK_INT(next(&record).sequence, number + 1); /* the free is between them */
	CHECK(!hs_live_set_may_hold(block));
	drain();
}

static void test_stopped(void)
{
	start(1);
	atomic_store(&hs_epoch, 0);
	CHECK(!allocate(block, 5));
	CHECK_INT(hs_heap_total(samples), 0);
	atomic_store(&hs_epoch, 2);
	CHECK(allocate(block, 5));
	atomic_store(&hs_epoch, 1);
	drain();
}

/* --- fork -------------------------------------------------------------------------- */

/* What is the parent's thread's or its other threads', and what goes on in the child. */
static void test_after_fork(void)
{
	struct hs_record record;

	start((uint64_t)1 << 40);
	CHECK(!allocate(block, 0));
	CHECK(!allocate(block, 100));
	hs_thread.tid = 1;
	hs_capture_protect_begins(); /* of a thread that the child does not have */
	CHECK(hs_record_after_fork());
	hs_record_settle();
	CHECK_INT(hs_stats_get(allocated_bytes), 101);
	start(1);
	CHECK(allocate(block, 5));
	CHECK_INT(next(&record).state, HS_RING_COMMITTED);
	CHECK_INT(record.tid, hs_sys_gettid());
	CHECK(hs_thread_has_read(&hs_thread, here.sp, record.stack_bytes));
	drain();
	/* In a handler that has interrupted the slow path, all that belongs to it stays. */
	start(1);
	CHECK(allocate(block, 5));
	hs_thread.guard_sp = here.sp + 64;
	hs_thread.bytes_until_sample = 0;
	CHECK(!hs_record_after_fork());
	CHECK_INT(hs_thread.bytes_until_sample, 0);
	hs_thread.guard_sp = 0;
	drain();
}

/* A child of vfork() writes to its parent's memory: its id is not the thread's. */
static void test_in_a_vfork_child(void)
{
	struct hs_record record;

	start(1);
	hs_thread.tid = 0;
	hs_recorder.process_id++;
	CHECK(allocate(block, 5));
	CHECK_INT(hs_thread.tid, 0);
	CHECK_INT(next(&record).state, HS_RING_COMMITTED);
	CHECK_INT(record.tid, hs_sys_gettid());
	hs_recorder.process_id--;
	CHECK(allocate(block + 1, 5));
	CHECK_INT(hs_thread.tid, hs_sys_gettid());
	drain();
}

/* --- realloc ----------------------------------------------------------------------- */

static void test_moves(void)
{
	struct hs_freed_slots freed;
	struct hs_ring_item item;
	struct hs_record record;
	uint32_t token;
	uint64_t number;

	start(1);
	CHECK_INT(hs_record_move_begin(block), HS_SLOT_NONE);
	hs_record_move_end(HS_SLOT_NONE, true);
	CHECK(allocate(block, 5));
	number = atomic_load(&hs_sequence.next);
	token = hs_record_move_begin(block);
	CHECK(token != HS_SLOT_NONE);
	hs_record_move_end(token, false);
	CHECK_INT(hs_heap_total(frees), 0);
	token = hs_record_move_begin(block);
	hs_record_move_end(token, true);
	CHECK_INT(hs_heap_total(frees), 1);
	hs_live_set_take_freed(&freed);
	CHECK_INT(hs_live_set_next_freed(&freed), token);
	CHECK_INT(hs_live_set_free_sequence(token), number + 1);
	CHECK(hs_live_set_recycle(token, hs_live_set_generation(token)));
	CHECK_INT(next(&record).sequence, number - 1);
	item = next(&record);
	CHECK_INT(item.state, HS_RING_COMMITTED);
	CHECK_INT(item.sequence, number);
	CHECK_INT(record.kind, HS_RECORD_TOMBSTONE);
	CHECK_INT(hs_thread.guard_sp, 0);
	CHECK(allocate(block, 5)); /* the countdown is as before */
	hs_record_free(block);
	CHECK_INT(hs_heap_total(frees), 2);
	drain();
}

int main(void)
{
	extern void *__libc_stack_end;

	hs_arch_capture(&here);
	hs_capture_init_main(&hs_thread, (uintptr_t)__libc_stack_end);
	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	CHECK_INT(live_init(1000, 100), 0);
	RUN(test_nothing_before_the_start);
	RUN(test_start_beside_a_thread);
	RUN(test_interval_1_records_everything);
	RUN(test_stream);
	RUN(test_total_in_pieces);
	RUN(test_allocations_while_sampling_is_off);
	RUN(test_failed_allocation);
	RUN(test_total_is_exact);
	RUN(test_full_ring);
	RUN(test_refused_until_there_is_room);
	RUN(test_allocated_again_without_room);
	RUN(test_index_without_a_place);
	RUN(test_sleeping_reader_is_woken);
	RUN(test_closes);
	RUN(test_recycled_records_begin_anew);
	RUN(test_wait_ends_after_its_limit);
	RUN(test_where_no_sample_waits);
	RUN(test_wait_ends_with_the_worker);
	RUN(test_no_sample_waits_where_no_wake_is_allowed);
	RUN(test_full_live_set_wakes_the_reader);
	RUN(test_interval_0_is_off);
	RUN(test_handler_is_passed_through);
	RUN(test_jump_out_of_a_handler);
	RUN(test_end_after_a_handler);
	RUN(test_guard_is_validated);
	RUN(test_guard_far_below);
	RUN(test_guard_on_a_coroutine);
	RUN(test_guard_below_on_a_coroutine);
	RUN(test_guard_on_the_stack_and_a_coroutine);
	RUN(test_guard_that_is_unmapped);
	RUN(test_guard_that_the_kernel_does_not_read);
	RUN(test_handler_on_a_stack_above);
	RUN(test_allocated_again);
	RUN(test_stopped);
	RUN(test_after_fork);
	RUN(test_in_a_vfork_child);
	RUN(test_moves);
	return CHECK_RESULT();
}
