/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses the dynamic loader and the address space as unusual programs do.  Prints the results.
 *
 * usage: victim_loader churn LIBRARY...     four threads open, use and close them, two allocate
 *        victim_loader deepbind LIBRARY     opens it so that it binds libc's malloc itself
 *        victim_loader namespaces LIBRARY   opens it in namespaces, each with its own libc
 *        victim_loader nested               pthread_create, dlopen, malloc, free by RTLD_NEXT
 *        victim_loader mappings NUMBER      NUMBER pages of alternating protection
 *        victim_loader files DIRECTORY N    maps N (at most 4096) small executable files
 *        victim_loader inherit LIBRARY...   in a forked child two threads open and use them
 *        victim_loader crash                writes to a null pointer
 *        victim_loader clocks DIRECTORY     calls functions that preloaded libraries wrap
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPENERS 4
#define ALLOCATORS 2
#define ROUNDS 3
#define HEIRS 2
#define HEIR_STACK_BYTES (4 << 20) /* as of the profiler's threads */
#define NAMESPACES 3 /* glibc has static TLS for few more, and does not free all of it */

struct library {
	void *handle;
	long (*use)(long seed);
	void *(*gives)(size_t size);
	void *(*resizes)(void *block, size_t size);
	void (*takes)(void *block);
};

static char **paths;
static int path_count;
static _Atomic int stop;

static void give_up(const char *what)
{
	printf("%s: %s\n", what, dlerror());
	exit(1);
}

static struct library look_up(void *handle, const char *path)
{
	struct library library = {.handle = handle};

	if (handle == NULL)
		give_up(path);
	*(void **)&library.use = dlsym(handle, "library_use");
	*(void **)&library.gives = dlsym(handle, "library_gives");
	*(void **)&library.resizes = dlsym(handle, "library_resizes");
	*(void **)&library.takes = dlsym(handle, "library_takes");
	if (library.use == NULL || library.takes == NULL)
		give_up(path);
	return library;
}

/* A library's block outlives it. */
static void *opening_thread(void *first)
{
	long sum = 0;

	for (int round = 0; round < ROUNDS; round++) {
		for (long i = (long)first; i < path_count; i += OPENERS) {
			struct library library =
				look_up(dlopen(paths[i], i % 2 ? RTLD_NOW : RTLD_LAZY), paths[i]);
			void *kept = library.gives(100);

			sum += library.use(i);
			dlclose(library.handle);
			sum += *(char *)kept;
			free(kept);
		}
	}
	return (void *)sum;
}

static void *allocating_thread(void *unused)
{
	while (!stop) {
		void *block = malloc(300);

		__asm__ volatile("" : "+r"(block));
		block = realloc(block, 900);
		free(block);
	}
	return unused;
}

static int churn(void)
{
	pthread_t threads[OPENERS + ALLOCATORS];
	void *kept[OPENERS];
	long sum = 0;

	for (long i = 0; i < OPENERS + ALLOCATORS; i++)
		pthread_create(&threads[i], NULL, i < OPENERS ? opening_thread : allocating_thread,
			       (void *)i);
	for (int i = 0; i < OPENERS; i++) {
		pthread_join(threads[i], &kept[i]);
		sum += (long)kept[i];
	}
	stop = 1;
	for (int i = OPENERS; i < OPENERS + ALLOCATORS; i++)
		pthread_join(threads[i], NULL);
	printf("%d libraries, %d times: %ld\n", path_count, ROUNDS, sum);
	return 0;
}

/* Each side resizes and frees the other's blocks. */
static int deepbind(void)
{
	struct library library = look_up(dlopen(paths[0], RTLD_NOW | RTLD_DEEPBIND), "deepbind");
	long sum = 0;

	for (int i = 1; i < 5000; i++) {
		size_t size = (size_t)(i % 700 + 1);
		unsigned char *theirs = library.gives(size);
		unsigned char *ours = malloc(size);

		memset(ours, 0x21, size);
		theirs = realloc(theirs, size * 2);
		ours = library.resizes(ours, size * 3);
		sum += theirs[size - 1] + ours[size - 1];
		library.takes(theirs);
		free(ours);
		ours = malloc(size);
		sum += library.use(i) + (ours != NULL);
		library.takes(ours);
	}
	dlclose(library.handle);
	printf("deepbind: %ld\n", sum);
	return 0;
}

static void *using_thread(void *argument)
{
	struct library *library = argument;
	long sum = 0;

	for (int i = 0; i < 200; i++) {
		void *block = malloc(70);
		void *theirs = library->gives(50);

		sum += library->use(i) + *(char *)theirs;
		library->takes(theirs);
		free(block);
	}
	return (void *)sum;
}

static int namespaces(void)
{
	long sum = 0;
	int round;

	for (round = 0; round < 3; round++) {
		struct library libraries[NAMESPACES];
		pthread_t threads[NAMESPACES];

		for (int i = 0; i < NAMESPACES; i++) {
			libraries[i] = look_up(dlmopen(LM_ID_NEWLM, paths[0], RTLD_NOW), paths[0]);
			pthread_create(&threads[i], NULL, using_thread, &libraries[i]);
		}
		for (int i = 0; i < NAMESPACES; i++) {
			void *result;

			pthread_join(threads[i], &result);
			sum += (long)result;
			dlclose(libraries[i].handle);
		}
	}
	printf("%d namespaces, %d times: %ld\n", NAMESPACES, round, sum);
	return 0;
}

