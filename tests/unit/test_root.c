/* SPDX-License-Identifier: BSD-2-Clause */
/* What may be loaded while the root directory changes. */
#include "base/root.h"

#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "check.h"

static bool may_load(void)
{
	bool may = hs_root_begin_loading();

	if (may)
		hs_root_end_loading();
	return may;
}

static void test_root_of_the_start(void)
{
	hs_root_note();
	CHECK(may_load());
	CHECK(may_load());
}

static void test_leaving(void)
{
	CHECK(hs_root_leaves());
	CHECK(!may_load());
	CHECK(!hs_root_leaves());
	CHECK(!may_load());
	hs_root_stays();
	CHECK(may_load());
}

static int waits;

/* Whoever waits finds the loading ended the second time. */
static long end_when_waited_for(long number)
{
	if (number == SYS_futex && ++waits == 2)
		hs_root_end_loading();
	return 0;
}

static void test_what_is_being_loaded_is_waited_for(void)
{
	CHECK(hs_root_begin_loading());
	waits = 0;
	atomic_store(&hs_sys_fault, end_when_waited_for);
	CHECK(hs_root_leaves());
	atomic_store(&hs_sys_fault, NULL);
	CHECK(waits >= 2);
	hs_root_stays();
}

static void test_not_for_ever(void)
{
	CHECK(hs_root_begin_loading());
	CHECK(hs_root_leaves());
	CHECK(!may_load());
	hs_root_stays();
	hs_root_end_loading();
	CHECK(may_load());
}

static void test_child(void)
{
	CHECK(hs_root_begin_loading());
	hs_root_after_fork();
	CHECK(may_load());
}

/* The test's own number if the change is not permitted. */
#define REFUSED 2

/* In a process of its own: makes the change, past the library, and then may load nothing. */
static void check_change(const char *what, int (*change)(void))
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		hs_root_note();
		if (!may_load())
			_exit(1);
		_exit(change() != 0 ? REFUSED : may_load());
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	if (WEXITSTATUS(status) == REFUSED)
		printf("# not permitted: %s\n", what);
	else
		CHECK_INT(WEXITSTATUS(status), 0);
}

static int change_root(void)
{
	return (int)syscall(SYS_chroot, "/proc");
}

/* The same directory, in a copy of the namespace. */
static int change_namespace(void)
{
	return (int)syscall(SYS_unshare, CLONE_NEWNS);
}

/* The main thread is gone, which /proc/self is about. */
static void *load_alone(void *unused)
{
	struct stat mounts;

	(void)unused;
	while (hs_sys_stat("/proc/self/ns/mnt", &mounts) == 0)
		usleep(1000);
	_exit(!may_load());
}

static void test_main_thread_has_left(void)
{
	pthread_t other;
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		hs_root_note();
		if (pthread_create(&other, NULL, load_alone, NULL) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
}

static void test_changes(void)
{
	check_change("chroot", change_root);
	check_change("a namespace of mounts", change_namespace);
}

int main(void)
{
	RUN(test_root_of_the_start);
	RUN(test_leaving);
	RUN(test_what_is_being_loaded_is_waited_for);
	RUN(test_not_for_ever);
	RUN(test_child);
	RUN(test_main_thread_has_left);
	RUN(test_changes);
	return CHECK_RESULT();
}
