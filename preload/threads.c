/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the program's threads begin and end.  Thin calls into session/, which has to know when the
 * last one ends: glibc would call exit() then, but not while threads of the profiler are left.
 *
 * thrd_create() and thrd_exit() are interposed too: inside libc they do not call ours.  Another
 * library's thrd_create() may, as tinycthread's, where success is 1, or call libc's: what comes
 * back to pthread_create() is counted there.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <threads.h>

#include "base/sys.h"
#include "preload/next.h"
#include "sample/thread_state.h"
#include "session/session.h"

HS_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			     void *(*start)(void *), void *argument);
HS_EXPORT void pthread_exit(void *result) __attribute__((noreturn));
HS_EXPORT int pthread_cancel(pthread_t thread);
HS_EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *argument);
HS_EXPORT void thrd_exit(int result) __attribute__((noreturn));

/* What a thread of the program starts with. */
struct thread_start {
	struct thread_start *next; /* in begun */
	union {
		void *(*start)(void *);
		thrd_start_t start_c11;
	};
	void *argument;
	size_t stack_bytes;
};

/*
 * Those that new threads have read.  For a creating thread to free: a thread that does not allocate
 * would get an arena of malloc's by freeing, 64 MB of addresses.
 */
static struct thread_start *_Atomic begun;

/* Whether this thread was started by run_thread(), which sees it end. */
static __thread bool is_created;

/* The id of the process whose main thread is counted as ended: a forked child begins anew. */
static _Atomic pid_t main_has_ended;

static pthread_t main_thread;

__attribute__((constructor)) static void note_main_thread(void)
{
	main_thread = pthread_self();
}

static void main_ends(void)
{
	pid_t process = hs_sys_getpid();

	if (atomic_exchange(&main_has_ended, process) != process)
		hs_session_thread_ends();
}

static void thread_ends(void *unused)
{
	(void)unused;
	hs_session_thread_ends();
}

static void add_begun(struct thread_start *memory)
{
	memory->next = atomic_load_explicit(&begun, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&begun, &memory->next, memory,
						      memory_order_release, memory_order_relaxed))
		;
}

/* All of them at once, so that none can come back meanwhile. */
static void free_begun(void)
{
	struct thread_start *memory = atomic_exchange_explicit(&begun, NULL, memory_order_acquire);
	struct thread_start *next;

	for (; memory != NULL; memory = next) {
		next = memory->next;
		hs_allocator.free(memory);
	}
}

/* Inlined, for the addresses of the frame: that of the thread's first function, called by libc. */
static inline __attribute__((always_inline)) struct thread_start begin_thread(void *memory)
{
	struct thread_start start = *(struct thread_start *)memory;

	add_begun(memory);
	is_created = true;
	hs_session_thread_begins(start.stack_bytes, (uintptr_t)__builtin_dwarf_cfa(),
				 (uintptr_t)__builtin_return_address(0));
	return start;
}

static void *run_thread(void *memory)
{
	struct thread_start start = begin_thread(memory);
	void *result;

	pthread_cleanup_push(thread_ends, NULL);
	result = start.start(start.argument);
	pthread_cleanup_pop(1);
	return result;
}

static int run_thread_c11(void *memory)
{
	struct thread_start start = *(struct thread_start *)memory;
	int result;

	/* By run_thread() already. */
	if (is_created) {
		add_begun(memory);
		return start.start_c11(start.argument);
	}
	begin_thread(memory);
	pthread_cleanup_push(thread_ends, NULL);
	result = start.start_c11(start.argument);
	pthread_cleanup_pop(1);
	return result;
}

static void read_stack_size(const pthread_attr_t *attributes, struct thread_start *start)
{
	pthread_attr_t defaults;
	bool made = attributes == NULL && pthread_attr_init(&defaults) == 0;

	if (attributes == NULL && !made)
		return;
	if (made)
		attributes = &defaults;
	if (pthread_attr_getstacksize(attributes, &start->stack_bytes) != 0)
		start->stack_bytes = 0;
	if (made)
		pthread_attr_destroy(&defaults);
}