static void *nothing(void *argument)
{
	return argument;
}

/* A program that looks up functions in the libraries after it. */
static int nested(void)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	void *(*open_next)(const char *, int);
	void *(*next_malloc)(size_t);
	void (*next_free)(void *);
	pthread_t thread;

	*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
	*(void **)&open_next = dlsym(RTLD_NEXT, "dlopen");
	*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&next_free = dlsym(RTLD_NEXT, "free");
	if (create == NULL || open_next == NULL || next_malloc == NULL || next_free == NULL)
		give_up("dlsym");
	for (int i = 0; i < 500; i++) {
		next_free(next_malloc(100));
		next_free(malloc(100));
		free(next_malloc(100));
	}
	create(&thread, NULL, nothing, NULL);
	pthread_join(thread, NULL);
	printf("nested: %d %d\n", open_next(NULL, RTLD_NOW) != NULL,
	       open_next("libnowhere.so", RTLD_NOW) == NULL && dlerror() != NULL);
	return 0;
}

static long allocate_much(void)
{
	long sum = 0;

	for (int i = 0; i < 2000; i++) {
		char *block = calloc(1, (size_t)(i % 100 + 1));

		sum += block[0] + i;
		free(block);
	}
	return sum;
}

static int mappings(int number)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *start = mmap(NULL, (size_t)number * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long sum = 0;

	if (start == MAP_FAILED)
		return 1;
	for (int i = 0; i < number; i++) {
		if (i % 2 == 0 && mprotect(start + (size_t)i * page, page,
					   PROT_READ | (i % 4 ? PROT_EXEC : 0)) != 0)
			return 2;
		if (i % 2500 == 0)
			sum += allocate_much();
	}
	printf("%d mappings: %ld\n", number, sum + allocate_much());
	return 0;
}

static int files(const char *directory, int number)
{
	char path[4096];
	long sum = 0;

	for (int i = 0; i < number; i++) {
		int fd;
		char *mapped;

		snprintf(path, sizeof path, "%s/mapped.%d", directory, i);
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || ftruncate(fd, 4096) != 0)
			return 1;
		mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		close(fd);
		unlink(path);
		if (mapped == MAP_FAILED)
			return 2;
		sum += mapped[i];
		if (i % 1000 == 0)
			sum += allocate_much();
	}
	printf("%d files: %ld\n", number, sum + allocate_much());
	return 0;
}

static void *opening_heir(void *unused)
{
	long sum = 0;

	(void)unused;
	for (int i = 0; i < path_count; i++)
		sum += look_up(dlopen(paths[i], RTLD_NOW), paths[i]).use(i);
	return (void *)sum;
}

/*
 * glibc gives the child's threads the stacks of the parent's, also of the profiler's, each with its
 * table of thread-local storage.  That is resized for the libraries.
 */
static int heirs(void)
{
	pthread_t threads[HEIRS];
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, HEIR_STACK_BYTES);
	for (int i = 0; i < HEIRS; i++)
		pthread_create(&threads[i], &attributes, opening_heir, NULL);
	for (int i = 0; i < HEIRS; i++) {
		void *sum;

		pthread_join(threads[i], &sum);
		printf("%d libraries: %ld\n", path_count, (long)sum);
	}
	return 0;
}

static int inherit(void)
{
	int status = 0;
	pid_t child;

	for (int i = 0; i < 100; i++) {
		void *block = malloc(1 << 20);

		__asm__ volatile("" : "+r"(block));
		free(block);
	}
	child = fork();
	if (child == 0)
		return heirs();
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int crash(void)
{
	volatile int *nowhere = NULL;

	printf("before: %ld\n", allocate_much());
	fflush(stdout);
	*nowhere = 1;
	return 0;
}

static int clocks(const char *directory)
{
	char path[4096];
	struct timespec now;
	struct timeval of_day;
	int fd, synced, closed;

	snprintf(path, sizeof path, "%s/clocks", directory);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	clock_gettime(CLOCK_REALTIME, &now);
	gettimeofday(&of_day, NULL);
	synced = fsync(fd);
	closed = close(fd);
	unlink(path);
	printf("clocks: %d %d %d %d %ld\n", fd >= 0, synced, closed,
	       labs(now.tv_sec - of_day.tv_sec) < 100, allocate_much());
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	paths = argv + 2;
	path_count = argc - 2;
	if (strcmp(mode, "churn") == 0)
		return churn();
	if (strcmp(mode, "deepbind") == 0)
		return deepbind();
	if (strcmp(mode, "namespaces") == 0)
		return namespaces();
	if (strcmp(mode, "nested") == 0)
		return nested();
	if (strcmp(mode, "mappings") == 0 && argc == 3)
		return mappings(atoi(argv[2]));
	if (strcmp(mode, "files") == 0 && argc == 4)
		return files(argv[2], atoi(argv[3]));
	if (strcmp(mode, "inherit") == 0)
		return inherit();
	if (strcmp(mode, "crash") == 0)
		return crash();
	if (strcmp(mode, "clocks") == 0 && argc == 3)
		return clocks(argv[2]);
	return 99;
}
