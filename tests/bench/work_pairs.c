/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A workload of pairs of malloc and free.
 *
 * usage: work_pairs KIND THREADS PAIRS      each thread makes PAIRS
 *
 *   fixed     one block of 64 bytes at a time
 *   mixed     one block at a time, of 16 to 1,024 bytes
 *   deep      mixed, called below 50 more frames
 *   ring      blocks as in mixed, 1,024 in use; each new one replaces a random one
 *   cold      one block of 16 KiB at a time, below 50 frames and 16 KiB of stack; before each, a
 *             walk through 64 MiB; THREADS must be 1
 *   handover  every second thread frees what the one before it allocates; THREADS must be even
 *
 * Prints what was done, then a line "time:" with the processor time of the loops.  The status is 2
 * if the arguments are wrong.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 16, BLOCKS = 1024, DEPTH = 50, BATCH = 1024, BATCHES = 4 };

/* Blocks are handed over in batches, so that threads rarely wait; they sleep then. */
struct queue {
	unsigned char *blocks[BATCHES][BATCH];
	sem_t full, empty;
};

struct thread {
	pthread_t id;
	uint64_t random;
	uint64_t pairs;
	uint64_t bytes, sum;
	uint64_t cpu_ns;
	void (*loop)(struct thread *thread);
	struct queue *queue;
};

static uint64_t random_of(struct thread *thread)
{
	thread->random ^= thread->random << 13;
	thread->random ^= thread->random >> 7;
	thread->random ^= thread->random << 17;
	return thread->random;
}

static unsigned char *allocate(struct thread *thread, size_t size, uint64_t number)
{
	unsigned char *block = malloc(size);

	if (block == NULL)
		abort();
	*block = (unsigned char)number;
	thread->bytes += size;
	return block;
}

/* Reads what allocate() wrote: the sum shows whether it is still there. */
static void release(struct thread *thread, unsigned char *block)
{
	thread->sum += *block;
	free(block);
}

static void loop_fixed(struct thread *thread)
{
	for (uint64_t i = 0; i < thread->pairs; i++)
		release(thread, allocate(thread, 64, i));
}

static void loop_mixed(struct thread *thread)
{
	for (uint64_t i = 0; i < thread->pairs; i++)
		release(thread, allocate(thread, 16 + random_of(thread) % 1009, i));
}

static __attribute__((noinline)) void descend(struct thread *thread, int levels)
{
	if (levels == 0)
		loop_mixed(thread);
	else
		descend(thread, levels - 1);
	__asm__ volatile(""); /* prevents a tail call or a loop */
}

static void loop_deep(struct thread *thread)
{
	descend(thread, DEPTH);
}

static void loop_ring(struct thread *thread)
{
	unsigned char *blocks[BLOCKS];

	for (uint64_t i = 0; i < BLOCKS; i++)
		blocks[i] = allocate(thread, 16 + random_of(thread) % 1009, i);
	for (uint64_t i = 0; i < thread->pairs; i++) {
		uint64_t random = random_of(thread);
		unsigned char **place = &blocks[random % BLOCKS];

		release(thread, *place);
		*place = allocate(thread, 16 + (random >> 32) % 1009, i);
	}
	for (uint64_t i = 0; i < BLOCKS; i++)
		release(thread, blocks[i]);
}

/* Reads 64 MiB, to evict the data of malloc and the profiler from the caches. */
static uint64_t walk(uint64_t number)
{
	static struct {
		uint64_t number;
		unsigned char rest[56];
	} lines[1 << 20];
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		if (number == 0)
			lines[i].number = i;
		sum += lines[i].number;
	}
	return sum;
}

static __attribute__((noinline)) void allocate_cold(struct thread *thread)
{
	for (uint64_t i = 0; i < thread->pairs; i++) {
		thread->sum += walk(i);
		release(thread, allocate(thread, 16 << 10, i));
	}
}

static __attribute__((noinline)) void descend_far(struct thread *thread, int levels)
{
	volatile unsigned char frame[(16 << 10) / DEPTH - 32];

	frame[0] = 0;
	if (levels == 0)
		allocate_cold(thread);
	else
		descend_far(thread, levels - 1);
	frame[1] = frame[0]; /* prevents a tail call or a loop */
}

