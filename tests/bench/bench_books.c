/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of the books.  Only the producer's work is timed:
 *
 *   - pairs of an allocation and a free, at 10^3 to 10^6 live samples of 10,000 stacks, with frees
 *     on lists and in the journal; another thread plays the program, on another processor if there
 *     is one;
 *   - samples of a new and of a known stack, of 20 frames;
 *   - the time and memory of a profile of 100,000 live samples of 20,000 stacks, in 20,000 and in
 *     100,000 rows.
 *
 * usage: bench_books [MOST]     largest number of live samples, and about that of pairs timed at
 *                               each size; a small one is for tools that count instructions
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../unit/sample_testing.h"
#include "base/arena.h"
#include "bench.h"
#include "output/dump_file.h"
#include "output/gzip_writer.h"
#include "output/pprof_encoder.h"
#include "profile/books.h"
#include "profile/snapshot.h"
#include "sample/free_journal.h"
#include "sample/recorder.h"

enum { DEPTH = 20, STACKS = 10000, DUMP_STACKS = 20000, DUMP_SAMPLES = 100000 };
enum { BATCH = 64 /* records; BATCH_RECORDS in session/threads.c */ };
enum { ROUNDS = 9, SIZES = 4 /* 10^3 to 10^6 */ };
enum { JOURNAL = 16384 /* frees; SMALL_JOURNAL in session/make_buffers.c */ };

#define MOST 1000000u /* live samples */
#define FIRST_BLOCK UINT64_C(0x7f0000000000)

struct record {
	struct hs_unwound head;
	struct hs_frame frames[DEPTH];
};

static struct hs_mapping_table *table;
static struct hs_producer *producer;
static struct record batch[BATCH];
static uint64_t next_block, *blocks;

/* Processor time of this thread, since other processes may run. */
static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void sort(double values[ROUNDS])
{
	for (int i = 1; i < ROUNDS; i++) {
		for (int j = i; j > 0 && values[j] < values[j - 1]; j--) {
			double swapped = values[j];

			values[j] = values[j - 1];
			values[j - 1] = swapped;
		}
	}
}

/* Stacks with close numbers share their outer frames, as the stacks of a program do. */
static void set_stack(struct record *record, uint64_t stack)
{
	record->head.frame_count = DEPTH;
	for (uint64_t i = 0; i < DEPTH; i++) {
		uint64_t function = i * 137 + (stack >> i / 2) * 7;

		record->frames[i] = (struct hs_frame){0x400000 + function % 8191 * 32, 0};
	}
}

/* Does for a sample what the program's thread and the worker do. */
static void allocate(struct record *record, uint64_t *block, uint64_t size, uint64_t stack)
{
	struct hs_taken_slot taken = {0};

	*block = FIRST_BLOCK + 16 * next_block++;
	check(hs_live_set_take(&taken) && hs_live_set_insert_id(&taken, HS_HEAP_MALLOC, *block),
	      "no room in the live set");
	record->head = (struct hs_unwound){
		.sequence = atomic_fetch_add(&hs_sequence.next, 1),
		.size = size,
		.interval_bytes = 65536,
		.address = *block,
		.slot = taken.slot,
		.generation = taken.generation,
		.epoch = producer->epoch,
		.kind = HS_RECORD_ALLOCATION,
		.heap = HS_HEAP_MALLOC,
	};
	set_stack(record, stack);
}

/* The steps of the producer for a batch, in its order.  Returns the time in ns. */
static __attribute__((noinline)) double take_batch(uint32_t count)
{
	double start = now_ns(), end;
	uint32_t expected = 0;

	hs_producer_take_freed(producer);
	for (uint32_t i = 0; i < count; i++) {
		while (expected < count && expected <= i + HS_PRODUCER_EXPECTED)
			hs_producer_expect(producer, &batch[expected++].head);
		hs_producer_take(producer, &batch[i].head);
	}
	hs_producer_commit(producer);
	end = now_ns();
	check(hs_live_set_maintain(4 * BATCH) == 0, "the live set does not grow");
	return end - start;
}

static double allocate_all(uint32_t count, uint32_t stacks, uint32_t sizes)
{
	double ns = 0;

	for (uint32_t i = 0; i < count; i += BATCH) {
		uint32_t many = count - i < BATCH ? count - i : BATCH;

		for (uint32_t j = 0; j < many; j++)
			allocate(&batch[j], &blocks[i + j], 16 * ((i + j) / stacks % sizes + 1),
				 (i + j) % stacks);
		ns += take_batch(many);
	}
	return ns;
}

