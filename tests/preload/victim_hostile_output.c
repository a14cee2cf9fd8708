/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program whose profiles are written while it is stopped and continued, or while their directory
 * is full, not writable or missing, or that writes to a descriptor which it has closed.
 *
 * usage: victim_hostile_output MODE [ARGUMENT], see modes[]
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "victim_hostile.h"

static const char *argument;

/* --- stopped and continued ------------------------------------------------------------------ */

/*
 * Starts a process that stops and continues this one until it ends; if HEAPSAMPLE_SIGNAL is set, it
 * also requests profiles by SIGUSR2.
 */
static void start_stopping(useconds_t stopped, useconds_t running)
{
	bool asks = getenv("HEAPSAMPLE_SIGNAL") != NULL;
	pid_t parent = getpid(), child = fork();

	check(child >= 0, "fork");
	if (child > 0)
		return;
	for (unsigned i = 0; getppid() == parent; i++) {
		kill(parent, SIGSTOP);
		usleep(stopped * (i % 3));
		if (asks && i % 10 == 0)
			kill(parent, SIGUSR2);
		kill(parent, SIGCONT);
		usleep(running);
	}
	_exit(0);
}

static void mode_stopped(void)
{
	start_churning(2);
	start_stopping(1000, 500);
	for (int i = 0; i < 40; i++) {
		churn(500);
		if (i % 4 == 0)
			ask_for_profile();
	}
	say("main");
	exit(5);
}

/* Stopped nearly all the time. */
static void mode_stopped_at_exit(void)
{
	start_churning(1);
	churn(2000);
	say("main");
	start_stopping(10000, 50);
	exit(5);
}

/* Stopped once, for longer than the last samples may take (HS_DRAIN_LIMIT_NS). */
static void mode_stopped_for_long(void)
{
	pid_t parent = getpid(), child;

	churn(20000);
	say("main");
	child = fork();
	check(child >= 0, "fork");
	if (child == 0) {
		usleep(2000);
		kill(parent, SIGSTOP);
		usleep(2500000);
		kill(parent, SIGCONT);
		_exit(0);
	}
	exit(5);
}

/* --- closed descriptors ---------------------------------------------------------------------- */

static int closed;
static _Atomic long taken;

/* Finds moments in which the descriptor is open. */
static void *write_for_ever(void *unused)
{
	for (;;) {
		if (write(closed, "of the program\n", 15) >= 0 || errno != EBADF)
			taken++;
	}
	return unused;
}

/* argument: the descriptor.  What the profiler opens once is open before. */
static void mode_closed(void)
{
	int out = dup(STDOUT_FILENO);
	pthread_t thread;

	churn(2000);
	ask_for_profile();
	closed = atoi(argument);
	check(out >= 0 && close(closed) == 0, "close");
	check(pthread_create(&thread, NULL, write_for_ever, NULL) == 0, "thread");
	for (int i = 0; i < 20; i++) {
		churn(50);
		ask_for_profile();
	}
	dprintf(out, "%ld writes did not fail\n", taken);
	exit(5);
}

/* --- the directory of the profiles ----------------------------------------------------------- */

static void fill(const char *path)
{
	static const char zeros[1024];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	check(fd >= 0, "file");
	while (write(fd, zeros, sizeof zeros) > 0)
		;
	check(errno == ENOSPC, "no end");
	close(fd);
}

/* The directory is a file system, which is full, then has room again, then is read-only. */
static void mode_full(void)
{
	char path[300];

	snprintf(path, sizeof path, "%s/fill", argument);
	say("before");
	fill(path);
	ask_for_profile();
	say("full");
	check(unlink(path) == 0, "unlink");
	ask_for_profile();
	say("with room");
	check(mount("none", argument, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0, "read-only");
	ask_for_profile();
	say("read-only");
	exit(5);
}

static void *ask_for_ever(void *unused)
{
	for (;;)
		ask_for_profile();
	return unused;
}

/* The directory is moved away and back, and made read-only, while profiles are written. */
static void mode_coming_and_going(void)
{
	char aside[300];
	pthread_t thread;

	snprintf(aside, sizeof aside, "%s.aside", argument);
	churn(2000);
	check(pthread_create(&thread, NULL, ask_for_ever, NULL) == 0, "thread");
	for (int i = 0; i < 100; i++) {
		check(rename(argument, aside) == 0, "away");
		churn(50);
		check(rename(aside, argument) == 0, "back");
		churn(50);
		check(chmod(argument, 0500) == 0, "chmod");
		churn(50);
		check(chmod(argument, 0700) == 0, "chmod");
	}
	say("main");
	exit(5);
}

static void mode_ask(void)
{
	churn(100);
	ask_for_profile();
	say("main");
	exit(5);
}

static const struct mode modes[] = {
	{"stopped", mode_stopped},
	{"stopped-at-exit", mode_stopped_at_exit},
	{"stopped-for-long", mode_stopped_for_long},
	{"closed", mode_closed},
	{"full", mode_full},
	{"coming-and-going", mode_coming_and_going},
	{"ask", mode_ask},
};

int main(int argc, char **argv)
{
	argument = argc > 2 ? argv[2] : "";
	return run_mode(modes, sizeof modes / sizeof modes[0], argv[1]);
}
