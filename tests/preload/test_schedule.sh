#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Profiles while the program runs: by time, by bytes allocated, by new high water; and only
# the last ones kept.
. "$(dirname "$0")/lib.sh"

need "${CC:-cc}"

# grow [PROFILE WAITS]: after every 15 MB, that often, waits for a profile since the last wait;
# PROFILE is their name, with a printf format for the number.
cat >"$directory/grow.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum { BLOCKS = 50, TURNS = 2, WAIT_BLOCKS = 15, TRIES = 200000, MAX_NUMBER = 20 };
static void *blocks[BLOCKS];
static __attribute__((noinline)) void *site_grow(void)
{
	void *block = malloc(1000000);
	__asm__ volatile("" : "+r"(block));
	return block;
}
static void wait_for_profile(const char *format)
{
	static int last;
	char name[1000];
	for (int tries = 0; tries < TRIES; tries++) {
		for (int number = MAX_NUMBER; number > last; number--) {
			snprintf(name, sizeof name, format, number);
			if (access(name, F_OK) == 0) {
				last = number;
				return;
			}
		}
		usleep(1000);
	}
	exit(3);
}
int main(int argc, char **argv)
{
	int waits = argc > 2 ? atoi(argv[2]) : 0, grown = 0;
	/* To 50 MB, and down again, twice. */
	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < BLOCKS; i++) {
			blocks[i] = site_grow();
			if (argc <= 2)
				usleep(10000);
			else if (++grown % WAIT_BLOCKS == 0 && waits-- > 0)
				wait_for_profile(argv[1]);
		}
		for (int i = 0; i < BLOCKS; i++)
			free(blocks[i]);
	}
	return 0;
}
END
${CC:-cc} -O1 -fno-builtin -o "$directory/grow" "$directory/grow.c" || fail "grow is not built"

# grows NAME PROFILE WAITS SETTING...
grows() {
	name=$1 profile=$2 waits=$3
	shift 3
	mkdir "$directory/out.$name"
	run_profiled "out.$name" "HEAPSAMPLE_OUTPUT=$directory/out.$name/%n.%r.heap.pb.gz" \
		HEAPSAMPLE_INTERVAL=16k "$@" -- \
		"$directory/grow" "$directory/out.$name/$profile.heap.pb.gz" "$waits"
	expect_status 0
	expect_silence
}