static void free_all(uint32_t count)
{
	for (uint32_t i = 0; i < count; i += BATCH) {
		uint32_t many = count - i < BATCH ? count - i : BATCH;

		for (uint32_t j = 0; j < many; j++)
			check(hs_live_set_free_id(HS_HEAP_MALLOC, blocks[i + j]) == 1,
			      "a sample is not live");
		take_batch(0);
	}
}

static void start_producer(unsigned labels)
{
	hs_sequence.next = 1;
	next_block = 0;
	random_state = 88172645463325252u;
	producer = hs_producer_create(&(struct hs_producer_setup){
		.mappings = table,
		.labels = labels,
		.jit_sources = HS_JIT_SOURCE_PERF_MAP | HS_JIT_SOURCE_GDB,
		.jit_bytes = 1 << 20,
	});
	check(producer != NULL, "no producer");
}

/* Who works on the batch; NOBODY: the measurement is over. */
enum turn { PRODUCER, PROGRAM, NOBODY };
static _Atomic enum turn turn;
static uint32_t live_now;

static void await_turn_behind(enum turn other)
{
	while (atomic_load(&turn) == other)
		sched_yield();
}

/* The program's thread: BATCH times, frees a random live sample and allocates another. */
static void *run_program(void *unused)
{
	while (atomic_load(&turn) != NOBODY) {
		for (uint32_t i = 0; i < BATCH; i++) {
			uint64_t *block = &blocks[random_below(live_now)];

			check(hs_live_set_free_id(HS_HEAP_MALLOC, *block) == 1,
			      "a sample is not live");
			allocate(&batch[i], block, 64, random_below(STACKS));
		}
		atomic_store(&turn, PRODUCER);
		await_turn_behind(PRODUCER);
	}
	return unused;
}

static __attribute__((noinline)) double replace_ns(uint32_t live, uint32_t pairs)
{
	uint32_t batches = (pairs + BATCH - 1) / BATCH;
	pthread_t program;
	double ns = 0;

	live_now = live;
	atomic_store(&turn, PROGRAM);
	check(pthread_create(&program, NULL, run_program, NULL) == 0, "no thread");
	for (uint32_t done = 0; done < batches; done++) {
		await_turn_behind(PROGRAM);
		ns += take_batch(BATCH);
		atomic_store(&turn, done + 1 < batches ? PROGRAM : NOBODY);
	}
	pthread_join(program, NULL);
	return ns / ((double)batches * BATCH);
}

/* ns of a pair, by number of live samples and round.  In memory that all processes share. */
static double (*pair_ns)[ROUNDS];
static double *pair_result;
static uint32_t pairs_timed;

static void measure_pairs(uint32_t live)
{
	start_producer(0);
	/* Makes all stacks known. */
	allocate_all(STACKS, STACKS, 1);
	free_all(STACKS);
	allocate_all(live, STACKS, 1);
	*pair_result = replace_ns(live, pairs_timed);
	free_all(live);
	check(producer->tracker.in_use[HS_HEAP_MALLOC].bytes == 0, "not everything was freed");
}

static void measure_pairs_with_journal(uint32_t live)
{
	check(hs_free_journal_init(JOURNAL) == 0, "no journal");
	measure_pairs(live);
}

static void measure_takes(uint32_t count)
{
	double fresh, known;

	start_producer(0);
	fresh = allocate_all(count, count, 1);
	free_all(count);
	known = allocate_all(count, count, 1);
	free_all(count);
	printf("a sample of a new stack: %.0f ns, of a known one: %.0f ns\n", fresh / count,
	       known / count);
}

static struct hs_gzip_writer *writer; /* NULL: bytes are only counted */
static size_t written;                /* bytes of a profile */
static size_t most_memory; /* while a profile is made */

static void note_memory(void)
{
	if (hs_arena_used() > most_memory)
		most_memory = hs_arena_used();
}

static int write_bytes(const void *bytes, size_t count)
{
	written += count;
	note_memory();
	return writer != NULL ? hs_gzip_writer_write(writer, bytes, count) : 0;
}

