/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that end in every way, and that close descriptors or remove directories before.
 *
 * usage: victim_hostile_end MODE [ARGUMENT], see modes[]
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "victim_hostile.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static const char *argument;
static volatile sig_atomic_t ticks;

static void say_at_exit(void)
{
	say("at exit");
}

static void *outlive_main(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	say("after main");
	return NULL;
}

static void mode_pthread_exit(void)
{
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	atexit(say_at_exit);
	check(pthread_create(&thread, NULL, outlive_main, &self) == 0, "thread");
	say("main");
	pthread_exit(NULL);
}

/* No memory has room for the stack of another thread.  argument: "c11" or not. */
static void mode_create_fails(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	thrd_t thread_c11;

	atexit(say_at_exit);
	say("main");
	check(pthread_attr_init(&attributes) == 0, "attributes");
	check(pthread_attr_setstacksize(&attributes, (size_t)1 << 60) == 0, "stack size");
	if (strcmp(argument, "c11") == 0) {
		check(pthread_setattr_default_np(&attributes) == 0, "default");
		check(thrd_create(&thread_c11, NULL, NULL) != thrd_success, "thrd_create");
	} else {
		check(pthread_create(&thread, &attributes, outlive_main, NULL) == EAGAIN, "thread");
	}
	pthread_exit(NULL);
}

/* Allocates more than fits into the ring while nobody reads it. */
static int outlive_main_c11(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	for (int i = 0; i < 300; i++)
		churn(500);
	say("after main");
	return 3;
}

/* A thread created by C11's thrd_create().  argument: how main ends. */
static void mode_c11(void)
{
	static pthread_t self;
	thrd_t thread;

	self = pthread_self();
	atexit(say_at_exit);
	check(thrd_create(&thread, outlive_main_c11, &self) == thrd_success, "thrd_create");
	say("main");
	if (strcmp(argument, "thrd_exit") == 0)
		thrd_exit(5);
	pthread_exit(NULL);
}

static void mode_thrd_exit(void)
{
	atexit(say_at_exit);
	say("main");
	thrd_exit(5);
}

static void *cancel_and_outlive(void *main_thread)
{
	check(pthread_cancel(*(pthread_t *)main_thread) == 0, "pthread_cancel");
	if (strcmp(argument, "last") == 0) {
		say("thread");
		return NULL;
	}
	/* Cancelling it again, maybe after its end, is allowed. */
	check(pthread_cancel(*(pthread_t *)main_thread) == 0, "pthread_cancel");
	outlive_main_c11(main_thread);
	return NULL;
}

/* The child's main thread, which is not cancelled again, ends there. */
static void fork_and_wait(void)
{
	int status = -1;
	pid_t child = fork();

	check(child >= 0, "fork");
	if (child == 0) {
		say("child");
		pthread_exit(NULL);
	}
	check(waitpid(child, &status, 0) == child && status == 0, "child");
}

/*
 * argument: main ends "first" or "last" of its two threads, or is "alone", or forks before its end
 * ("forks").
 */
static void mode_cancelled(void)
{
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	atexit(say_at_exit);
	say("main");
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	if (strcmp(argument, "alone") == 0 || strcmp(argument, "forks") == 0) {
		check(pthread_cancel(self) == 0, "pthread_cancel");
		if (strcmp(argument, "forks") == 0)
			fork_and_wait();
		say("going on");
	} else {
		check(pthread_create(&thread, NULL, cancel_and_outlive, &self) == 0, "thread");
		if (strcmp(argument, "last") == 0)
			check(pthread_join(thread, NULL) == 0, "join");
	}
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	for (;;)
		pause();
}

/* The child's main thread was started by pthread_create().  Another thread outlives it. */
static void *fork_here(void *unused)
{
	static pthread_t self;
	int status = -1;
	thrd_t thread;
	pid_t child = fork();

	check(child >= 0, "fork");
	if (child == 0) {
		self = pthread_self();
		check(thrd_create(&thread, outlive_main_c11, &self) == thrd_success, "thrd_create");
		pthread_exit(NULL);
	}
	check(waitpid(child, &status, 0) == child && status == 0, "child");
	return unused;
}

static void mode_fork_in_thread(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, fork_here, NULL) == 0, "thread");
	check(pthread_join(thread, NULL) == 0, "join");
	say("main");
}

static void *exit_here(void *unused)
{
	say("second thread");
	exit(5);
	return unused;
}

static void mode_exit_second(void)
{
	pthread_t thread;

	atexit(say_at_exit);
	start_churning(2);
	check(pthread_create(&thread, NULL, exit_here, NULL) == 0, "thread");
	for (;;)
		churn(100);
}

static void mode_Exit(void)
{
	start_churning(2);
	say("main");
	_Exit(5);
}

static void mode_quick(void)
{
	at_quick_exit(say_at_exit);
	start_churning(2);
	say("main");
	quick_exit(5);
}

/* A signal with its default action.  argument: its number. */
static void mode_signal(void)
{
	start_churning(2);
	say("main");
	kill(getpid(), atoi(argument));
	for (;;)
		churn(100);
}

static SITE void site_later(void)
{
	for (int i = 0; i < 100; i++) {
		void *block = malloc(100000);

		check(block != NULL, "memory");
		USE(block);
	}
}

