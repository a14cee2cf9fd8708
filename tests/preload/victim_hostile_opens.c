/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program in C that opens a library, calls its run_in_library(ARGUMENT) and returns the result.
 *
 * usage: victim_hostile_opens LIBRARY ARGUMENT
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int (*run)(const char *);
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	*(void **)&run = dlsym(library, "run_in_library");
	return run(argv[2]);
}
