#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# HEAPSAMPLE_KEEP removes the process's own files only, not those of its parent, and makes room for a
# profile on a full disk.
# See also test_schedule.sh.
. "$(dirname "$0")/lib.sh"

need "${CC:-cc}"

# keep taken: removes its first profile, writes another file of that name, and writes more profiles.
# keep full: writes some profiles, fills the disk, and ends.
# keep fork: writes some profiles, named by the process, and has a child write more.
# All in the working directory.
cat >"$directory/keep.c" <<'END'
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum { TRIES = 200000 };
static void *volatile block;
static char prefix[20];
static int is_there(int number)
{
	char name[100];
	snprintf(name, sizeof name, "%s%04d.alloc.heap.pb.gz", prefix, number);
	return access(name, F_OK) == 0;
}
static void write_profiles(int first, int last)
{
	for (int number = first; number <= last; number++) {
		block = malloc(2000000);
		free(block);
		for (int tries = 0; !is_there(number); tries++) {
			if (tries == TRIES)
				exit(3);
			usleep(1000);
		}
	}
}
static int replace(const char *path)
{
	int fd;
	if (unlink(path) != 0)
		return 4;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	return write(fd, "another's", 9) == 9 ? close(fd) : 4;
}
static int fill(const char *path)
{
	static const char zeros[1024];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	while (write(fd, zeros, sizeof zeros) > 0)
		;
	return fd >= 0 && errno == ENOSPC ? close(fd) : 5;
}
static int write_more_in_child(void)
{
	int status = 0;
	pid_t child;
	usleep(200000); /* the profiler is idle by then: a fork does not wait for long */
	child = fork();
	if (child == 0) {
		snprintf(prefix, sizeof prefix, "%d.", (int)getpid());
		write_profiles(1, 4);
		exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		return 6;
	return is_there(2) && is_there(3) ? 0 : 7;
}
int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "fork") == 0)
		snprintf(prefix, sizeof prefix, "%d.", (int)getpid());
	write_profiles(1, 3);
	if (strcmp(argv[1], "fork") == 0)
		return write_more_in_child();
	if (strcmp(argv[1], "full") == 0)
		return fill("fill");
	if (replace("0001.alloc.heap.pb.gz") != 0)
		return 4;
	write_profiles(4, 6);
	return 0;
}
END
${CC:-cc} -O1 -fno-builtin -D_GNU_SOURCE -o "$directory/keep" "$directory/keep.c" || exit 99

mkdir "$directory/taken" "$directory/fork" "$directory/full"
cd "$directory/taken" || exit 1
run_profiled taken HEAPSAMPLE_OUTPUT=%n.%r.heap.pb.gz HEAPSAMPLE_INTERVAL=1 \
	HEAPSAMPLE_ALLOC_INTERVAL=1m HEAPSAMPLE_KEEP=3 -- "$directory/keep" taken
expect_status 0
expect_silence
[ "$(cat "$out/0001.alloc.heap.pb.gz")" = "another's" ] || fail "taken: another's file:" "$out"/*
rm -f "$out/0001.alloc.heap.pb.gz"
# And the last one, at the end.
expect_profiles 4
cd "$directory" || exit 1

cd "$directory/fork" || exit 1
run_profiled fork HEAPSAMPLE_OUTPUT=%p.%n.%r.heap.pb.gz HEAPSAMPLE_INTERVAL=1 \
	HEAPSAMPLE_ALLOC_INTERVAL=1m HEAPSAMPLE_KEEP=2 -- "$directory/keep" fork
expect_status 0
expect_silence
# Two of each, and the last one of each.
expect_profiles 6
cd "$directory" || exit 1

cat >"$directory/full.sh" <<'END'
mount -t tmpfs -o size=256k none "$2" && cd "$2" || exit 99
"$1" full || exit
ls
END
unshare='unshare -m'
$unshare true 2>/dev/null || unshare='unshare -U -r -m'
if ! $unshare true 2>/dev/null; then
	echo "without a full disk" >&2
	finish
fi
# shellcheck disable=SC2086 # words
run_profiled full "HEAPSAMPLE_OUTPUT=$directory/full/%n.%r.heap.pb.gz" HEAPSAMPLE_INTERVAL=1 \
	HEAPSAMPLE_ALLOC_INTERVAL=1m HEAPSAMPLE_KEEP=9 HEAPSAMPLE_PROGRAMS=keep -- \
	$unshare sh "$directory/full.sh" "$directory/keep" "$directory/full"
expect_status 0
expect_silence
expected="0002.alloc.heap.pb.gz 0003.alloc.heap.pb.gz 0004.exit.heap.pb.gz fill"
# shellcheck disable=SC2005,SC2046 # in one line
[ "$(echo $(cat "$out.stdout"))" = "$expected" ] || fail "full: $(cat "$out.stdout")"
finish
