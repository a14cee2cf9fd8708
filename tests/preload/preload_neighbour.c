/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that is preloaded beside the one under test.  It does what others do:
 *
 * - as heap checkers: wraps malloc by RTLD_NEXT, and serves memory of its own until that is found
 * - as libfaketime: sets the clock back by a year
 * - as libeatmydata: leaves fsync() out
 * - as libSegFault: prints a backtrace at SIGSEGV, which allocates
 *
 * With WITH_MAIN: a program that does all this itself.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define YEAR (365L * 24 * 60 * 60)

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);
static int (*next_clock_gettime)(clockid_t, struct timespec *);
static int (*next_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static void *(*next_dlopen)(const char *, int);
static int (*next_dlclose)(void *);
static _Alignas(16) char early[1 << 16];
static size_t early_used;
static int looking;
static _Atomic long calls;

static void look_up(void)
{
	looking = 1;
	*(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next_free = dlsym(RTLD_NEXT, "free");
	*(void **)&next_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	*(void **)&next_create = dlsym(RTLD_NEXT, "pthread_create");
	*(void **)&next_dlopen = dlsym(RTLD_NEXT, "dlopen");
	*(void **)&next_dlclose = dlsym(RTLD_NEXT, "dlclose");
	*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
	looking = 0;
}

static void *early_block(size_t size)
{
	size_t at = early_used;

	early_used = at + (size + 15) / 16 * 16;
	return early_used <= sizeof early ? early + at : NULL;
}

static int is_early(const void *block)
{
	return (const char *)block >= early && (const char *)block < early + sizeof early;
}

void *malloc(size_t size)
{
	calls++;
	if (looking)
		return early_block(size);
	if (next_malloc == NULL)
		look_up();
	return next_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	calls++;
	if (looking)
		return early_block(count * size);
	if (next_malloc == NULL)
		look_up();
	return next_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	void *block;
	size_t most;

	calls++;
	if (next_malloc == NULL)
		look_up();
	if (!is_early(old))
		return next_realloc(old, size);
	block = next_malloc(size);
	most = (size_t)(early + sizeof early - (char *)old); /* its size is not known */
	return block == NULL ? NULL : memcpy(block, old, size < most ? size : most);
}

void free(void *block)
{
	calls++;
	if (block == NULL || is_early(block))
		return;
	if (next_malloc == NULL)
		look_up();
	next_free(block);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int status;

	if (next_malloc == NULL)
		look_up();
	status = next_clock_gettime(clock, now);
	if (status == 0 && clock == CLOCK_REALTIME)
		now->tv_sec -= YEAR;
	return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec exactly;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &exactly);
	*now = (struct timeval){.tv_sec = exactly.tv_sec};
	return 0;
}

int fsync(int fd)
{
	(void)fd;
	return 0;
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
		   void *(*start)(void *), void *restrict argument)
{
	if (next_malloc == NULL)
		look_up();
	free(malloc(500));
	return next_create(thread, attributes, start, argument);
}

void *dlopen(const char *file, int mode)
{
	if (next_malloc == NULL)
		look_up();
	return next_dlopen(file, mode);
}

int dlclose(void *handle)
{
	if (next_malloc == NULL)
		look_up();
	return next_dlclose(handle);
}

static void on_crash(int number)
{
	void *frames[64];

	backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
	signal(number, SIG_DFL);
	raise(number);
}

__attribute__((constructor)) static void begin(void)
{
	free(malloc(1000));
	signal(SIGSEGV, on_crash);
}

#ifdef WITH_MAIN
int main(void)
{
	char *text = strdup("own wrapper\n");
	ssize_t written = write(STDOUT_FILENO, text, strlen(text));

	free(text);
	return written == 12 ? 3 : 1;
}
#endif
