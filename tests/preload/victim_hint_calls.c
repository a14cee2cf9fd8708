/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the version and the functions for map hints are to a program in C or C++ that links
 * nothing of the library's.  victim_hint_calls absent|present|refused
 */
#include <heapsample/heapsample.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

static void expect(const char *what, int got, int want)
{
	if (got == want)
		return;
	fprintf(stderr, "%s: %d, not %d\n", what, got, want);
	failures++;
}

static void call_all(int usual, int invalid, int long_name)
{
	static char name[5000];
	char *somewhere = (char *)&failures;

	errno = 4711;
	expect("version", heapsample_version() != NULL, getenv("LD_PRELOAD") != NULL);
	expect("hint", heapsample_map_hint("x.so", somewhere, 64, 0), usual);
	expect("unhint", heapsample_unmap_hint(somewhere, 64), usual);
	expect("no file", heapsample_map_hint(NULL, somewhere, 64, 0), invalid);
	expect("empty name", heapsample_map_hint("", somewhere, 64, 0), invalid);
	expect("length 0", heapsample_map_hint("x.so", somewhere, 0, 0), invalid);
	expect("large", heapsample_map_hint("x.so", somewhere, ((size_t)4 << 30) + 1, 0), invalid);
	expect("wraps", heapsample_map_hint("x.so", (char *)-16, 16, 0), invalid);
	expect("offset", heapsample_map_hint("x.so", somewhere, 64, ~(uint64_t)0 / 2), invalid);
	expect("unhint 0", heapsample_unmap_hint(somewhere, 0), invalid);
	memset(name, 'x', sizeof name - 1);
	expect("long name", heapsample_map_hint(name, somewhere, 64, 0), long_name);
	name[4095] = '\0';
	expect("longest name", heapsample_map_hint(name, somewhere, 64, 0), usual);
	expect("errno", errno, 4711);
}

/* Hints come faster than they are taken; at first nobody takes them. */
static void call_until_refused(void)
{
	char *somewhere = (char *)&failures;
	int calls = 0, result;

	do {
		result = heapsample_map_hint("x.so", somewhere, 64, 0);
	} while (result == 0 && ++calls < 1000000);
	expect("full", result, -EAGAIN);
	/* The next sample starts the threads that take them. */
	for (int tries = 0; result != 0 && tries < 20000; tries++) {
		void *block = malloc(1 << 20);

		__asm__ volatile("" : "+r"(block) : : "memory");
		free(block);
		usleep(10000);
		result = heapsample_map_hint("x.so", somewhere, 64, 0);
	}
	expect("later", result, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "absent") == 0)
		call_all(-ENOSYS, -ENOSYS, -ENOSYS);
	else if (strcmp(mode, "present") == 0)
		call_all(0, -EINVAL, -ENAMETOOLONG);
	else if (strcmp(mode, "refused") == 0)
		call_until_refused();
	else
		return 99;
	return failures != 0;
}
