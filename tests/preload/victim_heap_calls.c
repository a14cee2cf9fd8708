/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A heap's functions are called while other threads switch sampling and the heap is unregistered;
 * and a heap is unregistered where nothing can be waited for.
 */
#include <heapsample/heapsample.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "victim_expect.h"

static sem_t is_in_call, call_may_end;
static _Atomic int calling, on, off;
static _Atomic int waits = 1;

static void enabled(void *context, uint64_t interval_bytes)
{
	(void)context, (void)interval_bytes;
	EXPECT(calling++ == 0);
	on++;
	if (waits) {
		sem_post(&is_in_call);
		sem_wait(&call_may_end);
	}
	calling--;
}

static void disabled(void *context)
{
	(void)context;
	EXPECT(calling++ == 0);
	off++;
	calling--;
}

static const struct heapsample_heap_calls calls = {enabled, disabled, NULL};

static void *register_slow(void *out)
{
	*(int *)out = heapsample_heap_register("slow", &calls);
	return NULL;
}

static void *unregister(void *heap)
{
	EXPECT(heapsample_heap_unregister(*(int *)heap) == 0);
	EXPECT(calling == 0);
	EXPECT(on == off);
	return NULL;
}

/* A call that takes long delays nobody else, and the heap is told the final state. */
static int switch_meanwhile(void)
{
	pthread_t thread;
	int heap;

	pthread_create(&thread, NULL, register_slow, &heap);
	sem_wait(&is_in_call);
	EXPECT(heapsample_stop() == 0);
	EXPECT(on == 1 && off == 0);
	sem_post(&call_may_end);
	pthread_join(thread, NULL);
	EXPECT(heap > 0 && on == 1 && off == 1);
	return heap;
}

static void *start(void *unused)
{
	(void)unused;
	EXPECT(heapsample_start() == 0);
	return NULL;
}

/* The heap is unregistered while another thread is in its function: that is waited for. */
static void unregister_meanwhile(int heap)
{
	pthread_t starts, goes;

	pthread_create(&starts, NULL, start, NULL);
	sem_wait(&is_in_call);
	pthread_create(&goes, NULL, unregister, &heap);
	usleep(20000); /* so that it waits, as a rule */
	sem_post(&call_may_end);
	pthread_join(goes, NULL);
	pthread_join(starts, NULL);
	EXPECT(on == 2 && off == 2);
}

/* Where it could not be waited for the call can be repeated, until it has succeeded. */
static void unregister_again(void)
{
	int heap = heapsample_heap_register("again", NULL);
	volatile int result = 0;

	EXPECT(heapsample_report_allocation(heap, 1, 10) == 1);
	if (vfork() == 0) {
		result = heapsample_heap_unregister(heap);
		_exit(0);
	}
	EXPECT(result == -EBUSY);
	EXPECT(heapsample_heap_unregister(heap) == 0);
	EXPECT(heapsample_heap_unregister(heap) == -EINVAL);
	EXPECT(heapsample_heap_register("again", NULL) == heap);
}

static _Atomic int is_over;

static void *switch_often(void *unused)
{
	(void)unused;
	while (!is_over) {
		heapsample_stop();
		heapsample_start();
	}
	return NULL;
}

/* Every heap is told of each change, in order, however the threads meet. */
static void register_often(void)
{
	pthread_t thread;

	waits = 0;
	pthread_create(&thread, NULL, switch_often, NULL);
	for (int i = 0; i < 2000; i++) {
		int heap = heapsample_heap_register("often", &calls);

		EXPECT(heap > 0);
		unregister(&heap);
	}
	is_over = 1;
	pthread_join(thread, NULL);
}

int main(void)
{
	sem_init(&is_in_call, 0, 0);
	sem_init(&call_may_end, 0, 0);
	unregister_meanwhile(switch_meanwhile());
	unregister_again();
	register_often();
	return failures != 0;
}
