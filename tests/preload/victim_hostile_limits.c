/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that gives up rights, or runs into limits, and continues.
 *
 * usage: victim_hostile_limits MODE [ARGUMENT...], see modes[]
 */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "victim_hostile.h"

int capget(struct __user_cap_header_struct *header, struct __user_cap_data_struct *sets);
int capset(struct __user_cap_header_struct *header, const struct __user_cap_data_struct *sets);

#define NOBODY 65534
#define BLOCKS 100000

static char **arguments;

/* Counts the threads of the process that have another user id, in one of the four. */
static int count_other_users(unsigned user)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	int count = 0;

	check(tasks != NULL, "/proc/self/task");
	while ((task = readdir(tasks)) != NULL) {
		char path[300], line[200];
		unsigned ids[4] = {user, user, user, user};
		FILE *status;

		snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
		status = task->d_name[0] == '.' ? NULL : fopen(path, "re");
		while (status != NULL && fgets(line, sizeof line, status) != NULL)
			sscanf(line, "Uid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]);
		if (status != NULL)
			fclose(status);
		count += ids[0] != user || ids[1] != user || ids[2] != user || ids[3] != user;
	}
	closedir(tasks);
	return count;
}

/* argument: the function that changes the user. */
static void mode_user(void)
{
	say("root");
	usleep(20000);
	check(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0, "group");
	if (strcmp(arguments[0], "setresuid") == 0)
		check(setresuid(NOBODY, NOBODY, NOBODY) == 0, "setresuid");
	else
		check(setuid(NOBODY) == 0, "setuid");
	printf("threads of another user: %d\n", count_other_users(NOBODY));
	say("nobody");
}

/* Only the calling thread keeps CAP_SETGID, and can still change the process's groups. */
static void mode_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];

	say("root");
	usleep(20000);
	check(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0, "PR_SET_KEEPCAPS");
	check(setresuid(NOBODY, NOBODY, NOBODY) == 0, "setresuid");
	check(capget(&header, sets) == 0, "capget");
	sets[0].effective = sets[0].permitted = 1u << CAP_SETGID;
	sets[1].effective = sets[1].permitted = 0;
	check(capset(&header, sets) == 0, "capset");
	check(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0, "group");
	check(capget(&header, sets) == 0, "capget");
	printf("%x\n", sets[0].effective);
	say("nobody");
}

/* argument: the new root directory. */
static void mode_chroot(void)
{
	say("outside");
	check(chroot(arguments[0]) == 0 && chdir("/") == 0, "chroot");
	say("inside");
}

static void mode_prctl(void)
{
	say("before");
	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS");
	check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "PR_SET_DUMPABLE");
	say("after");
}

static const struct {
	const char *name;
	__rlimit_resource_t resource;
} resources[] = {
	{"as", RLIMIT_AS},       {"data", RLIMIT_DATA},   {"nofile", RLIMIT_NOFILE},
	{"fsize", RLIMIT_FSIZE}, {"nproc", RLIMIT_NPROC}, {"stack", RLIMIT_STACK},
	{"core", RLIMIT_CORE},
};

/* arguments: the resource, the limit. */
static void set_limit(void)
{
	struct rlimit limit;

	limit.rlim_cur = limit.rlim_max = strtoul(arguments[1], NULL, 0);
	for (size_t i = 0; i < sizeof resources / sizeof resources[0]; i++) {
		if (strcmp(arguments[0], resources[i].name) == 0)
			check(setrlimit(resources[i].resource, &limit) == 0, "setrlimit");
	}
}

static void mode_limit(void)
{
	say("before");
	set_limit();
	say("after");
}

static void use_memory(size_t bytes)
{
	char *block = malloc(bytes);

	check(block != NULL, "malloc");
	memset(block, 1, bytes);
	free(block);
}

/* Sets the limit by each function that can.  The program needs less. */
static void mode_room(void)
{
	struct rlimit limit;
	struct rlimit64 limit64;

	say("before");
	set_limit();
	use_memory((size_t)200 << 20);
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur -= 4096;
	check(prlimit(0, RLIMIT_AS, &limit, NULL) == 0, "prlimit");
	limit64.rlim_max = limit.rlim_max;
	limit64.rlim_cur = limit.rlim_cur - 4096;
	check(setrlimit64(RLIMIT_AS, &limit64) == 0, "setrlimit64");
	limit64.rlim_cur -= 4096;
	check(prlimit64(getpid(), RLIMIT_AS, &limit64, &limit64) == 0, "prlimit64");
	check(limit64.rlim_cur == limit.rlim_cur - 4096, "the limit before");
	errno = 0;
	check(prlimit(0, RLIMIT_AS, (const struct rlimit *)8, NULL) == -1 && errno == EFAULT,
	      "an invalid address");
	use_memory((size_t)200 << 20);
	say("after");
}

static void mode_say(void)
{
	say("under the limit");
}

/* argument: how many blocks of 1,000 bytes; they fit within the limit. */
static void mode_blocks(void)
{
	for (long left = strtol(arguments[0], NULL, 0); left > 0; left--) {
		char *block = malloc(1000);

		check(block != NULL, "malloc");
		memset(block, 1, 1000);
	}
	say("after");
}

/* Executes itself under the limit.  Further arguments: a mode ("say" by default), its argument. */
static void mode_limited(void)
{
	char *again[] = {(char *)(uintptr_t) "victim", (char *)(uintptr_t) "say", NULL, NULL};

	set_limit();
	if (arguments[2] != NULL) {
		again[1] = arguments[2];
		again[2] = arguments[3];
	}
	execv("/proc/self/exe", again);
	check(0, "exec");
}

/* Allocates until malloc() fails, and frees all; three times.  argument: the limit. */
static void mode_exhaust(void)
{
	static void *blocks[BLOCKS];
	char *again[] = {(char *)(uintptr_t) "as", arguments[0], NULL};
	int count;

	arguments = again;
	say("before");
	set_limit();
	for (int round = 0; round < 3; round++) {
		size_t size = round == 1 ? 1000000 : 20000;

		for (count = 0; count < BLOCKS; count++) {
			blocks[count] = malloc(size);
			if (blocks[count] == NULL)
				break;
		}
		printf("the end, %d\n", count < BLOCKS ? errno : 0);
		while (count-- > 0)
			free(blocks[count]);
	}
	say("after");
}

static const struct mode modes[] = {
	{"capabilities", mode_capabilities},
	{"user", mode_user},
	{"chroot", mode_chroot},
	{"prctl", mode_prctl},
	{"limit", mode_limit},
	{"room", mode_room},
	{"say", mode_say},
	{"blocks", mode_blocks},
	{"limited", mode_limited},
	{"exhaust", mode_exhaust},
};

int main(int argc, char **argv)
{
	(void)argc;
	arguments = argv + 2;
	return run_mode(modes, sizeof modes / sizeof modes[0], argv[1]);
}
