/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls each function of the malloc family in the ways in which it must fail by its documentation,
 * and prints the results; also what a call that succeeds must not change.
 *
 * usage: victim_hostile_calls MODE, see the table at the end
 */
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No error has this number. */
#define UNTOUCHED 77

/* Sizes that the compiler must not see through; no allocator has any of them. */
static volatile const size_t too_large[] = {
	(size_t)1 << 47, PTRDIFF_MAX - 4096, PTRDIFF_MAX,  (size_t)PTRDIFF_MAX + 1,
	SIZE_MAX - 4096, SIZE_MAX - 15,      SIZE_MAX - 1, SIZE_MAX,
};
#define TOO_LARGE (sizeof too_large / sizeof too_large[0])

static volatile const size_t zero = 0, largest = SIZE_MAX;

static const char *errno_name(int number)
{
	switch (number) {
	case 0:
		return "0";
	case UNTOUCHED:
		return "untouched";
	case ENOMEM:
		return "ENOMEM";
	case EINVAL:
		return "EINVAL";
	case EAGAIN:
		return "EAGAIN";
	case EPERM:
		return "EPERM";
	default:
		return strerror(number);
	}
}

/* Prints the result of a call: SHOW(p = malloc(n)), where p is a pointer. */
#define SHOW(call)                                                                                 \
	do {                                                                                       \
		errno = UNTOUCHED;                                                                 \
		call;                                                                              \
		int after_ = errno;                                                                \
		printf("%s: %s, errno %s\n", #call, block == NULL ? "NULL" : "a block",            \
		       errno_name(after_));                                                        \
	} while (0)

/* posix_memalign() and what it does to the pointer: SHOW_ALIGNED(alignment, size) */
#define SHOW_ALIGNED(alignment, size)                                                              \
	do {                                                                                       \
		void *out_ = &out_;                                                                \
		errno = UNTOUCHED;                                                                 \
		int error_ = posix_memalign(&out_, alignment, size);                               \
		int after_ = errno;                                                                \
		printf("posix_memalign(%s, %s): %s, errno %s, %s\n", #alignment, #size,            \
		       errno_name(error_), errno_name(after_),                                     \
		       out_ == (void *)&out_ ? "no pointer" : "a pointer");                        \
		if (error_ == 0)                                                                   \
			free(out_);                                                                \
	} while (0)

/* What is left of the block must be as it was. */
static void check_kept(const unsigned char *kept)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < 100; i++)
		sum += kept[i] == i;
	printf("the block of a realloc that failed: %u of 100 bytes, usable %d\n", sum,
	       malloc_usable_size((void *)(uintptr_t)kept) >= 100);
}

/* kept: a block that is there afterwards, which no call may free. */
static void fail_at(size_t n, unsigned char *volatile kept)
{
	void *block;

	printf("size %zx\n", n);
	SHOW(block = malloc(n));
	SHOW(block = calloc(n, 1));
	SHOW(block = calloc(1, n));
	SHOW(block = calloc(n, 2));
	SHOW(block = calloc(n / 4 + 1, 5));
	SHOW(block = calloc(n, n));
	SHOW(block = realloc(NULL, n));
	SHOW(block = realloc(kept, n));
	SHOW(block = reallocarray(NULL, n, 1));
	SHOW(block = reallocarray(kept, n, 1));
	SHOW(block = reallocarray(kept, n, 2));
	SHOW(block = reallocarray(kept, 3, n / 2));
	SHOW(block = reallocarray(kept, n, n));
	SHOW(block = aligned_alloc(64, n));
	SHOW(block = memalign(4096, n));
	SHOW(block = valloc(n));
	SHOW(block = pvalloc(n));
	SHOW_ALIGNED(16, n);
	SHOW_ALIGNED(4096, n);
	SHOW_ALIGNED((size_t)1 << 40, n);
}

