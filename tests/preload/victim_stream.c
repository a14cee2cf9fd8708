/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for tests of HEAPSAMPLE_STREAM: what can happen to the file.
 *
 * usage: victim_stream idle STREAM           allocates; on SIGUSR1 frees block after block, each
 *                                            when the one before is in the file, and kills itself
 *        victim_stream fork STREAM           frees its parent's blocks in a forked child
 *        victim_stream replace STREAM OWN    makes the stream's descriptor its file OWN
 *        victim_stream churn                 allocates and frees until it is killed
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "victim_truth.h"

enum { BLOCKS = 10 };
static void *blocks[BLOCKS];

static SITE void site_blocks(size_t size)
{
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(size);
		USE(blocks[i]);
	}
}

static void free_half(void)
{
	for (int i = 0; i < BLOCKS / 2; i++)
		free(blocks[i]);
}

static void wait_for_file(const char *path)
{
	struct stat file;

	for (int tries = 0; stat(path, &file) != 0 || file.st_size == 0; tries++) {
		check(tries < 400, "the stream is not there");
		usleep(50000);
	}
}

static off_t file_bytes(const char *path)
{
	struct stat file;

	check(stat(path, &file) == 0, path);
	return file.st_size;
}

/* Waits until the file has not grown for 5 s; samples are written within one second. */
static void wait_for_the_rest(const char *path)
{
	off_t bytes = 0, before;

	for (int same = 0; same < 50; same++) {
		usleep(100000);
		before = bytes;
		bytes = file_bytes(path);
		if (bytes != before)
			same = 0;
	}
}

/* The descriptor of the file, which the library has opened. */
static int find_descriptor(const char *path)
{
	struct stat want, file;

	check(stat(path, &want) == 0, path);
	for (int fd = 3; fd < 4096; fd++) {
		if (fstat(fd, &file) == 0 && file.st_ino == want.st_ino &&
		    file.st_dev == want.st_dev)
			return fd;
	}
	check(0, "no descriptor of the stream");
	return -1;
}

/* Calls nothing that allocates after the blocks: a sample would wake the profiler. */
static void mode_idle(char **arguments)
{
	sigset_t signals;
	int number;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	site_blocks(1001);
	sigwait(&signals, &number);
	for (int i = 0; i < BLOCKS; i++) {
		off_t bytes = file_bytes(arguments[0]);

		free(blocks[i]);
		for (int tries = 0; file_bytes(arguments[0]) == bytes; tries++) {
			check(tries < 400, "a free is not written");
			usleep(50000);
		}
	}
	kill(getpid(), SIGKILL);
}

static void mode_fork(char **arguments)
{
	pid_t child;

	site_blocks(1001);
	wait_for_file(arguments[0]);
	/* Not written yet when the process forks. */
	site_blocks(1002);
	child = fork();
	if (child == 0) {
		free_half();
		site_blocks(503);
		exit(0);
	}
	check(child > 0 && waitpid(child, NULL, 0) == child, "child");
	site_blocks(1004);
}

static void mode_replace(char **arguments)
{
	int own = open(arguments[1], O_WRONLY | O_CREAT, 0600);

	site_blocks(1001);
	wait_for_file(arguments[0]);
	wait_for_the_rest(arguments[0]);
	check(own >= 0 && dup2(own, find_descriptor(arguments[0])) >= 0, "dup2");
	site_blocks(1002);
}

static void mode_churn(char **unused)
{
	uint64_t random = 1;

	(void)unused;
	for (;;) {
		void *block = malloc(next_size(&random, 5000));
		USE(block);
		free(block);
		usleep(1); /* limits the size of the file */
	}
}

static const struct {
	const char *name;
	void (*run)(char **arguments);
} modes[] = {
	{"idle", mode_idle}, {"fork", mode_fork}, {"replace", mode_replace}, {"churn", mode_churn},
};

int main(int argc, char **argv)
{
	check(argc >= 2, "arguments");
	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run(argv + 2);
			return 5;
		}
	}
	return 9;
}
