/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGTERM in the middle of fork(), when all that prepares for it has been done.  LIBRARY: what
 * sends it; linked with the program, its constructor is called before the preloaded library's,
 * so its part of the preparations comes last.
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