static void bad_alignments(void)
{
	static volatile const size_t bad[] = {
		0, 1, 2, 4, 3, 12, 24, 100, 4097, SIZE_MAX, (size_t)1 << 63};
	void *block;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		size_t alignment = bad[i];

		printf("alignment %zx\n", alignment);
		SHOW_ALIGNED(alignment, 100);
		SHOW_ALIGNED(alignment, zero);
		SHOW_ALIGNED(alignment, largest);
		SHOW(block = memalign(alignment, 100));
		free(block);
		SHOW(block = aligned_alloc(alignment, 100));
		free(block);
	}
}

static int fail(void)
{
	unsigned char *kept = malloc(100);

	for (unsigned i = 0; i < 100; i++)
		kept[i] = (unsigned char)i;
	for (size_t i = 0; i < TOO_LARGE; i++)
		fail_at(too_large[i], kept);
	bad_alignments();
	check_kept(kept);
	errno = UNTOUCHED;
	free(kept);
	printf("free: errno %s\n", errno_name(errno));
	return 0;
}

/* Size 0: blocks of their own, to be freed like others. */
static int nothing(void)
{
	void *blocks[16], *block;
	unsigned count = 0, same = 0;

	for (unsigned round = 0; round < 2; round++) {
		SHOW(blocks[count++] = block = malloc(zero));
		SHOW(blocks[count++] = block = calloc(zero, 8));
		SHOW(blocks[count++] = block = calloc(largest, zero));
		SHOW(blocks[count++] = block = realloc(NULL, zero));
		SHOW(blocks[count++] = block = reallocarray(NULL, zero, largest));
		SHOW(blocks[count++] = block = aligned_alloc(64, zero));
		SHOW(blocks[count++] = block = memalign(64, zero));
		SHOW(blocks[count++] = block = valloc(zero));
	}
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < i; j++)
			same += blocks[i] == blocks[j];
	printf("%u of %u blocks of size 0 are at the same place\n", same, count);
	SHOW(block = realloc(blocks[0], zero));
	SHOW(block = reallocarray(blocks[1], zero, 9));
	SHOW(block = realloc(blocks[2], 100));
	free(block);
	for (unsigned i = 3; i < count; i++)
		free(blocks[i]);
	SHOW(block = pvalloc(zero));
	free(block);
	errno = UNTOUCHED;
	free(NULL);
	printf("free(NULL): errno %s\n", errno_name(errno));
	printf("malloc_usable_size(NULL): %zu\n", malloc_usable_size(NULL));
	return 0;
}

/* Nobody has declared it since glibc 2.26. */
static void free_in_one_of_two_ways(void *block, unsigned way)
{
	static void (*old_free)(void *);

	if (old_free == NULL)
		*(void **)&old_free = dlvsym(RTLD_DEFAULT, "cfree", "GLIBC_2.2.5");
	if (way % 2 == 0 || old_free == NULL)
		free(block);
	else
		old_free(block);
}

static void *allocate(unsigned way, size_t size)
{
	void *block = NULL;

	switch (way % 9) {
	case 0:
		return malloc(size);
	case 1:
		return calloc(1, size);
	case 2:
		return realloc(NULL, size);
	case 3:
		return reallocarray(malloc(16), 1, size);
	case 4:
		return posix_memalign(&block, 64, size) == 0 ? block : NULL;
	case 5:
		return aligned_alloc(64, (size + 63) & ~(size_t)63);
	case 6:
		return memalign(256, size);
	case 7:
		return valloc(size);
	default:
		return pvalloc(size);
	}
}

#define KEPT 64
#define ROUNDS 3000

/* What succeeds leaves errno alone, whatever it was; from the first call of all on. */
static int keep_errno(void)
{
	static const int numbers[] = {0, UNTOUCHED, EINTR, ENOMEM, -1, 1 << 30};
	static void *blocks[KEPT];
	unsigned allocated = 0, freed = 0, failed = 0;

	free_in_one_of_two_ways(NULL, 1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		/* Some of them are mapped, and unmapped. */
		size_t size = (size_t)round * 7919 % (round % 10 == 0 ? 300000 : 3000);
		int number = numbers[round % 6];

		errno = number;
		free_in_one_of_two_ways(blocks[round % KEPT], round);
		freed += errno != number;
		errno = number;
		blocks[round % KEPT] = allocate(round, size + 1);
		allocated += errno != number;
		failed += blocks[round % KEPT] == NULL;
	}
	printf("%u calls: errno changed by %u allocations, %u frees; %u failed\n", ROUNDS,
	       allocated, freed, failed);
	return 0;
}

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma STDC FENV_ACCESS ON

