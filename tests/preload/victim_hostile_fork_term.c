/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGTERM in the middle of fork(), after all other fork handlers have prepared for it.
 *
 * With -DLIBRARY: the library that raises it.  The program is linked with it; so its constructor
 * runs before the preloaded library's, and its fork handler last.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

void use_library(void);

#ifdef LIBRARY
static void end_here(void)
{
	raise(SIGTERM);
}

__attribute__((constructor)) static void prepare(void)
{
	pthread_atfork(end_here, NULL, NULL);
}

void use_library(void)
{
}
#else
int main(void)
{
	static void *volatile block;

	use_library();
	block = malloc(1000);
	return fork() < 0 || block == NULL;
}
#endif
