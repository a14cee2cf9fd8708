/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A service that labels its requests, in two threads at once.  Prints the true numbers of each set
 * of labels, as LABELS OBJECTS BYTES OBJECTS BYTES (allocated, in use).
 *
 * usage: victim_labels requests|errors|absent
 */
#include <heapsample/heapsample.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "victim_expect.h"

enum { REQUESTS = 3000, ENDPOINTS = 3, TENANTS = 3 };

static const char *const endpoints[ENDPOINTS] = {"/login", "/search", "/caf\xc3\xa9"};
static const char *const tenants[TENANTS] = {nullptr, "a", "b"};

static struct {
	long objects, bytes, live_objects, live_bytes;
} truth[ENDPOINTS][TENANTS];

static int heap;

__attribute__((noinline)) static void *site_serve(size_t size)
{
	void *volatile block = std::malloc(size);

	return block;
}

__attribute__((noinline)) static void site_report(uint64_t id, uint64_t size)
{
	heapsample_report_allocation(heap, id, size);
	__asm__ volatile("" : : : "memory");
}

/* A request allocates by malloc() and from the pool; every second one frees both. */
static void *serve(void *argument)
{
	uint64_t thread = reinterpret_cast<uintptr_t>(argument);

	site_serve(5); /* without labels, although the creating thread has one */
	for (uint64_t i = 0; i < REQUESTS; i++) {
		uint64_t endpoint = i % ENDPOINTS, tenant = i / 7 % TENANTS, id = i * 2 + thread;
		size_t size = 16 + i % 100;
		void *block;

		/* In one order or the other. */
		if (thread == 0)
			EXPECT(heapsample_set_label("endpoint", endpoints[endpoint]) == 0);
		EXPECT(heapsample_set_label("tenant", tenants[tenant]) == 0);
		if (thread == 1)
			EXPECT(heapsample_set_label("endpoint", endpoints[endpoint]) == 0);
		block = site_serve(size);
		site_report(id, size);
		if (i % 2 == 0) {
			std::free(block);
			heapsample_report_free(heap, id);
		} else {
			__atomic_fetch_add(&truth[endpoint][tenant].live_objects, 2, 0);
			__atomic_fetch_add(&truth[endpoint][tenant].live_bytes, 2 * size, 0);
		}
		__atomic_fetch_add(&truth[endpoint][tenant].objects, 2, 0);
		__atomic_fetch_add(&truth[endpoint][tenant].bytes, 2 * size, 0);
	}
	EXPECT(heapsample_set_label(nullptr, nullptr) == 0);
	site_serve(7);
	return nullptr;
}

static void *serve_in_thread_of_child(void *argument)
{
	site_serve(8); /* without labels, also here */
	EXPECT(heapsample_set_label("child", "1") == 0);
	site_serve(17);
	return argument;
}

/* A forked child keeps the labels of the thread that forked. */
static void serve_in_child()
{
	int status = 0;
	pthread_t thread;
	pid_t child = fork();

	if (child == 0) {
		site_serve(777);
		pthread_create(&thread, nullptr, serve_in_thread_of_child, nullptr);
		pthread_join(thread, nullptr);
		std::exit(failures != 0);
	}
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static void label_in_handler(int)
{
	EXPECT(heapsample_set_label("signal", "yes") == 0);
}

static void requests()
{
	pthread_t threads[2];

	heap = heapsample_heap_register("pool", nullptr);
	EXPECT(heapsample_set_label("main", "1") == 0);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&threads[i], nullptr, serve, reinterpret_cast<void *>(i));
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
	site_serve(11);
	serve_in_child();
	std::signal(SIGUSR1, label_in_handler);
	std::raise(SIGUSR1);
	site_serve(13);
	std::printf("- 4 24 4 24\nmain=1 1 11 1 11\nmain=1,signal=yes 1 13 1 13\n");
	for (int i = 0; i < ENDPOINTS; i++) {
		for (int j = 0; j < TENANTS; j++)
			std::printf("endpoint=%s%s%s %ld %ld %ld %ld\n", endpoints[i],
				    j > 0 ? ",tenant=" : "", j > 0 ? tenants[j] : "",
				    truth[i][j].objects, truth[i][j].bytes,
				    truth[i][j].live_objects, truth[i][j].live_bytes);
	}
}

static void errors()
{
	char longest[1000], name[] = "0";
	int sets = 0, error;

	std::memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	errno = 4242;
	EXPECT(heapsample_set_label("kept", "1") == 0);
	EXPECT(heapsample_set_label("", "1") == -EINVAL);
	EXPECT(heapsample_set_label("heap", "1") == -EINVAL);
	EXPECT(heapsample_set_label("k", "\xff") == -EINVAL);
	EXPECT(heapsample_set_label(longest, "1") == -ENAMETOOLONG);
	EXPECT(heapsample_set_label("k", longest) == -ENAMETOOLONG);
	for (; name[0] < '7'; name[0]++)
		EXPECT(heapsample_set_label(name, "x") == 0);
	EXPECT(heapsample_set_label(name, "x") == -E2BIG);
	for (name[0] = '0'; name[0] < '7'; name[0]++)
		EXPECT(heapsample_set_label(name, nullptr) == 0);
	EXPECT(errno == 4242);
	/* Labels survive stop, start and reset. */
	EXPECT(heapsample_stop() == 0);
	EXPECT(heapsample_start() == 0);
	EXPECT(heapsample_reset() == 0);
	site_serve(100);
	do {
		std::snprintf(longest, sizeof longest, "%d", sets++);
		error = heapsample_set_label("n", longest);
	} while (error == 0 && sets < 10000);
	EXPECT(error == -ENOSPC && sets > 4000 && sets <= 4096);
	EXPECT(heapsample_set_label("n", nullptr) == 0);
	site_serve(100);
}

static void absent()
{
	EXPECT(heapsample_set_label("k", "v") == -ENOSYS);
	EXPECT(heapsample_set_label(nullptr, nullptr) == -ENOSYS);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)();
	} modes[] = {{"requests", requests}, {"errors", errors}, {"absent", absent}};

	for (const auto &mode : modes) {
		if (count == 2 && std::strcmp(arguments[1], mode.name) == 0) {
			mode.run();
			return failures != 0;
		}
	}
	return 2;
}