/* What the thread to be created starts with.  NULL without memory: it is created untracked. */
static struct thread_start *prepare_start(const pthread_attr_t *attributes, void *argument)
{
	struct thread_start *memory;

	hs_session_single_threaded_ends();
	free_begun();
	memory = hs_allocator.malloc(sizeof *memory);
	if (memory == NULL)
		return NULL;
	*memory = (struct thread_start){.argument = argument};
	read_stack_size(attributes, memory);
	hs_session_thread_create_begins();
	return memory;
}

static void forget_start(struct thread_start *memory)
{
	hs_session_thread_create_failed();
	hs_allocator.free(memory);
}

/* Tells handlers that interrupt it of that.  It may be a handler's, or inside thrd_create(). */
static int create_next(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		       void *argument)
{
	bool was_creating = hs_thread.is_creating;
	int error;

	hs_thread.is_creating = true;
	error = hs_next.pthread_create(thread, attributes, start, argument);
	hs_thread.is_creating = was_creating;
	return error;
}

static int create_next_c11(thrd_t *thread, thrd_start_t start, void *argument)
{
	bool was_creating = hs_thread.is_creating;
	int error;

	hs_thread.is_creating = true;
	error = hs_next.thrd_create(thread, start, argument);
	hs_thread.is_creating = was_creating;
	return error;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		   void *argument)
{
	struct thread_start *memory;
	int error;

	HS_NEXT_ENSURE(pthread_create);
	if (hs_thread.c11_create == HS_C11_BEGUN)
		hs_session_thread_create_failed();
	memory = prepare_start(attributes, argument);
	if (memory == NULL)
		return create_next(thread, attributes, start, argument);
	memory->start = start;
	error = create_next(thread, attributes, run_thread, memory);
	if (error != 0)
		forget_start(memory);
	if (hs_thread.c11_create != HS_C11_NONE)
		hs_thread.c11_create = error != 0 ? HS_C11_FAILED : HS_C11_CAME_BACK;
	return error;
}

/* After a thrd_create() that did not come back to pthread_create(), and did not return 0. */
static void end_c11_create(struct thread_start *memory, int error)
{
	/* If it is a library's own it may have created a thread, which reads memory. */
	if (!hs_next.has_own_c11)
		forget_start(memory);
	else if (error != 1)
		hs_session_thread_create_failed();
}

int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
	struct thread_start *memory;
	int error;

	HS_NEXT_ENSURE(thrd_create);
	memory = prepare_start(NULL, argument);
	if (memory == NULL)
		return create_next_c11(thread, start, argument);
	memory->start_c11 = start;
	hs_thread.c11_create = HS_C11_BEGUN;
	error = create_next_c11(thread, run_thread_c11, memory);
	if (hs_thread.c11_create == HS_C11_BEGUN && error != thrd_success)
		end_c11_create(memory, error);
	else if (hs_thread.c11_create == HS_C11_FAILED)
		hs_allocator.free(memory);
	hs_thread.c11_create = HS_C11_NONE;
	return error;
}

/* The main thread, also of a forked child. */
static void end_main(void)
{
	if (!is_created && hs_sys_gettid() == hs_sys_getpid())
		main_ends();
}

void pthread_exit(void *result)
{
	HS_NEXT_ENSURE(pthread_exit);
	end_main();
	hs_next.pthread_exit(result);
	__builtin_unreachable();
}

void thrd_exit(int result)
{
	HS_NEXT_ENSURE(thrd_exit);
	end_main();
	hs_next.thrd_exit(result);
	__builtin_unreachable();
}

/*
 * A cancelled main thread ends where we do not see it, so it is counted as ended from here on.  If
 * it has cancellation disabled and outlives all others, the ring is not drained until exit().
 */
int pthread_cancel(pthread_t thread)
{
	HS_NEXT_ENSURE(pthread_cancel);
	if (pthread_equal(thread, main_thread))
		main_ends();
	/* libc does not take a thread that cancels itself for a single one any more. */
	hs_session_single_threaded_ends();
	return hs_next.pthread_cancel(thread);
}