/* Any floating-point environment is kept, and exceptions that are enabled are not raised. */
static int keep_floating_point(void)
{
	static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
	static void *blocks[KEPT];
	unsigned changed = 0;

	feclearexcept(FE_ALL_EXCEPT);
	feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT);
	for (unsigned round = 0; round < ROUNDS; round++) {
		fesetround(modes[round % 4]);
		free(blocks[round % KEPT]);
		blocks[round % KEPT] = allocate(round, round % 2000 + 1);
		changed += fegetround() != modes[round % 4];
		changed += fetestexcept(FE_ALL_EXCEPT) != 0;
	}
	fesetround(FE_TONEAREST);
	printf("floating-point environment changed %u times, exceptions on: %d\n", changed,
	       fegetexcept() == FE_ALL_EXCEPT);
	fedisableexcept(FE_ALL_EXCEPT);
	return 0;
}

/* glibc's own names: what is allocated with one is freed with the other. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static int bypass(void)
{
	unsigned whole = 0;
	char *blocks[7];

	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t size = round % 2000 + 10;

		blocks[0] = malloc(size);
		blocks[1] = __libc_malloc(size);
		blocks[2] = __libc_realloc(malloc(10), size);
		blocks[3] = realloc(__libc_malloc(10), size);
		blocks[4] = __libc_calloc(1, size);
		blocks[5] = __libc_memalign(64, size);
		blocks[6] = memalign(64, size);
		for (unsigned i = 0; i < 7; i++)
			memset(blocks[i], (int)i, size);
		for (unsigned i = 0; i < 7; i++) {
			whole += blocks[i][0] == (char)i && blocks[i][size - 1] == (char)i;
			if (i % 2 == 0)
				__libc_free(blocks[i]);
			else
				free(blocks[i]);
		}
		if (round % 100 == 0)
			malloc_trim(0);
	}
	printf("%u whole\n", whole);
	return 0;
}

static void *allocate_in_thread(void *argument)
{
	free(argument);
	return malloc(100);
}

static void create(const char *name, const pthread_attr_t *attributes)
{
	pthread_t thread;
	void *block = malloc(50);
	int error;

	errno = UNTOUCHED;
	error = pthread_create(&thread, attributes, allocate_in_thread, block);
	printf("pthread_create, %s: %s, errno %s\n", name, errno_name(error), errno_name(errno));
	if (error == 0)
		pthread_join(thread, &block);
	free(block);
}

/* If pthread_create() fails the program gets the error that it would get otherwise. */
static int refuse_threads(void)
{
	struct sched_param priority = {.sched_priority = 1};
	pthread_attr_t attributes;

	create("no attributes", NULL);
	pthread_attr_init(&attributes);
	create("new attributes", &attributes);
	pthread_attr_setstacksize(&attributes, (size_t)1 << 46);
	create("a stack of 64 TiB", &attributes);
	pthread_attr_setstacksize(&attributes, 1 << 20);
	pthread_attr_setguardsize(&attributes, (size_t)1 << 46);
	create("a guard of 64 TiB", &attributes);
	pthread_attr_setguardsize(&attributes, 0);
	create("no guard", &attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
	create("a policy without its priority", &attributes);
	pthread_attr_setschedparam(&attributes, &priority);
	create("a real-time policy", &attributes);
	pthread_attr_destroy(&attributes);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} modes[] = {
	{"fail", fail},
	{"nothing", nothing},
	{"errno", keep_errno},
	{"floating-point", keep_floating_point},
	{"refuse-threads", refuse_threads},
	{"bypass", bypass},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof modes / sizeof modes[0]; i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			return modes[i].run();
	return 2;
}
