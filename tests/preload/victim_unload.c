/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens and closes libraries A and B in turn, TURNS times, while four threads allocate in the open
 * one and another thread opens and closes C.  Prints how often each library has allocated, and how
 * often B was at the address where A had been.
 *
 * usage: victim_unload TURNS A B C
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4
enum { A_SIZE = 40, B_SIZE = 80, C_SIZE = 120, SIZES = 128 };

/* By size: written by the libraries' destructors. */
long destructor_allocations[SIZES];

static long calls[SIZES];
static pthread_rwlock_t open_lock = PTHREAD_RWLOCK_INITIALIZER;
static void (*open_call)(void);
static int open_size;
static _Atomic int stop;

/* As of a program that keeps a list of its objects: nothing that the library may ask. */
int dl_iterate_phdr(int (*call)(struct dl_phdr_info *, size_t, void *), void *argument)
{
	(void)call;
	(void)argument;
	return 0;
}

static void *open_library(const char *path, void (**call)(void))
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (handle == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	*(void **)call = dlsym(handle, "library_call");
	return handle;
}

static void *allocating_thread(void *unused)
{
	while (!stop) {
		pthread_rwlock_rdlock(&open_lock);
		if (open_call != NULL) {
			open_call();
			__atomic_fetch_add(&calls[open_size], 1, __ATOMIC_RELAXED);
		}
		pthread_rwlock_unlock(&open_lock);
		usleep(20);
	}
	return unused;
}

static void *closing_thread(void *path)
{
	while (!stop) {
		void (*call)(void);
		void *handle = open_library(path, &call);

		call();
		calls[C_SIZE]++;
		dlclose(handle);
		usleep(100);
	}
	return NULL;
}

static void *turn(const char *path, int size)
{
	void (*call)(void);
	void *handle = open_library(path, &call);

	pthread_rwlock_wrlock(&open_lock);
	open_call = call;
	open_size = size;
	pthread_rwlock_unlock(&open_lock);
	usleep(300);
	pthread_rwlock_wrlock(&open_lock);
	open_call = NULL;
	pthread_rwlock_unlock(&open_lock);
	dlclose(handle);
	return (void *)call;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS + 1];
	long same = 0;

	if (argc != 5)
		return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, allocating_thread, NULL);
	pthread_create(&threads[THREADS], NULL, closing_thread, argv[4]);
	for (long i = 0; i < atol(argv[1]); i++) {
		void *a = turn(argv[2], A_SIZE), *b = turn(argv[3], B_SIZE);

		same += a == b;
	}
	stop = 1;
	for (int i = 0; i <= THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("{\"a_allocates\": %ld, \"b_allocates\": %ld, \"c_allocates\": %ld, \"a_ends\": "
	       "%ld, "
	       "\"b_ends\": %ld, \"c_ends\": %ld, \"same_address\": %ld}\n",
	       calls[A_SIZE], calls[B_SIZE], calls[C_SIZE], destructor_allocations[A_SIZE],
	       destructor_allocations[B_SIZE], destructor_allocations[C_SIZE], same);
	return 0;
}
