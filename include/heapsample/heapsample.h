/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libheapsample: a sampling heap profiler that is preloaded into a program.
 *
 * A program needs no change to be profiled.  This header is for programs that want to
 * know whether the profiler is there, control it, or report memory to it.  Include it, and link
 * nothing (before glibc 2.34: -ldl).
 *
 * The functions can always be called.  If the library is not preloaded they do nothing; those that
 * return an error return -ENOSYS.  A source file's first call of each looks it up with dlsym(),
 * which takes the loader's lock and may call malloc() and free(): do not make it in a signal
 * handler, nor in a malloc() of your own.  heapsample(3) has examples.
 */
#ifndef HEAPSAMPLE_HEAPSAMPLE_H
#define HEAPSAMPLE_HEAPSAMPLE_H

/* The only place where the version is set: configure.ac and the library read it. */
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

/* Called when sampling of a heap is switched; the functions may be NULL. */
struct heapsample_heap_calls {
	/*
	 * From now on the heap's allocations are to be sampled, each byte with probability
	 * 1 / interval_bytes; from now on they are not.
	 */
	void (*enabled)(void *context, uint64_t interval_bytes);
	void (*disabled)(void *context);
	void *context;
};

/* Counts are since the start of the process; a forked child starts with its parent's. */
struct heapsample_stats {
	uint64_t is_sampling;     /* 1: on; 0: off */
	uint64_t interval_bytes;  /* current mean number of bytes between samples of malloc */
	uint64_t allocated_bytes; /* by malloc and its family */
	uint64_t samples;         /* of all heaps */
	uint64_t samples_lost;    /* of these; the profiles' [lost] rows have their sums */
	uint64_t frees;           /* of samples */
	uint64_t profiles;        /* written */
	uint64_t profiles_failed; /* could not be written */
	uint64_t memory_bytes;    /* taken by the profiler, not all of them resident */
};

#ifdef HEAPSAMPLE_IN_LIBRARY

const char *heapsample_version(void);
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

/* A preloaded library's functions do not pass clang's checks of calls through pointers. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("cfi-icall"))), apply_to = function)
#endif

/*
 * Return the library's function of this name, or NULL.  found: caches the result; one look-up
 * is enough, because a library cannot be preloaded later.
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
 * Return the version of the library as "MAJOR.MINOR.PATCH", a static string; NULL if it is not
 * preloaded.  Any thread; in signal handlers too, after the first call outside of one.
 */
static __inline__ const char *heapsample_version(void)
{
	static void *found;
	static const char *nothing;
	const char *(*function)(void);
	void *address = heapsample_find_(&found, "heapsample_version");

	if (!address)
		return nothing;
	__builtin_memcpy(&function, &address, sizeof function);
	return function();
}