static void loop_cold(struct thread *thread)
{
	descend_far(thread, DEPTH);
}

static uint64_t batch_size(const struct thread *thread, uint64_t done)
{
	return thread->pairs - done < BATCH ? thread->pairs - done : BATCH;
}

static void loop_produce(struct thread *thread)
{
	struct queue *queue = thread->queue;

	for (uint64_t done = 0; done < thread->pairs; done += BATCH) {
		unsigned char **batch = queue->blocks[done / BATCH % BATCHES];

		sem_wait(&queue->empty);
		for (uint64_t i = 0; i < batch_size(thread, done); i++)
			batch[i] = allocate(thread, 16 + random_of(thread) % 1009, i);
		sem_post(&queue->full);
	}
}

static void loop_consume(struct thread *thread)
{
	struct queue *queue = thread->queue;

	for (uint64_t done = 0; done < thread->pairs; done += BATCH) {
		unsigned char **batch = queue->blocks[done / BATCH % BATCHES];

		sem_wait(&queue->full);
		for (uint64_t i = 0; i < batch_size(thread, done); i++)
			release(thread, batch[i]);
		sem_post(&queue->empty);
	}
}

static const struct kind {
	const char *name;
	void (*loop)(struct thread *thread);
	void (*second)(struct thread *thread);
} kinds[] = {
	{"fixed", loop_fixed, loop_fixed}, {"mixed", loop_mixed, loop_mixed},
	{"deep", loop_deep, loop_deep},    {"ring", loop_ring, loop_ring},
	{"cold", loop_cold, loop_cold},    {"handover", loop_produce, loop_consume},
};

static uint64_t thread_cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *run(void *argument)
{
	struct thread *thread = argument;
	uint64_t start = thread_cpu_ns();

	thread->loop(thread);
	thread->cpu_ns = thread_cpu_ns() - start;
	return NULL;
}

static void run_all(const struct kind *kind, unsigned count, uint64_t pairs)
{
	static struct queue queues[THREADS_MAX / 2];
	static struct thread threads[THREADS_MAX];
	uint64_t bytes = 0, sum = 0, cpu_ns = 0;

	for (unsigned i = 0; i < count; i++) {
		threads[i] = (struct thread){
			.random = 88172645463325252u + i,
			.pairs = pairs,
			.loop = i % 2 == 0 ? kind->loop : kind->second,
			.queue = &queues[i / 2],
		};
		if (i % 2 == 0) {
			sem_init(&queues[i / 2].full, 0, 0);
			sem_init(&queues[i / 2].empty, 0, BATCHES);
		}
		if (i > 0 && pthread_create(&threads[i].id, NULL, run, &threads[i]) != 0)
			abort();
	}
	run(&threads[0]);
	for (unsigned i = 0; i < count; i++) {
		if (i > 0)
			pthread_join(threads[i].id, NULL);
		bytes += threads[i].bytes;
		sum += threads[i].sum;
		cpu_ns += threads[i].cpu_ns;
	}
	printf("%s: %u threads, %llu pairs each, %llu bytes, sum %llu\n", kind->name, count,
	       (unsigned long long)pairs, (unsigned long long)bytes, (unsigned long long)sum);
	printf("time: %llu ns\n", (unsigned long long)cpu_ns);
	fflush(stdout);
}

static bool is_possible(const struct kind *kind, unsigned threads)
{
	if (threads < 1 || threads > THREADS_MAX)
		return false;
	if (kind->loop == loop_cold)
		return threads == 1;
	return kind->loop == kind->second || threads % 2 == 0;
}

int main(int argc, char **argv)
{
	unsigned count;

	if (argc != 4)
		return 2;
	count = (unsigned)atoi(argv[2]);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(kinds[i].name, argv[1]) != 0 || !is_possible(&kinds[i], count))
			continue;
		run_all(&kinds[i], count, strtoull(argv[3], NULL, 10));
		return 0;
	}
	return 2;
}