/* Encodes a profile into file, or only counts its bytes if that is NULL. */
static __attribute__((noinline)) void dump(const char *where, const struct hs_dump_file *file)
{
	static const struct hs_options options = {.drop_frames = "",
						  .symbolize = HS_SYMBOLIZE_NAMES};
	struct hs_view view = {.period_bytes = 65536};
	size_t before = most_memory = hs_arena_used();
	double start = now_ns(), frozen;
	struct hs_snapshot *snapshot =
		hs_snapshot_create(producer, &options, HS_HEAP_NONE, note_memory, &view);

	written = 0;
	check(snapshot != NULL, "no snapshot");
	frozen = now_ns();
	check(file == NULL || hs_gzip_writer_open(file, &writer) == 0, "no writer");
	check(hs_pprof_encode(&view, write_bytes) == 0, "not encoded");
	check(file == NULL || hs_gzip_writer_finish(writer) == 0, "not written");
	hs_gzip_writer_close(writer);
	writer = NULL;
	hs_snapshot_destroy(snapshot);
	printf("%8zu rows, %-9s %6.1f ms (%5.1f for the snapshot), %5zu KiB, with %5zu KiB of "
	       "memory over %zu\n",
	       view.row_count, where, (now_ns() - start) / 1e6, (frozen - start) / 1e6,
	       written >> 10, (most_memory - before) >> 10, before >> 10);
}

static void measure_dump(unsigned labels)
{
	static struct hs_dump_file file;

	check(hs_dump_file_open(&file, "bench_books.pb.gz", false) == 0, "no file");
	start_producer(labels);
	allocate_all(DUMP_SAMPLES, DUMP_STACKS, DUMP_SAMPLES / DUMP_STACKS);
	dump("the first", NULL);
	dump("counted", NULL);
	dump("gzip'd", &file);
	hs_dump_file_close(&file, -1);
	hs_dump_file_open_directory(&file);
	hs_dump_file_finish(&file, -1);
	hs_dump_file_close_other(&file);
	free_all(DUMP_SAMPLES);
}

static void start(void)
{
	blocks = malloc(MOST * sizeof *blocks);
	check(blocks != NULL && hs_arena_init((size_t)2 << 30) == 0 &&
		      live_init(MOST + MOST / 10, 1000) == 0,
	      "no memory");
	table = hs_mapping_table_create();
	check(table != NULL && hs_mapping_table_refresh(table) == 0, "no maps");
}

/* Measures in a process of its own: slots that have been used before would lie further apart. */
static void apart(void (*measure)(uint32_t n), uint32_t n)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	check(child >= 0, "no process");
	if (child == 0) {
		start();
		measure(n);
		exit(0);
	}
	check(waitpid(child, &status, 0) == child && status == 0, "a measurement has failed");
}

/* Prints medians, and the smallest and the largest ratio to 10^3 live samples. */
static void print_pairs(uint32_t live, int size)
{
	double ns[ROUNDS], ratios[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		ns[round] = pair_ns[size][round];
		ratios[round] = ns[round] / pair_ns[0][round];
	}
	sort(ns);
	sort(ratios);
	printf("%8" PRIu32 " %10.0f %10.2f   %.2f (%.2f..%.2f)\n", live, ns[ROUNDS / 2],
	       1e3 / ns[ROUNDS / 2], ratios[ROUNDS / 2], ratios[0], ratios[ROUNDS - 1]);
}

/* The sizes take turns, so that other load of the machine affects them alike. */
static void measure_all_pairs(void (*measure)(uint32_t live), const char *where, uint32_t most)
{
	uint32_t live;
	int size;

	for (int round = 0; round < ROUNDS; round++) {
		for (size = 0, live = 1000; size < SIZES && live <= most; size++, live *= 10) {
			pair_result = &pair_ns[size][round];
			apart(measure, live);
		}
	}
	printf("%8s %10s %10s   to 10^3, frees %s\n", "live", "ns a pair", "M pairs/s", where);
	for (size = 0, live = 1000; size < SIZES && live <= most; size++, live *= 10)
		print_pairs(live, size);
}

int main(int argc, char **argv)
{
	uint32_t most = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : MOST;

	pairs_timed = most / ROUNDS;
	pair_ns = mmap(NULL, SIZES * sizeof *pair_ns, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(pair_ns != MAP_FAILED, "no memory");
	measure_all_pairs(measure_pairs, "on lists", most);
	measure_all_pairs(measure_pairs_with_journal, "in the journal", most);
	apart(measure_takes, STACKS);
	apart(measure_dump, 0);
	apart(measure_dump, HS_LABEL_SIZE);
	return 0;
}
