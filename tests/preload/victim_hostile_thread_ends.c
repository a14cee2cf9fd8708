/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that query their attributes in all phases, that allocate while they end, that are
 * cancelled.
 *
 * usage: victim_hostile_thread_ends MODE, see the table at the end
 */
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>

#include "victim_hostile_blocks.h"

/* C++ uses this to destroy thread_local variables. */
int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library);
extern void *__dso_handle;

/* --- attributes ------------------------------------------------------------------------------ */

/* The attributes must describe the stack on which this function runs. */
static void ask_attributes(void)
{
	char here;
	pthread_attr_t attributes;
	void *low;
	size_t bytes, guard;

	check(pthread_getattr_np(pthread_self(), &attributes) == 0);
	check(pthread_attr_getstack(&attributes, &low, &bytes) == 0);
	check(pthread_attr_getguardsize(&attributes, &guard) == 0);
	check(&here > (char *)low && &here < (char *)low + bytes);
	pthread_attr_destroy(&attributes);
	end_block(new_block(1));
}

static pthread_key_t key;

static void destroy_with_attributes(void *value)
{
	ask_attributes();
	end_block(value);
}

static void ask_in_handler(int number)
{
	(void)number;
	ask_attributes();
}

static void *run_asking(void *unused)
{
	ask_attributes();
	pthread_setspecific(key, new_block(2));
	__cxa_thread_atexit_impl(destroy_with_attributes, new_block(3), &__dso_handle);
	for (unsigned i = 0; i < 20; i++) {
		free(malloc(1000));
		ask_attributes();
		raise(SIGUSR1);
	}
	pthread_cleanup_push(destroy_with_attributes, new_block(4));
	pthread_cleanup_pop(1);
	return unused;
}

static void ask_at_exit(void)
{
	ask_attributes();
}

static void attributes(void)
{
	struct sigaction action = {.sa_handler = ask_in_handler};
	pthread_t threads[8];

	sigaction(SIGUSR1, &action, NULL);
	pthread_key_create(&key, destroy_with_attributes);
	atexit(ask_at_exit);
	for (unsigned round = 0; round < 10; round++) {
		for (unsigned i = 0; i < 8; i++)
			start(&threads[i], NULL, run_asking, NULL);
		ask_attributes();
		raise(SIGUSR1);
		for (unsigned i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
	}
}

/* --- the end of threads --------------------------------------------------------------------- */

#define KEYS 30

static pthread_key_t keys[KEYS];

/* The first three keys get another value, for a second round of destructors. */
static void destroy_value(void *value)
{
	unsigned number = *(unsigned *)value;

	end_block(value);
	free(calloc(number + 1, 100));
	if (number < 3)
		pthread_setspecific(keys[number], new_block(number + KEYS));
}

static void destroy_object(void *value)
{
	static __thread int depth;

	end_block(value);
	if (depth++ < 3)
		__cxa_thread_atexit_impl(destroy_object, new_block(5), &__dso_handle);
}

static void *run_ending(void *way)
{
	for (unsigned i = 0; i < KEYS; i++)
		pthread_setspecific(keys[i], new_block(i));
	__cxa_thread_atexit_impl(destroy_object, new_block(5), &__dso_handle);
	if ((uintptr_t)way % 2 == 0)
		pthread_exit(new_block(6));
	return new_block(7);
}

static void ends(void)
{
	pthread_t thread;
	void *block;

	for (unsigned i = 0; i < KEYS; i++)
		pthread_key_create(&keys[i], destroy_value);
	for (uintptr_t i = 0; i < 100; i++) {
		start(&thread, NULL, run_ending, (void *)i);
		pthread_join(thread, &block);
		end_block(block);
	}
}

/* --- cancelled -------------------------------------------------------------------------------- */

static sem_t started, never;

/* Has a cancellation point after each allocation. */
static void *run_deferred(void *unused)
{
	pthread_cleanup_push(end_block, new_block(8));
	pthread_setspecific(keys[5], new_block(9));
	sem_post(&started);
	for (;;) {
		free(malloc(500));
		pthread_testcancel();
	}
	pthread_cleanup_pop(1);
	return unused;
}

/* Cancelled while it waits in a system call. */
static void *run_waiting(void *unused)
{
	pthread_cleanup_push(end_block, new_block(10));
	pthread_setspecific(keys[5], new_block(11));
	sem_post(&started);
	sem_wait(&never);
	pthread_cleanup_pop(1);
	return unused;
}

/* Cancelled at any instruction outside calls. */
static void *run_computing(void *unused)
{
	static volatile unsigned long computed;

	pthread_cleanup_push(end_block, new_block(12));
	pthread_setspecific(keys[5], new_block(13));
	free(malloc(500));
	sem_post(&started);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		computed = computed + 1;
	pthread_cleanup_pop(1);
	return unused;
}

static void cancelled(void)
{
	static void *(*const ways[])(void *) = {run_deferred, run_waiting, run_computing};
	void *result;
	pthread_t thread;

	sem_init(&started, 0, 0);
	sem_init(&never, 0, 0);
	pthread_key_create(&keys[5], destroy_value);
	for (unsigned i = 0; i < 300; i++) {
		start(&thread, NULL, ways[i % 3], NULL);
		/* Some are cancelled before they begin. */
		if (i % 7 != 0)
			sem_wait(&started);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		check(result == PTHREAD_CANCELED);
		if (i % 7 == 0)
			sem_trywait(&started);
	}
	/* Depends on how far those came that were cancelled early. */
	sum = 0;
}

static const struct mode modes[] = {
	{"attributes", attributes},
	{"ends", ends},
	{"cancelled", cancelled},
};

int main(int argc, char **argv)
{
	return RUN_MODE(modes, argc, argv);
}
