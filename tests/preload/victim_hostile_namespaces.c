/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that moves to other namespaces, or has its threads share less, and continues.
 *
 * usage: victim_hostile_namespaces MODE [ARGUMENT...], see modes[]
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "victim_hostile.h"

/* Of glibc 2.34. */
__attribute__((weak)) int close_range(unsigned first, unsigned last, int flags);
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

static char **arguments;

/* Counts the links in /proc of the process's threads that differ from the calling thread's. */
static int count_elsewhere(void)
{
	static const char *const links[] = {"ns/mnt", "ns/net", "ns/uts", "ns/ipc", "ns/cgroup",
					    "cwd",    "root"};
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	int count = 0;

	check(tasks != NULL, "/proc/self/task");
	while ((task = readdir(tasks)) != NULL) {
		for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
			char path[300], own[300] = "", other[300] = "";

			snprintf(path, sizeof path, "/proc/thread-self/%s", links[i]);
			if (task->d_name[0] == '.' || readlink(path, own, sizeof own - 1) < 0)
				continue;
			snprintf(path, sizeof path, "/proc/self/task/%s/%s", task->d_name,
				 links[i]);
			count += readlink(path, other, sizeof other - 1) > 0 &&
				 strcmp(own, other) != 0;
		}
	}
	closedir(tasks);
	return count;
}

/* argument: the flags of unshare(), as a number. */
static void mode_unshare(void)
{
	int result;

	say("before");
	usleep(20000);
	errno = 0;
	result = unshare((int)strtol(arguments[0], NULL, 0));
	printf("%d, %d\n", result, errno);
	say("after");
	check(chdir("/") == 0, "chdir");
	printf("elsewhere: %d\n", count_elsewhere());
}

/*
 * argument: the flag of another namespace for its children, after which it can have no more threads
 * (pid), or not with each kernel (time).
 */
static void mode_unshare_twice(void)
{
	int first, second;

	say("before");
	first = unshare((int)strtol(arguments[0], NULL, 0));
	second = unshare(CLONE_NEWUTS);
	printf("%d, %d\n", first, second);
	say("after");
}

/* argument: the function.  A pipe that only the caller writes to ends when it closes that end. */
static void mode_files(void)
{
	struct pollfd end = {.events = POLLIN};
	int ends[2], result;

	say("before");
	check(pipe(ends) == 0, "pipe");
	if (strcmp(arguments[0], "unshare") == 0)
		result = unshare(CLONE_FILES);
	else if (close_range != NULL)
		result = close_range(200, 201, CLOSE_RANGE_UNSHARE);
	else
		result = (int)syscall(SYS_close_range, 200, 201, CLOSE_RANGE_UNSHARE);
	printf("%d, %d\n", result, result == 0 ? 0 : errno);
	close(ends[1]);
	end.fd = ends[0];
	printf("%d, %d\n", poll(&end, 1, 0), end.revents & POLLHUP);
	say("after");
}

/* What is to be undone when the process ends, or no longer shares that with any thread. */
static void mode_undo(void)
{
	struct sembuf add = {.sem_op = 1, .sem_flg = SEM_UNDO};
	int semaphore;

	say("before");
	semaphore = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
	check(semaphore >= 0 && semop(semaphore, &add, 1) == 0, "semaphore");
	check(unshare(CLONE_SYSVSEM) == 0, "unshare");
	printf("%d\n", semctl(semaphore, 0, GETVAL));
	semctl(semaphore, 0, IPC_RMID);
	say("after");
}

/* argument: a name in /proc/self/ns. */
static void mode_setns(void)
{
	char path[64];
	int fd, result;

	say("before");
	usleep(20000);
	snprintf(path, sizeof path, "/proc/self/ns/%s", arguments[0]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(fd >= 0, path);
	result = setns(fd, 0);
	printf("%d, %d\n", result, result == 0 ? 0 : errno);
	close(fd);
	say("after");
}

static void try_setns(const char *what, int fd)
{
	int result = setns(fd, 0);

	printf("%s: %d, %d\n", what, result, result == 0 ? 0 : errno);
	say(what);
	if (atoi(arguments[2]) == 0)
		printf("elsewhere: %d\n", count_elsewhere());
}

/* arguments: a name in /proc/self/ns, its flag, and the number of other threads. */
static void mode_setns_child(void)
{
	int flag = (int)strtol(arguments[1], NULL, 0), own, other, ready[2], status;
	char path[64];
	pid_t child;

	say("before");
	start_churning(atoi(arguments[2]));
	check(pipe(ready) == 0, "pipe");
	child = fork();
	check(child >= 0, "fork");
	if (child == 0) {
		/* Without privileges a new user namespace is needed too. */
		if (unshare(flag) != 0 && unshare(CLONE_NEWUSER | flag) != 0)
			_exit(1);
		check(write(ready[1], "", 1) == 1, "write");
		pause();
	}
	close(ready[1]);
	snprintf(path, sizeof path, "/proc/%d/ns/%s", child, arguments[0]);
	if (read(ready[0], path + sizeof path - 1, 1) != 1) {
		puts("not permitted");
		return;
	}
	other = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/ns/%s", arguments[0]);
	own = open(path, O_RDONLY | O_CLOEXEC);
	check(other >= 0 && own >= 0, path);
	try_setns("to the child's", other);
	try_setns("back", own);
	kill(child, SIGKILL);
	check(waitpid(child, &status, 0) == child, "waitpid");
}

/* argument: "first": before the first sample; "later": after it. */
static void mode_without_proc(void)
{
	if (strcmp(arguments[0], "later") == 0)
		say("before");
	check(unshare(CLONE_NEWNS) == 0, "unshare");
	check(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "mount");
	check(umount2("/proc", MNT_DETACH) == 0, "umount");
	say("after");
}

static const struct mode modes[] = {
	{"unshare", mode_unshare},
	{"unshare-twice", mode_unshare_twice},
	{"files", mode_files},
	{"undo", mode_undo},
	{"setns", mode_setns},
	{"setns-child", mode_setns_child},
	{"without-proc", mode_without_proc},
};

int main(int argc, char **argv)
{
	(void)argc;
	arguments = argv + 2;
	return run_mode(modes, sizeof modes / sizeof modes[0], argv[1]);
}