# written REASON LEAST MOST: how many profiles with this reason there are.
written() {
	files=$(find "$out" -name "*$1.heap.pb.gz" | wc -l)
	if [ "$files" -lt "$2" ] || [ "$files" -gt "$3" ]; then
		fail "$(basename "$out"): $files of $1, not $2 to $3:" "$out"/*
	fi
}

# Of 100 MB; each counts from the one before, which was a little late.
grows allocated %04d.alloc 6 HEAPSAMPLE_ALLOC_INTERVAL=10m
written alloc 6 10
written exit 1 1
expect_profiles "$(profile_count)"

# The profile at the end is the last one, even if others are due that there was no time for.
cat >"$directory/burst.c" <<'END'
#include <stdlib.h>
#include <string.h>
int main(void)
{
	for (int i = 0; i < 40; i++)
		memset(malloc(1 << 20), 1, 1);
	return 0;
}
END
"${CC:-cc}" -O0 -o "$directory/burst" "$directory/burst.c" || fail "burst is not built"
for turn in 1 2 3 4 5 6 7 8 9 10 11 12; do
	mkdir "$directory/out.burst$turn"
	run_profiled "out.burst$turn" HEAPSAMPLE_ALLOC_INTERVAL=10m \
		"HEAPSAMPLE_OUTPUT=$directory/out.burst$turn/%n.%r.heap.pb.gz" -- "$directory/burst"
	case $(find "$out" -type f | sort | tail -n 1) in
	*.exit.heap.pb.gz) ;;
	*) fail "a profile after the last one:" "$out"/* ;;
	esac
	expect_profiles "$(profile_count)"
done

# The second time there is nothing new.
grows high_water %04d.inuse 3 HEAPSAMPLE_INUSE_INTERVAL=10m
written inuse 3 5
written exit 1 1

grows kept %04d.alloc 6 HEAPSAMPLE_ALLOC_INTERVAL=10m HEAPSAMPLE_KEEP=2
written alloc 2 2
written exit 1 1
last=$(basename "$out"/*.exit.heap.pb.gz | cut -d . -f 1)
[ "$last" -ge 7 ] || fail "only $last profiles were written"
[ -f "$out/$(printf %04d "$(expr "$last" - 1)").alloc.heap.pb.gz" ] ||
	fail "not the last ones were kept:" "$out"/*

# One is larger than that already, and stays.
grows kept_bytes %04d.alloc 6 HEAPSAMPLE_ALLOC_INTERVAL=10m HEAPSAMPLE_KEEP=5,100
written alloc 1 1
# Any number of files, but not of bytes.
grows kept_bytes_only %04d.alloc 6 HEAPSAMPLE_ALLOC_INTERVAL=10m HEAPSAMPLE_KEEP=0,100
written alloc 1 1

# The same name each time: there is one, and nothing to remove.
grows one_name alloc 1 HEAPSAMPLE_ALLOC_INTERVAL=10m HEAPSAMPLE_KEEP=1 \
	"HEAPSAMPLE_OUTPUT=$directory/out.one_name/%r.heap.pb.gz"
written alloc 1 1

# As many as fit in the size of three and a half are kept.
bytes=$(wc -c <"$(find "$directory/out.kept" -name '*.alloc.heap.pb.gz' | head -n 1)")
grows kept_size %04d.alloc 6 HEAPSAMPLE_ALLOC_INTERVAL=10m HEAPSAMPLE_KEEP=9,$((bytes * 7 / 2))
written alloc 2 4

# keep DIRECTORY: writes a profile by request, one on a signal, three by bytes; so many by bytes
# again in a child; and, when one of its own has been taken away, another one.
# keep DIRECTORY reset: one when much is in use; one when less is, after a reset.
cat >"$directory/keep.c" <<'END'
#include <heapsample/heapsample.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum { TRIES = 200000 };
static const char *directory;
static void *volatile block;
static char name[1000];
static void set_name(int number, const char *reason)
{
	snprintf(name, sizeof name, "%s/%d.%04d.%s.heap.pb.gz", directory, (int)getpid(), number,
		 reason);
}
static void wait_for(int number, const char *reason)
{
	set_name(number, reason);
	for (int tries = 0; access(name, F_OK) != 0; tries++) {
		if (tries == TRIES)
			exit(3);
		usleep(1000);
	}
}
static void write_profiles(int first, int last)
{
	for (int number = first; number <= last; number++) {
		block = malloc(2000000);
		free(block);
		wait_for(number, "alloc");
	}
}
static int reset(void)
{
	block = malloc(50000000);
	wait_for(1, "inuse");
	free(block);
	if (heapsample_reset() != 0)
		return 4;
	block = malloc(30000000);
	wait_for(2, "inuse");
	return 0;
}
int main(int argc, char **argv)
{
	int status;
	pid_t child;

	directory = argv[1];
	if (argc > 2)
		return reset();
	block = malloc(1000);
	if (heapsample_dump(NULL, 0) != 0)
		return 4;
	raise(SIGUSR2);
	wait_for(2, "signal");
	write_profiles(3, 5);
	child = fork();
	if (child == 0) {
		write_profiles(1, 3);
		return 0;
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		return 5;
	set_name(4, "alloc");
	if (unlink(name) != 0)
		return 6;
	write_profiles(6, 6);
	return 0;
}
END
${CC:-cc} -I"$source_directory/include" -O1 -fno-builtin -D_GNU_SOURCE -o "$directory/keep" \
	"$directory/keep.c" -ldl || exit 99
# Only those by bytes are removed, each process's by itself, and none is missed.
run_profiled apart "HEAPSAMPLE_OUTPUT=$directory/apart/%p.%n.%r.heap.pb.gz" HEAPSAMPLE_INTERVAL=1 \
	HEAPSAMPLE_ALLOC_INTERVAL=1m HEAPSAMPLE_KEEP=2 HEAPSAMPLE_SIGNAL=USR2 -- \
	"$directory/keep" "$directory/apart"
expect_status 0
expect_silence
expect_profiles 8
written call 1 1
written signal 1 1
written alloc 4 4
written exit 2 2

# What was in use before a reset is no mark for what is in use afterwards.
run_profiled reset "HEAPSAMPLE_OUTPUT=$directory/reset/%p.%n.%r.heap.pb.gz" \
	HEAPSAMPLE_INUSE_INTERVAL=10m HEAPSAMPLE_INTERVAL=16k -- \
	"$directory/keep" "$directory/reset" reset
expect_status 0
expect_silence
written inuse 2 2

# The peak: reaching it again is no new peak.  It is written with the first profile, and only then.
run_profiled peak HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_PEAK=1 -- "$directory/grow"
expect_status 0
expect_silence
expect_profiles 2
check check_profile.py site "$out"/grow.*.peak.heap.pb.gz grow 50 50000000 50 50000000
check check_profile.py site "$out"/grow.*.0001.heap.pb.gz grow 100 100000000 0 0
"$python" - "$source_directory/tests" "$out"/*.heap.pb.gz <<'END' || fail "the times of the peak"
import sys
sys.path.insert(0, sys.argv[1])
from pprof_read import read_profile
end, peak = [read_profile(path) for path in sorted(sys.argv[2:])]
print(peak.time_nanos, end.time_nanos)
# Half of the time is after it.
sys.exit(not end.time_nanos - peak.time_nanos > 300e6)
END
run_profiled peak_name HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_PEAK=1 \
	"HEAPSAMPLE_OUTPUT=$directory/peak_name/all.heap.pb.gz" -- "$directory/grow"
[ -f "$out/all.peak.heap.pb.gz" ] && [ -f "$out/all.heap.pb.gz" ] || fail "names:" "$out"/*

# What is in use at a high water mark may be freed at once: of the profiles its own comes first.
grows fleeting %04d.inuse 1 HEAPSAMPLE_INUSE_INTERVAL=10m HEAPSAMPLE_PEAK=1 \
	HEAPSAMPLE_LOG=info "HEAPSAMPLE_LOGFILE=$directory/fleeting.log"
order=$(sed -n 's/.*wrote .* (\([a-z]*\),.*/\1/p' "$directory/fleeting.log" | head -n 2)
[ "$(echo $order)" = "inuse peak" ] || fail "the order at a high water mark: $order"

# A child writes the peak that it has inherited into a file of its own.
cat >"$directory/peak_fork.c" <<'END'
#include <heapsample/heapsample.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile block;
int main(void)
{
	int status;
	pid_t child;

	block = malloc(1000000);
	free(block);
	if (heapsample_dump(NULL, 0) != 0)
		return 3;
	child = fork();
	if (child == 0) {
		block = malloc(1000);
		return 0;
	}
	return waitpid(child, &status, 0) == child && status == 0 ? 0 : 4;
}
END
${CC:-cc} -I"$source_directory/include" -o "$directory/peak_fork" "$directory/peak_fork.c" \
	-ldl || exit 99
run_profiled peak_of_child HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_PEAK=1 -- "$directory/peak_fork"
expect_status 0
expect_silence
set -- "$out"/peak_fork.*.peak.heap.pb.gz
[ $# -eq 2 ] || fail "not a peak each:" "$out"/*

# The next process of the same name, and a heap whose name looks the same in a file's, leave it as
# it is; a later peak of the same heap replaces it.
cat >"$directory/peaks.c" <<'END'
#include <heapsample/heapsample.h>
__attribute__((noinline)) static int site_peaks(int first, int second, int address)
{
	return heapsample_report_allocation(first, address, 1000) != 1 ||
	       heapsample_report_allocation(second, address + 1, 1000) != 1 ||
	       heapsample_dump(0, 0) != 0;
}
int main(void)
{
	int first = heapsample_heap_register("gpu/0", 0);
	int second = heapsample_heap_register("gpu_0", 0);

	return site_peaks(first, second, 100) || site_peaks(first, second, 200) ? 3 : 0;
}
END
${CC:-cc} -I"$source_directory/include" -o "$directory/peaks" "$directory/peaks.c" \
	-ldl || exit 99
for life in 1 2; do
	run_profiled peak_of_life HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_PEAK=1 HEAPSAMPLE_FINAL=0 \
		"HEAPSAMPLE_OUTPUT=$directory/peak_of_life/%n.heap.pb.gz" -- "$directory/peaks"
	expect_status 0
	expect_silence
done
set -- "$out"/peak-gpu_0.heap.pb.gz "$out"/peak-gpu_0.[234].heap.pb.gz "$out"/peak-*
[ $# -eq 8 ] || fail "peaks of two heaps in two lives:" "$out"/*
for reason in gpu/0 gpu_0 gpu/0 gpu_0; do
	check check_profile.py comment "$1" "reason=peak-$reason"
	check check_profile.py site "$1" peaks 2 2000 2 2000
	shift
done

# At 0, 1, 2 seconds and so on there would be more.
grows phase %04d.interval 1 HEAPSAMPLE_TIME_INTERVAL=1h HEAPSAMPLE_TIME_PHASE=1
written interval 1 1
finish
