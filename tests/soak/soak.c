/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In each round threads allocate, free and move each other's blocks, while threads, libraries and
 * processes come and go and signals arrive.  After it, with all threads at rest, the program
 * requests a profile and prints a line with the true numbers.  The next round begins when a line
 * comes on its standard input; at the end of that the program ends.
 *
 * usage: soak MILLISECONDS LIBRARY...     the length of a round
 *        soak                             allocates a little, and ends
 */
#include "soak.h"

#include <heapsample/heapsample.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The threads that work; four others make threads, libraries and so on come and go. */
enum { WORKERS = SOAK_THREADS - 4, DEPTHS = 4 };

/* How many cells each round uses, in turn; after the last one no block is left. */
static const uint32_t cells_of_rounds[] = {256, 1 << 12, 1 << 16, SOAK_CELLS, 0};
enum { ROUNDS = sizeof cells_of_rounds / sizeof cells_of_rounds[0] };

static atomic_bool round_is_over;

static struct soak_thread states[SOAK_THREADS];
static pthread_t threads[SOAK_THREADS];
static pthread_barrier_t barrier; /* all threads and the main one */
static char **libraries;
static int library_count;
static char *program;

void soak_check(bool holds, const char *what)
{
	char text[128];
	int length;

	if (holds)
		return;
	length = snprintf(text, sizeof text, "soak: wrong: %s\n", what);
	(void)!write(2, text, (size_t)length);
	_exit(3);
}

bool soak_round_is_over(void)
{
	return atomic_load_explicit(&round_is_over, memory_order_relaxed);
}

static void work(struct soak_thread *self)
{
	while (!soak_round_is_over())
		soak_work(self, soak_random_below(&self->random, DEPTHS));
	self->may_be_interrupted = 0;
}

static void send_signals(uint64_t *random)
{
	while (!soak_round_is_over()) {
		pthread_kill(threads[soak_random_below(random, WORKERS)],
			     soak_random_below(random, 2) == 0 ? SIGUSR1 : SIGUSR2);
		usleep(200);
	}
}

static void run_round(unsigned number)
{
	struct soak_thread *self = &states[number];

	switch (number) {
	case WORKERS:
		soak_churn_threads();
		break;
	case WORKERS + 1:
		soak_churn_libraries(&self->random, libraries, library_count);
		break;
	case WORKERS + 2:
		soak_churn_processes(&self->random, program);
		break;
	case WORKERS + 3:
		send_signals(&self->random);
		break;
	default:
		work(self);
		break;
	}
}

static void *run_thread(void *argument)
{
	unsigned number = (unsigned)(uintptr_t)argument;

	soak_self = &states[number];
	soak_self->random = number + 1;
	soak_self->random_of_handler = number + 100;
	soak_own_stack_for_signals(number);
	for (;;) {
		pthread_barrier_wait(&barrier);
		run_round(number);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* So that only the workers, to which they are sent, handle signals. */
static void block_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

static void start_threads(void)
{
	pthread_barrier_init(&barrier, NULL, SOAK_THREADS + 1);
	for (unsigned i = 0; i < SOAK_THREADS; i++) {
		/* The threads after the workers inherit the mask. */
		if (i == WORKERS)
			block_signals();
		soak_check(pthread_create(&threads[i], NULL, run_thread, (void *)(uintptr_t)i) == 0,
			   "pthread_create");
	}
}

/* Leaves nothing of the program in use, and has the allocator give back the memory it can. */
static void free_all(void)
{
	soak_use_cells(0);
	soak_close_libraries();
	malloc_trim(0);
}

static bool report(const char *kind)
{
	static char path[PATH_MAX];
	char input;
	int error;

	path[0] = '\0';
	error = heapsample_dump(path, sizeof path);
	soak_print_truth(kind, path, error);
	soak_report_child();
	soak_check(write(1, "rest\n", 5) == 5, "write");
	return read(0, &input, 1) == 1;
}

/*
 * Has more blocks in use at once than there ever are later.  The profiler keeps room for the most
 * samples that there have been (where it is slow, for those in its buffers too).  So if its memory
 * grows later that has another cause.
 */
static void reach_the_most(void)
{
	enum { COUNT = 3 * SOAK_CELLS };
	size_t bytes = COUNT * sizeof(soak_block);
	soak_block *blocks =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	soak_check(blocks != MAP_FAILED, "mmap");
	for (uint32_t i = 0; i < COUNT; i++)
		blocks[i] = soak_make(NULL, SOAK_malloc, 3, 0);
	for (uint32_t i = 0; i < COUNT; i++)
		soak_end(NULL, blocks[i]);
	munmap(blocks, bytes);
}

static void be_executed(void)
{
	for (int i = 0; i < 100; i++)
		free(malloc(soak_sizes[i % SOAK_SIZES]));
}

int main(int argc, char **argv)
{
	unsigned round = 0;
	bool goes_on;

	if (argc < 3) {
		be_executed();
		return 0;
	}
	program = argv[0];
	libraries = argv + 2;
	library_count = argc - 2;
	soak_handle_signals();
	reach_the_most();
	start_threads();
	do {
		uint32_t cells = cells_of_rounds[round++ % ROUNDS];

		soak_use_cells(cells);
		atomic_store(&round_is_over, false);
		pthread_barrier_wait(&barrier);
		usleep((useconds_t)strtoul(argv[1], NULL, 10) * 1000);
		atomic_store(&round_is_over, true);
		pthread_barrier_wait(&barrier);
		if (cells == 0)
			free_all();
		goes_on = report(cells == 0 ? "empty" : "full");
	} while (goes_on);
	free_all();
	soak_print_truth("end", "", 0);
	return 0;
}