/*
 * Say that [start, start + length) holds code that the program has copied there from the file
 * objfile, beginning at its byte `offset`.  For an ET_REL object (a .o file) offset counts from
 * the start of the text section.  Call this after copying the code and before running it.
 * Samples taken from then on have the object's names, and their stacks are unwound by its
 * .eh_frame.
 *
 * The hint takes precedence over what is mapped there, and over earlier hints where they
 * overlap.  It applies until heapsample_unmap_hint(), also in forked children, but not in a
 * program that the process executes.  objfile is copied; a relative name refers to the directory
 * in which the program started; the file is read when it is needed.
 *
 * Returns 0; -EINVAL (no objfile; length is 0 or above 4 GiB; the end wraps around; offset +
 * length is 2^63 or more); -ENAMETOOLONG; -EAGAIN (too much is waiting for the profiler's thread;
 * the hint is not accepted); -ENOSYS (the process is not profiled).
 *
 * Any thread may call this; in signal handlers too, once it has been called outside of one.  It
 * does not wait or change errno.  If the library is not preloaded, the first call is a dlsym()
 * that fails, which dlerror() reports.
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
 * Say that [start, start + length) holds no hinted code any more.  Call this before the memory
 * is used for something else.  Of hints that extend beyond the range, the part outside stays.
 * Samples taken before keep their names.  Returns as above.
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
 * Register a heap: memory that the program hands out itself, from pools, arenas, a device.
 * Its allocations are sampled with their stacks like those of malloc, and have totals of their
 * own: in profiles they carry the label heap=NAME.
 *
 * name: at most 63 bytes, without '=', ',', '*' and newlines.  calls: may be NULL.  They are
 * called without locks, by the thread that is in this function, heapsample_heap_unregister(),
 * heapsample_start() or heapsample_stop(); or in the next of these, if something else switched
 * sampling.  They are called one at a time: if another thread is in one, that thread makes the
 * next call.  heapsample_heap_unregister() waits (2 s) for one that is running; afterwards none
 * is called, unless one of them called it.
 *
 * Returns the heap's number, above 0; else -EINVAL or -ENAMETOOLONG (the name), -EEXIST (there is
 * one of that name), -ENOSPC (there were 254 names), -EAGAIN (other threads are registering heaps),
 * -ENOSYS (not profiled).  The functions below do nothing if `heap` is the number of no heap, so
 * the result need not be checked.
 *
 * HEAPSAMPLE_HEAPS sets a heap's interval, or excludes it.  Any thread, even before main(); not
 * in signal handlers.
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
 * Report that the heap is gone: what is in use counts as freed.  Nothing may be reported for it
 * during this call or afterwards.  Waits for the profiler, usually for a few milliseconds.
 * Returns 0, -EINVAL (no such heap) or an error of heapsample_dump(); after the latter what is in
 * use still counts, and the call can be repeated.
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
 * Report that the heap has handed out `size` bytes, after the block is taken.  id: distinguishes
 * the block from all others in use in this heap, for example its address.  If the id is already
 * in use, the block that had it counts as freed when a later one is freed or sampled; so report
 * each free.  Returns 1 if the block was sampled, else 0.
 * Takes a few nanoseconds if not.
 *
 * Any thread; in signal handlers too, after the first call outside of one.  Does not block
 * (except for HEAPSAMPLE_BLOCK), allocate or change errno.
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
 * Report a block of `size` bytes that the heap itself has chosen as a sample, which represents
 * `stands_for` bytes in all (at least size).  Returns 1 if it is recorded, 0 if sampling is off.
 * Otherwise like heapsample_report_allocation().
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
 * Report that the block `id` is returned, before the id can be handed out again.  Call this for
 * all blocks, sampled or not.  Threads as above.
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
 * Write a profile of the current state, including all that was sampled before the call.  path:
 * receives the file's absolute name with a terminating NUL; may be NULL.
 *
 * Returns 0; -EIO (the profile could not be written; a log line says why); -ENAMETOOLONG (it is
 * written, but its name does not fit); -ENOTSUP (HEAPSAMPLE_STREAM); -ENOSYS (not profiled);
 * -EBUSY (another thread's call of this kind took too long, or this thread is in a signal handler
 * that interrupted malloc, in a fork handler or a vfork child); -EAGAIN (the profiler's threads
 * cannot be started); -ETIMEDOUT (after 62 s).
 *
 * Any thread; not in signal handlers.  Waits until the file is complete.  Does not change errno.
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
 * Switch sampling on (with HEAPSAMPLE_ACTIVE=0 it is initially off) and off.  Totals are kept,
 * and frees of samples are tracked even while sampling is off.  When these return, all that was
 * allocated before is counted or never will be.
 *
 * Return 0; -EALREADY (it is already on, or off); -ECANCELED (a limit has ended sampling for
 * good); or an error of heapsample_dump().
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
 * Set all totals to zero: profiles then contain what is allocated from now on, and peaks are
 * those from now on.  Returns 0, -ENOMEM, or an error of heapsample_dump().
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
 * Fill in *stats.  size: sizeof *stats, from which the library knows the program's version of the
 * structure.  Returns 0 or -ENOSYS.  Any thread; in signal handlers too, after the first call
 * outside of one.
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
 * Set a label of the calling thread: from now on each of its samples, of all heaps, carries it,
 * until it is changed.  Readers filter by labels, as with `pprof -tagfocus=endpoint=/login`.  A
 * new thread has no labels; a forked child keeps those of the thread that forked.  Labels belong
 * to threads, not to coroutines.
 *
 * key, value: UTF-8, copied.  value NULL or "": remove the label; key NULL: remove all.  Use few
 * distinct values (an endpoint, not the number of a request): every set of labels that was ever
 * in use is kept, and each has profile rows of its own.
 *
 * Returns 0, or an error, after which the thread keeps the labels that it had: -EINVAL (not
 * UTF-8; the key is empty, begins with "pprof::", or is bytes, thread, tid or heap, which are
 * reserved), -ENAMETOOLONG (key above 63 bytes, value above 255), -E2BIG (more than 8 labels, or
 * more than 1000 bytes in all, including a NUL for each key and value), -ENOSPC (the process has
 * had 4096 distinct sets of labels, or 900 KiB of them), -ENOSYS (not profiled).
 *
 * Any thread; in signal handlers too, after the first call outside of one.  Does not block,
 * allocate or change errno.  Takes well under a microsecond.
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

#ifdef __clang__
#pragma clang attribute pop
#endif

#endif

#ifdef __cplusplus
}
#endif

#endif
