/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads several libraries from one file: writes each LIBRARY into FILE, with a modification time a
 * second after the last one's, opens it, calls it and closes it.
 *
 * usage: victim_rewritten FILE LIBRARY...
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* By size: written by the libraries' destructors. */
long destructor_allocations[128];

static void check(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(3);
	}
}

static void copy(const char *path, const char *library, long time)
{
	int from = open(library, O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	struct timespec times[2] = {{.tv_sec = time}, {.tv_sec = time}};
	char buffer[4096];
	ssize_t bytes;

	check(from >= 0, library);
	check(to >= 0, path);
	while ((bytes = read(from, buffer, sizeof buffer)) > 0)
		check(write(to, buffer, (size_t)bytes) == bytes, path);
	check(futimens(to, times) == 0, path);
	close(from);
	close(to);
}

int main(int count, char **words)
{
	for (int i = 2; i < count; i++) {
		void (*call)(void), *handle;

		copy(words[1], words[i], 1000000000 + i);
		handle = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
		check(handle != NULL, words[1]);
		*(void **)&call = dlsym(handle, "library_call");
		call();
		dlclose(handle);
	}
	return 0;
}