/* The same in a child that is the first process of a pid namespace, which it does not end. */
static void mode_signal_first(void)
{
	int status;
	pid_t child;

	say("main");
	/* Then the profiler rests, so the fork does not meet it at work. */
	ask_for_profile();
	check(unshare(CLONE_NEWPID) == 0, "unshare");
	child = fork();
	check(child >= 0, "fork");
	if (child == 0) {
		kill(getpid(), atoi(argument));
		site_later();
		say("goes on");
		exit(7);
	}
	check(waitpid(child, &status, 0) == child, "waitpid");
	printf("child: %#x\n", (unsigned)status);
}

static void mode_fault(void)
{
	void *volatile where = (void *)(uintptr_t)8;

	say("main");
	churn_for_ever(*(void **)where);
}

static void mode_abort(void)
{
	start_churning(2);
	say("main");
	abort();
}

static void tick(int number)
{
	(void)number;
	ticks++;
}

/* Two timers of 50 us interrupt the thread that waits for the last profile. */
static void mode_storm(void)
{
	struct itimerval timer = {{0, 50}, {0, 50}};
	struct sigaction action = {.sa_handler = tick}; /* no SA_RESTART */

	start_churning(1);
	say("main");
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	setitimer(ITIMER_PROF, &timer, NULL);
	exit(5);
}

static void *ask_for_ever(void *unused)
{
	for (;;)
		ask_for_profile();
	return unused;
}

/* SIGKILL while profiles are written.  argument: after how many microseconds. */
static void mode_kill_in_dump(void)
{
	pthread_t thread;

	churn(5000);
	check(pthread_create(&thread, NULL, ask_for_ever, NULL) == 0, "thread");
	usleep((useconds_t)atoi(argument));
	kill(getpid(), SIGKILL);
}

static void close_from(int first, int how)
{
	if (how == 0 && syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
	for (int fd = first; fd < 1024; fd++)
		close(fd);
}

/*
 * Opens /dev/null as this descriptor, as daemons do: libraries must not print into the program's
 * files.  EBUSY: another thread is opening a file with that number.
 */
static void occupy(int wanted, int flags)
{
	int fd = open("/dev/null", flags);

	check(fd >= 0, "/dev/null");
	if (fd == wanted)
		return;
	while (dup2(fd, wanted) != wanted)
		check(errno == EBUSY, "dup2");
	close(fd);
}

/* Closes all descriptors, stdout last.  argument: 0, by close_range(); 1, one by one. */
static void mode_close(void)
{
	start_churning(1);
	for (int i = 0; i < 20; i++) {
		close_from(3, atoi(argument));
		churn(200);
	}
	ask_for_profile();
	close(0);
	close(2);
	say("main");
	occupy(0, O_RDONLY);
	occupy(2, O_RDWR);
	close(1);
	churn(1000);
	exit(5);
}

/* Replaces all descriptors from 2 up by those of one file.  argument: the file. */
static void mode_dup_over(void)
{
	int fd = open(argument, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct stat file;

	check(fd >= 0, "file");
	churn(5000);
	for (int other = 3; other < 1024; other++) {
		/* EBUSY: see occupy(). */
		while (other != fd && dup2(fd, other) != other)
			check(errno == EBUSY, "dup2");
	}
	dup2(fd, 2);
	churn(20000);
	ask_for_profile();
	check(fstat(fd, &file) == 0, "fstat");
	printf("%ld bytes in it, %lu\n", (long)file.st_size, churn(5000));
	fflush(stdout);
	/* The exit must not write to the file either: the test looks at that. */
}

static void mode_chdir(void)
{
	churn(100);
	ask_for_profile();
	check(chdir(argument) == 0, "chdir");
	ask_for_profile();
	say("main");
	exit(5);
}

/* argument: its working directory, which it removes. */
static void mode_rmdir(void)
{
	check(mkdir(argument, 0700) == 0 && chdir(argument) == 0, "directory");
	churn(100);
	check(rmdir(argument) == 0, "rmdir");
	say("main");
	exit(5);
}

/* argument: the directory of the profiles, which it removes. */
static void mode_remove_output(void)
{
	struct dirent *entry;
	DIR *directory;

	check(mkdir(argument, 0700) == 0, "mkdir");
	churn(100);
	ask_for_profile();
	directory = opendir(argument);
	check(directory != NULL, "opendir");
	while ((entry = readdir(directory)) != NULL)
		unlinkat(dirfd(directory), entry->d_name, 0);
	closedir(directory);
	check(rmdir(argument) == 0, "rmdir");
	say("main");
	exit(5);
}

static const struct mode modes[] = {
	{"pthread-exit", mode_pthread_exit},
	{"create-fails", mode_create_fails},
	{"c11", mode_c11},
	{"thrd-exit", mode_thrd_exit},
	{"cancelled", mode_cancelled},
	{"fork-in-thread", mode_fork_in_thread},
	{"exit-second", mode_exit_second},
	{"_Exit", mode_Exit},
	{"quick", mode_quick},
	{"signal", mode_signal},
	{"signal-first", mode_signal_first},
	{"fault", mode_fault},
	{"abort", mode_abort},
	{"storm", mode_storm},
	{"kill-in-dump", mode_kill_in_dump},
	{"close", mode_close},
	{"dup-over", mode_dup_over},
	{"chdir", mode_chdir},
	{"rmdir", mode_rmdir},
	{"remove-output", mode_remove_output},
};

int main(int argc, char **argv)
{
	argument = argc > 2 ? argv[2] : "";
	return run_mode(modes, sizeof modes / sizeof modes[0], argv[1]);
}
