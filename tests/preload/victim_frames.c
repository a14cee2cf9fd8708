/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates where stacks begin and end in other ways than by main() and calls: constructors,
 * handlers, coroutines, destructors of threads, recursion without end.
 *
 *     victim_frames LIBRARY     victim_frames_library.c, to be opened
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define SITE __attribute__((noinline))

static void *kept[32];
static unsigned kept_count;

/* No two have the same code, of which a compiler would make one function. */
#define DEFINE_SITE(name)                                                                          \
	SITE void site_##name(void);                                                               \
	SITE void site_##name(void)                                                                \
	{                                                                                          \
		kept[kept_count++] = malloc(__LINE__);                                             \
	}

DEFINE_SITE(main)
DEFINE_SITE(constructor)
DEFINE_SITE(destructor)
DEFINE_SITE(atexit)
DEFINE_SITE(thread)
DEFINE_SITE(key)
DEFINE_SITE(tls)
DEFINE_SITE(handler)
DEFINE_SITE(alternate)
DEFINE_SITE(coroutine)
DEFINE_SITE(deep_coroutine)
DEFINE_SITE(deep_stack)
DEFINE_SITE(deep_calls)

/* What C++ destroys its thread_local variables with. */
int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library);
extern void *__dso_handle;

__attribute__((constructor)) static void construct(void)
{
	site_constructor();
}

__attribute__((destructor)) static void destroy(void)
{
	site_destructor();
}

static void at_exit(void)
{
	site_atexit();
}

static void destroy_key(void *value)
{
	(void)value;
	site_key();
}

static void destroy_tls(void *object)
{
	(void)object;
	site_tls();
}

static pthread_key_t key;

static void *run_thread(void *argument)
{
	__cxa_thread_atexit_impl(destroy_tls, &key, &__dso_handle);
	pthread_setspecific(key, argument);
	site_thread();
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
	site_handler();
}

static void on_alternate(int number)
{
	(void)number;
	site_alternate();
}

static void send_signal(void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static ucontext_t main_context, coroutine_context;

static void deep_coroutine(int levels)
{
	char room[2048];

	memset(room, levels, sizeof room);
	__asm__ volatile("" : : "r"(room) : "memory");
	if (levels > 0)
		deep_coroutine(levels - 1);
	else
		site_deep_coroutine();
}

static void run_coroutine(void)
{
	site_coroutine();
	deep_coroutine(10);
}

static void switch_to_coroutine(void)
{
	static char stack[65536];

	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = sizeof stack;
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, run_coroutine, 0);
	swapcontext(&main_context, &coroutine_context);
}

static void deep_stack(int levels)
{
	char room[2048];

	memset(room, levels, sizeof room);
	__asm__ volatile("" : : "r"(room) : "memory");
	if (levels > 0)
		deep_stack(levels - 1);
	else
		site_deep_stack();
}

static void deep_calls(int levels)
{
	if (levels > 0)
		deep_calls(levels - 1);
	else
		site_deep_calls();
}

static int open_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	if (library == NULL)
		fprintf(stderr, "%s\n", dlerror());
	return library == NULL;
}

int main(int argc, char **argv)
{
	static char stack[65536];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	pthread_t thread;

	if (argc != 2)
		return 2;
	atexit(at_exit);
	site_main();
	pthread_key_create(&key, destroy_key);
	pthread_create(&thread, NULL, run_thread, &key);
	pthread_join(thread, NULL);
	send_signal(on_signal, 0);
	sigaltstack(&alternate, NULL);
	send_signal(on_alternate, SA_ONSTACK);
	switch_to_coroutine();
	deep_stack(100);
	deep_calls(300);
	return open_library(argv[1]);
}
