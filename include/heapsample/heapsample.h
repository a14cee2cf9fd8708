/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libheapsample: a sampling heap profiler that is preloaded into a program.
 *
 * The profiler needs nothing of the program.  This header is for programs that
 * want to know whether it is there, or have to tell it something.  Include it, and
 * link nothing (before glibc 2.34: -ldl).
 *
 * heapsample_version() is declared weak: compare it with NULL before the call.
 *
 *     if (heapsample_version)
 *         printf("profiled by libheapsample %s\n", heapsample_version());
 *
 * The other functions can be called in any case.  Where the library is not preloaded they
 * do nothing and return -ENOSYS.  heapsample(3) has examples.
 */
#ifndef HEAPSAMPLE_HEAPSAMPLE_H
#define HEAPSAMPLE_HEAPSAMPLE_H

/* The version, here and nowhere else: configure.ac and the library read it. */
#define HEAPSAMPLE_VERSION_MAJOR 0
#define HEAPSAMPLE_VERSION_MINOR 1
#define HEAPSAMPLE_VERSION_PATCH 0

#ifndef HEAPSAMPLE_IN_LIBRARY
#include <dlfcn.h>
#include <errno.h>
#endif
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Return the version of the preloaded library as "MAJOR.MINOR.PATCH".
 *
 * The string is static.  Any thread may call it, in a signal handler too; it
 * does not allocate, block or touch errno.
 */
extern const char *heapsample_version(void) __attribute__((weak));

/* What a heap is told about itself; functions may be NULL. */
struct heapsample_heap_calls {
	/*
	 * From now on its allocations are sampled, each byte with the probability
	 * 1 / interval_bytes; from now on they are not.
	 */
	void (*enabled)(void *context, uint64_t interval_bytes);
	void (*disabled)(void *context);
	void *context;
};

/* Sums are since the process began; a forked child begins with those of its parent. */
struct heapsample_stats {
	uint64_t is_sampling;     /* 1: it is on; 0: off */
	uint64_t interval_bytes;  /* between two sampled bytes of malloc's, on average */
	uint64_t allocated_bytes; /* by malloc and its family */
	uint64_t samples;         /* of all heaps */
	uint64_t samples_lost;    /* thereof; their sums are in the profiles' [lost] rows */
	uint64_t frees;           /* of samples */
	uint64_t profiles;        /* written */
	uint64_t profiles_failed; /* could not be written */
	uint64_t memory_bytes;    /* that the profiler has taken, not all of them resident */
};

#ifdef HEAPSAMPLE_IN_LIBRARY

int heapsample_map_hint(const char *objfile, const void *start, size_t length, uint64_t offset);
int heapsample_unmap_hint(const void *start, size_t length);
int heapsample_heap_register(const char *name, const struct heapsample_heap_calls *calls);
int heapsample_heap_unregister(int heap);
int heapsample_report_allocation(int heap, uint64_t id, uint64_t size);
int heapsample_report_sample(int heap, uint64_t id, uint64_t size, uint64_t stands_for);
void heapsample_report_free(int heap, uint64_t id);
int heapsample_dump(char *path, size_t capacity);
int heapsample_start(void);
int heapsample_stop(void);
int heapsample_reset(void);
int heapsample_get_stats(struct heapsample_stats *stats, size_t size);
int heapsample_set_label(const char *key, const char *value);

#else

/*
 * The library's function of a name, or NULL.  found: what is known of it; looked up
 * once, for a library cannot be preloaded later.
 */
static __inline__ void *heapsample_find_(void **found, const char *name)
{
	/* A null pointer that no C++ compiler has a word about. */
	static void *nothing;
	static char none;
	void *missing = &none, *function = __atomic_load_n(found, __ATOMIC_RELAXED);

	if (!function) {
		/* RTLD_DEFAULT, which not every C mode declares. */
		function = dlsym(nothing, name);
		__atomic_store_n(found, function ? function : missing, __ATOMIC_RELAXED);
	}
	return function == missing ? nothing : function;
}

/*
 * Say that [start, start + length) holds code of the file objfile, from its byte `offset` on:
 * code that the program has copied there itself.  For an ET_REL object (a .o file) offset
 * counts from the start of its text section.  Call it after the copy and before the code
 * runs.  Samples taken from then on have the object's names, and stacks unwound by its
 * .eh_frame.
 *
 * The hint wins over what is mapped there, and over earlier hints where they overlap.  It
 * holds until heapsample_unmap_hint(), in forked children too, and not in a program
 * that the process executes.  objfile is copied; a relative name is looked for in
 * the directory in which the program started; the file is read when it is needed.
 *
 * Returns 0; -EINVAL (no objfile; length 0 or above 4 GiB; an end that wraps);
 * -ENAMETOOLONG; -EAGAIN: too much is waiting for the profiler's thread, the hint is not
 * taken; -ENOSYS: the process is not profiled.
 *
 * Any thread may call it, in a signal handler too once it has been called outside of one.
 * It does not wait or touch errno.  Where the library is not preloaded, its first call is a
 * dlsym() that fails, which dlerror() tells.
 */
