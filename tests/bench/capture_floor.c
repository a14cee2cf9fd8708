/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The least that a profiler does if it unwinds on another thread: the same as floor.c, and for each
 * sample a copy of the stack into a ring that a thread reads.  No unwinding, no profile.
 *
 * Countdowns have an exponential distribution with a mean of $BENCH_INTERVAL bytes.  Its logarithm
 * is approximated by straight lines between powers of two.  The first of a thread is 4 KiB.  The
 * stack is copied from the stack pointer to its end (__libc_stack_end or the thread pointer), at
 * most 64 KiB.
 *
 * Positions in the ring only rise.  A record is a whole number of cache lines; the last one may run
 * over the end of the ring.  It begins with its length, which is 0 until it is committed.  The
 * reader zeroes the first word of each line, so it touches all lines.  A full ring refuses samples.
 *
 * At exit it writes counts to $BENCH_COUNTS, with the names of HEAPSAMPLE_STATS.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_BYTES 4096
#define STACK_MAX_BYTES ((size_t)64 << 10)
#define RING_BYTES ((uint64_t)4 << 20)
#define LINE_BYTES ((size_t)64)
#define HEADER_BYTES 16
#define STACK_BELIEVED_BYTES ((uintptr_t)8 << 20) /* no thread has a longer one */
#define PAGE_BYTES ((uintptr_t)4096)
#define NAP_NS 250000

extern void *__libc_stack_end;

struct line {
	_Atomic uint64_t length; /* of the record, header included; release in commit */
	uint64_t allocated;      /* bytes since the thread's last sample */
	unsigned char stack[LINE_BYTES - HEADER_BYTES];
};

static _Alignas(PAGE_BYTES) struct line ring[(RING_BYTES + STACK_MAX_BYTES) / LINE_BYTES + 1];
static _Alignas(64) _Atomic uint64_t head; /* written by the program's threads */
static _Alignas(64) _Atomic uint64_t tail; /* written by the reader, release: lines are 0 */
static _Alignas(64) _Atomic uint64_t refused, refused_bytes;
static _Atomic uint64_t records, record_bytes, reader_cpu_ns; /* written by the reader */

static _Atomic bool is_running; /* set after main_thread */
static pthread_t main_thread;
static uint64_t interval_bytes = INTERVAL_BYTES;

static __thread uint64_t random_state;
static __thread int64_t drawn = INTERVAL_BYTES;

static int64_t draw_countdown(void)
{
	uint64_t zeros, fraction;

	if (random_state == 0)
		random_state = (uint64_t)(uintptr_t)&random_state * UINT64_C(0x9e3779b97f4a7c15);
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	zeros = (uint64_t)__builtin_clzll(random_state);
	fraction = random_state << zeros << 1 >> 32;
	/* The mean of zeros + 1 - fraction / 2^32 is 1.5. */
	return (int64_t)((((zeros + 1) << 32) - fraction) * (interval_bytes * 2 / 3) >> 32);
}

static size_t stack_bytes(uintptr_t stack)
{
	pthread_t self = pthread_self();
	uintptr_t end = self == main_thread ? (uintptr_t)__libc_stack_end : (uintptr_t)self;

	if (stack >= end || end - stack > STACK_BELIEVED_BYTES)
		end = (stack | (PAGE_BYTES - 1)) + 1;
	return end - stack < STACK_MAX_BYTES ? end - stack : STACK_MAX_BYTES;
}

static uint64_t offset_of(uint64_t position)
{
	return position % RING_BYTES;
}

/* A record that runs over the end of the ring takes only what is left of it. */
static uint64_t end_of(uint64_t position, uint64_t length)
{
	uint64_t room = RING_BYTES - offset_of(position);

	return position + (length < room ? length : room);
}

/* Returns NULL if the ring is full. */
static struct line *reserve(uint64_t length)
{
	uint64_t position = atomic_load_explicit(&head, memory_order_relaxed), end;

