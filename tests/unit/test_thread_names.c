/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of threads that are there, and of threads that are gone. */
#include "profile/thread_names.h"

#include <pthread.h>
#include <semaphore.h>

#include "base/arena.h"
#include "base/sys.h"
#include "check.h"

#define MIB ((size_t)1 << 20)

/* No thread has this id or a higher one. */
enum { NO_TID = 1 << 30, MANY = 20000 };

static struct hs_thread_names names;

static struct {
	pthread_t handle;
	sem_t started, may_end;
	uint32_t tid;
} thread;

static void *run(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "io");
	thread.tid = (uint32_t)hs_sys_gettid();
	sem_post(&thread.started);
	sem_wait(&thread.may_end);
	return NULL;
}

static void start_thread(void)
{
	sem_init(&thread.started, 0, 0);
	sem_init(&thread.may_end, 0, 0);
	CHECK_INT(pthread_create(&thread.handle, NULL, run, NULL), 0);
	sem_wait(&thread.started);
}

static void end_thread(void)
{
	sem_post(&thread.may_end);
	pthread_join(thread.handle, NULL);
}

/* The name that a sample of the thread has; "": none. */
static const char *name_of(uint32_t tid)
{
	static char name[16];
	uint32_t number = hs_thread_names_read(&names, tid);

	snprintf(name, sizeof name, "%s",
		 number != 0 ? hs_thread_names_text(&names, number) : "");
	hs_thread_names_release(&names, number);
	return name;
}

static void many_threads_come_and_go(void)
{
	for (uint32_t i = 0; i < MANY; i++)
		CHECK_STR(name_of(NO_TID + i), "");
}

static void begin(void)
{
	CHECK_INT(hs_thread_names_init(&names), 0);
}

static void end(void)
{
	hs_thread_names_fini(&names);
	CHECK_INT(hs_arena_used(), 0);
}

static void a_thread_that_has_ended_keeps_its_name_for_now(void)
{
	begin();
	CHECK_STR(name_of(NO_TID), "");
	start_thread();
	CHECK_STR(name_of(thread.tid), "io");
	end_thread();
	CHECK_STR(name_of(thread.tid), "io");
	end();
}

static void a_name_is_read_once_in_a_batch(void)
{
	uint32_t own = (uint32_t)hs_sys_gettid();

	begin();
	pthread_setname_np(pthread_self(), "before");
	CHECK_STR(name_of(own), "before");
	pthread_setname_np(pthread_self(), "after");
	CHECK_STR(name_of(own), "before");
	hs_thread_names_begin_batch(&names);
	CHECK_STR(name_of(own), "after");
	pthread_setname_np(pthread_self(), "later");
	CHECK_STR(name_of(own), "after");
	pthread_setname_np(pthread_self(), "");
	hs_thread_names_begin_batch(&names);
	CHECK_STR(name_of(own), "after");
	pthread_setname_np(pthread_self(), "again");
	hs_thread_names_begin_batch(&names);
	CHECK_STR(name_of(own), "again");
	end();
}

static void without_memory_there_is_no_name(void)
{
	uint32_t own = (uint32_t)hs_sys_gettid();
	size_t used;

	begin();
	used = hs_arena_used();
	pthread_setname_np(pthread_self(), "known");
	names.names.is_full = true;
	CHECK_STR(name_of(own), "");
	CHECK_INT(hs_arena_used(), used);
	names.names.is_full = false;
	CHECK_STR(name_of(own), "known");
	/* One that has a name keeps it. */
	pthread_setname_np(pthread_self(), "new");
	names.names.is_full = true;
	hs_thread_names_begin_batch(&names);
	CHECK_STR(name_of(own), "");
	names.names.is_full = false;
	CHECK_STR(name_of(own), "known");
	end();
}

static void threads_that_have_ended_take_no_more_memory(void)
{
	size_t used;

	begin();
	used = hs_arena_used();
	many_threads_come_and_go();
	CHECK_INT(hs_arena_used(), used);
	end();
}

/* Its id may be another's by now. */
static void a_thread_that_ended_long_ago_has_no_name(void)
{
	begin();
	start_thread();
	CHECK_STR(name_of(thread.tid), "io");
	end_thread();
	many_threads_come_and_go();
	CHECK_STR(name_of(thread.tid), "");
	CHECK_INT(names.names.used, 1);
	end();
}

static void threads_that_have_ended_are_forgotten_on_demand(void)
{
	struct hs_pauses no_pauses = {.pause = NULL};

	begin();
	start_thread();
	CHECK_STR(name_of(thread.tid), "io");
	end_thread();
	/* Not yet those that were read not long ago. */
	hs_thread_names_forget_gone(&names, &no_pauses);
	CHECK_INT(names.tids.used, 1);
	hs_thread_names_forget_gone(&names, &no_pauses);
	CHECK_INT(names.tids.used, 0);
	CHECK_INT(names.names.used, 1);
	end();
}

static void a_thread_that_was_there_until_now_has_its_name(void)
{
	begin();
	start_thread();
	CHECK_STR(name_of(thread.tid), "io");
	many_threads_come_and_go();
	end_thread();
	CHECK_STR(name_of(thread.tid), "io");
	end();
}

int main(void)
{
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	RUN(a_thread_that_has_ended_keeps_its_name_for_now);
	RUN(a_name_is_read_once_in_a_batch);
	RUN(without_memory_there_is_no_name);
	RUN(threads_that_have_ended_take_no_more_memory);
	RUN(a_thread_that_ended_long_ago_has_no_name);
	RUN(threads_that_have_ended_are_forgotten_on_demand);
	RUN(a_thread_that_was_there_until_now_has_its_name);
	return CHECK_RESULT();
}
