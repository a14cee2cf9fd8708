/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a program and writes its status, processor time, peak resident size and times to REPORT.
 *
 * usage: launch REPORT NAME=VALUE... PROGRAM ARGUMENT...
 *
 * The variables are set for the program only.  Its standard output is passed on.  This is a small
 * program because the peak resident size of a process starts with that of its parent.  REPORT is
 * a JSON object; times are in nanoseconds, and points in time are those of CLOCK_MONOTONIC.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long ns_of(struct timeval time)
{
	return time.tv_sec * 1000000000LL + time.tv_usec * 1000LL;
}

static void run(char **arguments, int output[2])
{
	while (*arguments != NULL && strchr(*arguments, '=') != NULL)
		putenv(*arguments++);
	if (dup2(output[1], 1) < 0)
		_exit(126);
	close(output[0]);
	close(output[1]);
	execvp(arguments[0], arguments);
	perror(arguments[0]);
	_exit(127);
}

/* Copies the output until all writers have closed it.  Returns the time of the last piece. */
static long long pass_on(int output, long long start)
{
	char buffer[4096];
	long long last = start;
	ssize_t length;

	while ((length = read(output, buffer, sizeof buffer)) > 0) {
		last = now_ns();
		if (write(1, buffer, (size_t)length) != length)
			break;
	}
	return last;
}

int main(int argc, char **argv)
{
	long long start = now_ns(), last_output, end;
	struct rusage usage;
	int output[2], status;
	FILE *report;
	pid_t child;

	if (argc < 3 || pipe(output) != 0)
		return 2;
	child = fork();
	if (child < 0)
		return 2;
	if (child == 0)
		run(argv + 2, output);
	close(output[1]);
	last_output = pass_on(output[0], start);
	if (wait4(child, &status, 0, &usage) != child)
		return 2;
	end = now_ns();
	report = fopen(argv[1], "w");
	if (report == NULL)
		return 2;
	fprintf(report,
		"{\"status\": %d, \"cpu_ns\": %lld, \"max_rss_kib\": %ld, \"start_ns\": %lld, "
		"\"last_output_ns\": %lld, \"end_ns\": %lld}\n",
		status, ns_of(usage.ru_utime) + ns_of(usage.ru_stime), usage.ru_maxrss, start,
		last_output, end);
	return fclose(report) != 0;
}
