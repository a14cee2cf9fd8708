/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls library A 200 times, closes it by a dlclose() that nobody sees, libc's own, opens B, which
 * gets A's addresses, and calls that 200 times.  Waits now and then for the worker, so that most
 * stacks of A are walked in place, and so would be those of B.
 *
 * usage: victim_uncounted A B
 *
 * Status 77: B is elsewhere.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 4, CALLS = 50, WAIT_US = 100000 };

/* By size: written by the libraries' destructors. */
long destructor_allocations[128];

static void check(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "%s: %s\n", what, dlerror());
		exit(3);
	}
}

static void *open_and_call(const char *path, void (**call)(void))
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	check(handle != NULL, path);
	*(void **)call = dlsym(handle, "library_call");
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < CALLS; i++)
			(*call)();
		usleep(WAIT_US);
	}
	return handle;
}

int main(int count, char **words)
{
	void *handle = NULL, *libc = dlopen("libc.so.6", RTLD_NOW);
	int (*unseen_dlclose)(void *);
	void (*calls[2])(void);

	check(count == 3 && libc != NULL, "libc.so.6");
	*(void **)&unseen_dlclose = dlsym(libc, "dlclose");
	check(unseen_dlclose != NULL, "dlclose");
	/* From the same place, so that all pcs are known the second time. */
	for (int i = 0; i < 2; i++) {
		if (handle != NULL)
			check(unseen_dlclose(handle) == 0, words[i]);
		handle = open_and_call(words[1 + i], &calls[i]);
	}
	return calls[0] == calls[1] ? 0 : 77;
}
