#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# A profile for HEAPSAMPLE_OOM or HEAPSAMPLE_INUSE_INTERVAL that cannot be written is tried again, as
# there may be no other moment for it.  Of the profiles that come by themselves one line says what
# is wrong, however many fail.
. "$(dirname "$0")/lib.sh"

need "${CC:-cc}"

# retry DIRECTORY PROFILE: allocates, and when writing has failed twice makes the directory.  Ends
# without a last profile, when the profile is there.
cat >"$directory/retry.c" <<'END'
#include <heapsample/heapsample.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
enum { TRIES = 200000 };
static void *volatile block;
int main(int argc, char **argv)
{
	struct heapsample_stats stats = {0};
	int tries = 0;

	block = malloc(300000000);
	while (heapsample_get_stats(&stats, sizeof stats) == 0 && stats.profiles_failed < 2 &&
	       tries++ < TRIES)
		usleep(1000);
	if (argc < 3 || mkdir(argv[1], 0700) != 0)
		return 3;
	while (access(argv[2], F_OK) != 0 && tries++ < TRIES)
		usleep(1000);
	return tries < TRIES ? 0 : 4;
}
END
${CC:-cc} -I"$source_directory/include" -O1 -fno-builtin -o "$directory/retry" \
	"$directory/retry.c" -ldl || exit 99

# retries REASON SETTING...
retries() {
	reason=$1
	shift
	place=$directory/$reason.out
	run_profiled "$reason" HEAPSAMPLE_FINAL=0 HEAPSAMPLE_INTERVAL=64k \
		"HEAPSAMPLE_OUTPUT=$place/%n.%r.heap.pb.gz" "HEAPSAMPLE_STATS=$place/%n.stats" "$@" -- \
		"$directory/retry" "$place" "$place/0001.$reason.heap.pb.gz"
	expect_status 0
	[ "$(messages | grep -c 'error: cannot write the profile')" -eq 1 ] ||
		fail "$reason: $(messages)"
	[ "$(messages | grep -c 'error: cannot write the statistics')" -eq 1 ] ||
		fail "$reason: $(messages)"
	[ "$(messages | wc -l)" -eq 2 ] || fail "$reason: $(messages)"
}

# flood: allocates until writing has failed six times, of which three are of the peak, or for a
# minute: the profiler's threads may get little time.
cat >"$directory/flood.c" <<'END'
#include <heapsample/heapsample.h>
#include <stdlib.h>
#include <time.h>
enum { MOST_S = 60 };
static void *volatile block;
int main(void)
{
	struct heapsample_stats stats = {0};
	time_t end = time(NULL) + MOST_S;

	while (heapsample_get_stats(&stats, sizeof stats) == 0 && stats.profiles_failed < 6 &&
	       time(NULL) < end) {
		block = malloc(2000000);
		free(block);
	}
	return stats.profiles_failed < 6 ? 4 : 0;
}
END
${CC:-cc} -I"$source_directory/include" -O1 -fno-builtin -o "$directory/flood" \
	"$directory/flood.c" -ldl || exit 99
for final in 0 1; do
	run_profiled "flood$final" HEAPSAMPLE_FINAL=$final HEAPSAMPLE_INTERVAL=64k \
		HEAPSAMPLE_ALLOC_INTERVAL=1m HEAPSAMPLE_PEAK=1 \
		"HEAPSAMPLE_OUTPUT=$directory/none/%n.%r.heap.pb.gz" \
		"HEAPSAMPLE_STATS=$directory/none/%n.%r.stats" -- "$directory/flood"
	expect_status 0
	# Of the peak, and by bytes; and at the end, which is asked for, of both and of the statistics.
	[ "$(messages | grep -c 'error: cannot write the profile')" -eq $((2 + 2 * final)) ] ||
		fail "flood$final: $(messages)"
	[ "$(messages | grep -c 'error: cannot write the statistics')" -eq $((1 + 2 * final)) ] ||
		fail "flood$final: $(messages)"
done

retries inuse HEAPSAMPLE_INUSE_INTERVAL=100m
ulimit -S -v 1048576
retries oom HEAPSAMPLE_OOM=20 HEAPSAMPLE_MEMORY=32m
ulimit -S -v "$(ulimit -H -v)"
finish