static __inline__ int heapsample_map_hint(const char *objfile, const void *start, size_t length,
					  uint64_t offset)
{
	static void *found;
	int (*function)(const char *, const void *, size_t, uint64_t);
	void *address = heapsample_find_(&found, "heapsample_map_hint");

	if (!address)
		return -ENOSYS;
	__builtin_memcpy(&function, &address, sizeof function);
	return function(objfile, start, length, offset);
}

/*
 * Say that [start, start + length) holds no hinted code any more, before the memory is used
 * for something else.  Hints that reach out of it keep what is outside.  Samples
 * taken before keep their names.  Returns as above.
 */
static __inline__ int heapsample_unmap_hint(const void *start, size_t length)
{
	static void *found;
	int (*function)(const void *, size_t);
	void *address = heapsample_find_(&found, "heapsample_unmap_hint");

	if (!address)
		return -ENOSYS;
	__builtin_memcpy(&function, &address, sizeof function);
	return function(start, length);
}

/* --- heaps -------------------------------------------------------------------------- */

/*
 * Register a heap: memory that the program gives out itself, from pools, arenas, a device.
 * Its allocations are sampled by their stacks like those of malloc, in books of their own:
 * in profiles they carry the label heap=NAME.
 *
 * name: at most 63 bytes, without '=', ',', '*' and new lines.  calls: may be NULL.  They are
 * called, without locks, inside this function, heapsample_heap_unregister(),
 * heapsample_start() and heapsample_stop(), on the thread that calls it; and inside the next of
 * these where sampling was switched by something else.  One at a time: where another thread is
 * in one, that thread calls the next.  None runs after heapsample_heap_unregister(), which waits
 * for it (2 s), unless it is called by one.
 *
 * Returns the heap's number, above 0; else -EINVAL or -ENAMETOOLONG (the name), -EEXIST (there is
 * one of that name), -ENOSPC (there are 254), -EAGAIN, -ENOSYS (not profiled).  The functions
 * below do nothing for what is not a heap's number, so there is no need to look at it.
 *
 * HEAPSAMPLE_HEAPS sets a heap's interval, or excludes it.  Any thread, before main() too; not in
 * signal handlers.
 */
static __inline__ int heapsample_heap_register(const char *name,
					       const struct heapsample_heap_calls *calls)
{
	static void *found;
	int (*function)(const char *, const struct heapsample_heap_calls *);
	void *address = heapsample_find_(&found, "heapsample_heap_register");

	if (!address)
		return -ENOSYS;
	__builtin_memcpy(&function, &address, sizeof function);
	return function(name, calls);
}

/*
 * The heap is gone: what is in use of it counts as freed.  Nothing of it may be reported
 * meanwhile or afterwards.  Waits for the profiler, a few milliseconds as a rule.
 * Returns 0, -EINVAL (no heap's number) or as heapsample_dump(): then what is in use still
 * counts, and the call can be repeated.
 */
static __inline__ int heapsample_heap_unregister(int heap)
{
	static void *found;
	int (*function)(int);
	void *address = heapsample_find_(&found, "heapsample_heap_unregister");

	if (!address)
		return -ENOSYS;
	__builtin_memcpy(&function, &address, sizeof function);
	return function(heap);
}

/*
 * The heap has given out `size` bytes.  id: what tells it apart from all else that is in use
 * of this heap, such as its address.  An id that is in use already counts as freed first.
 * Returns 1 if it was sampled, else 0.  A few nanoseconds if not.
 *
 * Any thread; in signal handlers too, after the first call outside of one.  Does not block
 * (but for HEAPSAMPLE_BLOCK), allocate or touch errno.
 */
static __inline__ int heapsample_report_allocation(int heap, uint64_t id, uint64_t size)
{
	static void *found;
	int (*function)(int, uint64_t, uint64_t);
	void *address = heapsample_find_(&found, "heapsample_report_allocation");

	if (!address)
		return 0;
	__builtin_memcpy(&function, &address, sizeof function);
	return function(heap, id, size);
}

/*
 * The heap has given out `size` bytes and has chosen that by itself, as a sample that stands for
 * `stands_for` bytes altogether (at least size).  Returns 1 if it is recorded, 0 if sampling
 * is off.  Otherwise as heapsample_report_allocation().
 */
static __inline__ int heapsample_report_sample(int heap, uint64_t id, uint64_t size,
					       uint64_t stands_for)
{
	static void *found;
	int (*function)(int, uint64_t, uint64_t, uint64_t);
	void *address = heapsample_find_(&found, "heapsample_report_sample");

	if (!address)
		return 0;
	__builtin_memcpy(&function, &address, sizeof function);
	return function(heap, id, size, stands_for);
}

/*
 * What the heap calls id is about to be free: before it can be given out again.  Of what was
 * not sampled, or is not known, too.  Threads as above.
 */
