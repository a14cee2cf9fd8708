/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates from many stacks, frees what earlier rounds left, and after each round asks for a
 * profile by SIGUSR2 and waits for the file.  At the end it frees nearly all.
 *
 * usage: victim_delta DIRECTORY         profiles are DIRECTORY/victim_delta.PID.NUMBER.heap.pb.gz
 *        victim_delta DIRECTORY fork    one round, and the others in a forked child
 */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "victim_truth.h"

#define ROUNDS 6
#define STACKS 256
#define WAIT_STEPS 20000 /* of 10 ms: more than it takes */

static void *kept[ROUNDS][STACKS];

static SITE void *site_leaf(size_t size)
{
	void *block = malloc(size);

	USE(block);
	return block;
}

static void *walk(unsigned path, unsigned depth, size_t size);

static SITE void *left(unsigned path, unsigned depth, size_t size)
{
	void *block = walk(path, depth, size);

	USE(block);
	return block;
}

static SITE void *right(unsigned path, unsigned depth, size_t size)
{
	void *block = walk(path, depth, size);

	USE(block);
	return block;
}

static SITE void *walk(unsigned path, unsigned depth, size_t size)
{
	void *block;

	if (depth == 0)
		return site_leaf(size);
	block = (path & 1) != 0 ? right(path >> 1, depth - 1, size)
				: left(path >> 1, depth - 1, size);
	USE(block);
	return block;
}

/* Frees what a round has left, or all but a few blocks of it. */
static void let_go(unsigned round, int but_a_few)
{
	for (unsigned i = 0; i < STACKS; i++) {
		if (but_a_few && i % 50 == 1)
			continue;
		free(kept[round][i]);
		kept[round][i] = NULL;
	}
}

/* Some stacks are in all rounds, most in one only. */
static void play(unsigned round)
{
	for (unsigned i = 0; i < STACKS; i++) {
		unsigned path = i % 4 == 0 ? i : (i * 2654435761u >> 8) + round * 77773;
		void *block = walk(path, 12, 100 + i % 7 * 100);

		if (i % 3 == 0)
			free(block);
		else
			kept[round][i] = block;
	}
	if (round >= 2)
		let_go(round - 2, 1);
}

static void ask_for_profile(const char *directory, unsigned number)
{
	static char path[4096];
	struct stat status;

	snprintf(path, sizeof path, "%s/victim_delta.%d.%04u.heap.pb.gz", directory, (int)getpid(),
		 number);
	kill(getpid(), SIGUSR2);
	for (int step = 0; step < WAIT_STEPS && stat(path, &status) != 0; step++)
		usleep(10000);
	check(stat(path, &status) == 0, path);
}

int main(int argc, char **argv)
{
	unsigned round = 0;
	pid_t child;
	int status;

	check(argc > 1, "arguments");
	if (argc > 2) {
		play(round++);
		child = fork();
		check(child >= 0, "fork");
		if (child > 0) {
			check(waitpid(child, &status, 0) == child && status == 0, "child");
			printf("%d\n", (int)child);
			return 0;
		}
	}
	for (unsigned number = 1; round < ROUNDS; number++) {
		play(round++);
		ask_for_profile(argv[1], number);
	}
	/* So the last profile shows more freed than allocated.  One block stays. */
	kept[0][1] = NULL;
	for (round = 0; round < ROUNDS; round++)
		let_go(round, 0);
	return 0;
}