	do {
		end = end_of(position, length);
		if (end - atomic_load_explicit(&tail, memory_order_acquire) > RING_BYTES)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(&head, &position, end, memory_order_relaxed,
							memory_order_relaxed));
	return &ring[offset_of(position) / LINE_BYTES];
}

static inline int64_t take_sample(int64_t left)
{
	uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
	uint64_t allocated = (uint64_t)(drawn - left), length;
	struct line *record;
	size_t bytes;

	drawn = draw_countdown();
	if (!atomic_load_explicit(&is_running, memory_order_relaxed))
		return drawn;
	bytes = stack_bytes(stack);
	length = (HEADER_BYTES + bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
	record = reserve(length);
	if (record == NULL) {
		atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&refused_bytes, allocated, memory_order_relaxed);
		return drawn;
	}
	record->allocated = allocated;
	memcpy((unsigned char *)record + HEADER_BYTES, (const void *)stack, bytes);
	atomic_store_explicit(&record->length, length, memory_order_release);
	return drawn;
}

#include "countdown.h"

static void add(_Atomic uint64_t *own, uint64_t more)
{
	uint64_t now = atomic_load_explicit(own, memory_order_relaxed);

	atomic_store_explicit(own, now + more, memory_order_relaxed);
}

/* Returns false if there is no record, or it is not committed yet. */
static bool read_record(void)
{
	uint64_t position = atomic_load_explicit(&tail, memory_order_relaxed);
	struct line *line = &ring[offset_of(position) / LINE_BYTES];
	uint64_t length = atomic_load_explicit(&line->length, memory_order_acquire);

	if (length == 0)
		return false;
	add(&record_bytes, line->allocated);
	add(&records, 1);
	for (uint64_t i = 0; i < length / LINE_BYTES; i++)
		atomic_store_explicit(&line[i].length, 0, memory_order_relaxed);
	atomic_store_explicit(&tail, end_of(position, length), memory_order_release);
	return true;
}

/* Spares the writers page faults.  Adding 0 keeps what they write meanwhile. */
static void touch_ring(void)
{
	for (size_t i = 0; i < sizeof ring / LINE_BYTES; i += PAGE_BYTES / LINE_BYTES)
		atomic_fetch_add_explicit(&ring[i].length, 0, memory_order_relaxed);
}

/* The reader polls, so that no writer has to wake it. */
static void *read_ring(void *unused)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	struct timespec cpu;

	(void)unused;
	touch_ring();
	for (;;) {
		for (int i = 0; i < 64 && read_record(); i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
		atomic_store(&reader_cpu_ns,
			     (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec);
		if (atomic_load(&head) == atomic_load(&tail))
			nanosleep(&nap, NULL);
	}
	return NULL;
}

static __attribute__((constructor)) void start_reader(void)
{
	const char *interval = getenv("BENCH_INTERVAL");
	sigset_t all, old;
	pthread_t reader;

	main_thread = pthread_self();
	if (interval != NULL)
		interval_bytes = strtoull(interval, NULL, 10);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	is_running = pthread_create(&reader, NULL, read_ring, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static __attribute__((destructor)) void write_counts(void)
{
	const struct timespec millisecond = {.tv_nsec = 1000000};
	const char *path = getenv("BENCH_COUNTS");
	uint64_t lost = refused, bytes = refused_bytes;
	int file;

	for (int i = 0; i < 1000 && head != tail; i++)
		nanosleep(&millisecond, NULL);
	file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
	if (file < 0)
		return;
	dprintf(file,
		"{\"counters\": {\"samples\": %llu, \"lost_ring\": %llu, "
		"\"allocated_bytes\": %llu, \"worker_cpu_ns\": %llu}}\n",
		(unsigned long long)(records + lost), (unsigned long long)lost,
		(unsigned long long)(record_bytes + bytes), (unsigned long long)reader_cpu_ns);
	close(file);
}