static __inline__ void heapsample_report_free(int heap, uint64_t id)
{
	static void *found;
	void (*function)(int, uint64_t);
	void *address = heapsample_find_(&found, "heapsample_report_free");

	if (!address)
		return;
	__builtin_memcpy(&function, &address, sizeof function);
	function(heap, id);
}

/* --- profiles, on and off ------------------------------------------------------------- */

/*
 * Write a profile of now, with all that was sampled before.  path: its absolute name is
 * written there, with a NUL; may be NULL.
 *
 * Returns 0; -EIO (it could not be written; a line on the log says why); -ENAMETOOLONG (it is
 * written, but its name does not fit); -ENOTSUP (HEAPSAMPLE_STREAM); -ENOSYS (not profiled);
 * -EBUSY (another thread's such call took too long, or this thread is in a signal handler that
 * interrupted malloc, in a fork handler or a vfork child); -EAGAIN (the profiler's threads
 * cannot be started); -ETIMEDOUT (after 62 s).
 *
 * Any thread, not in signal handlers.  Waits for the file.  Errno is not touched.
 */
static __inline__ int heapsample_dump(char *path, size_t capacity)
{
	static void *found;
	int (*function)(char *, size_t);
	void *address = heapsample_find_(&found, "heapsample_dump");

	if (!address)
		return -ENOSYS;
	__builtin_memcpy(&function, &address, sizeof function);
	return function(path, capacity);
}

/*
 * Switch sampling on (with HEAPSAMPLE_ACTIVE=0 it is off at first), and off.  The books go on
 * where they were; while it is off, frees of what was sampled are followed.  When they return,
 * all that was allocated before is in the books or never will be.
 *
 * Return 0; -EALREADY (it is so); -ECANCELED (a limit has ended sampling for good); or as
 * heapsample_dump().
 */
static __inline__ int heapsample_start(void)
{
	static void *found;
	int (*function)(void);
	void *address = heapsample_find_(&found, "heapsample_start");

	if (!address)
		return -ENOSYS;
	__builtin_memcpy(&function, &address, sizeof function);
	return function();
}

static __inline__ int heapsample_stop(void)
{
	static void *found;
	int (*function)(void);
	void *address = heapsample_find_(&found, "heapsample_stop");

	if (!address)
		return -ENOSYS;
	__builtin_memcpy(&function, &address, sizeof function);
	return function();
}

/*
 * Begin with empty books: profiles hold what is allocated from now on, and peaks are from now
 * on.  Returns 0, -ENOMEM, or as heapsample_dump().
 */
static __inline__ int heapsample_reset(void)
{
	static void *found;
	int (*function)(void);
	void *address = heapsample_find_(&found, "heapsample_reset");

	if (!address)
		return -ENOSYS;
	__builtin_memcpy(&function, &address, sizeof function);
	return function();
}

/*
 * How things are.  size: sizeof *stats, by which the library knows the program's version of it.
 * Returns 0 or -ENOSYS.  Any thread, in signal handlers too after the first call.
 */
static __inline__ int heapsample_get_stats(struct heapsample_stats *stats, size_t size)
{
	static void *found;
	int (*function)(struct heapsample_stats *, size_t);
	void *address = heapsample_find_(&found, "heapsample_get_stats");

	if (!address)
		return -ENOSYS;
	__builtin_memcpy(&function, &address, sizeof function);
	return function(stats, size);
}

/* --- labels --------------------------------------------------------------------------- */

/*
 * Set a label of the calling thread: each of its samples, of all heaps, carries it from now on,
 * until it is set to something else.  Readers filter by labels, as with
 * `pprof -tagfocus=endpoint=/login`.  A thread begins without labels; a forked child keeps those
 * of the thread that forked.  A label is of the thread and not of a coroutine.
 *
 * key, value: UTF-8, copied.  value NULL or "": the label is removed; key NULL: all are.
 * Values should be few (an endpoint, not the number of a request), for sets of labels that were
 * in use once are kept, and rows are kept apart by them.
 *
 * Returns 0; else the thread keeps the labels that it had: -EINVAL (not UTF-8; an empty key, one
 * that begins with "pprof::", or bytes, thread, tid and heap, which the profiler uses itself),
 * -ENAMETOOLONG (key above 63 bytes, value above 255), -E2BIG (more than 8 labels, or, with a NUL
 * for each key and value, more than 1000 bytes in all), -ENOSPC (in the process there have been
 * 4096 distinct sets of labels, or 900 KiB of them), -ENOSYS (not profiled).
 *
 * Any thread; in signal handlers too, after the first call outside of one.  Does not block,
 * allocate or touch errno.  Well below a microsecond.
 */
static __inline__ int heapsample_set_label(const char *key, const char *value)
{
	static void *found;
	int (*function)(const char *, const char *);
	void *address = heapsample_find_(&found, "heapsample_set_label");

	if (!address)
		return -ENOSYS;
	__builtin_memcpy(&function, &address, sizeof function);
	return function(key, value);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
