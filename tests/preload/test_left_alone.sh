#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Processes whose threads end without libc knowing: they end with the status that they have
# without the library, although its threads still exist.  At once, and after a rest in which the
# profiler sleeps.
CASE_SECONDS=${CASE_SECONDS:-40}
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hostile.sh"

ulimit -S -c 0
victim=$victims/victim_left_alone
# Under a seccomp filter (containers) a look finds each end, after 10 s: one of the two is enough.
rests="0 400"
grep -q '^Seccomp:[[:space:]]*0' /proc/self/status || rests=0

# left_alone STATUS PROFILES MODE [VARIABLE=VALUE...]: both ways.
left_alone() {
	expected=$1 profiles=$2 mode=$3
	shift 3
	for rest_ms in $rests; do
		hostile "$(echo "$mode" $rest_ms "$@" | tr ' ' .)" "$profiles" "$@" -- \
			"$victim" "$mode" $rest_ms
		ended_with "$expected"
	done
}

kind left-alone
left_alone 7 1 exit
left_alone 7 1 exit HEAPSAMPLE_BLOCK=0
left_alone 7 any exit HEAPSAMPLE_TIME_INTERVAL=1h HEAPSAMPLE_SIGNAL=USR2
left_alone 4 1 other-goes-on
left_alone 4 1 joined
left_alone 4 1 joined-late
left_alone 5 2 fork
left_alone 5 2 fork-in-thread
left_alone 5 1 vfork
has_filters=yes
"$victim" filter >/dev/null
[ $? -eq 159 ] || has_filters=no
if [ "$has_filters" = yes ]; then
	left_alone 159 0 filter
	left_alone 159 0 filter-handled
	if [ "$rests" != 0 ]; then
		left_alone 3 1 strict
		left_alone 137 0 strict-killed
	else
		skip_case strict "a filter is there, so there is no strict mode"
	fi
	left_alone 5 1 unknown-call HEAPSAMPLE_BLOCK=0
	left_alone 5 1 unknown-call-later
else
	skip_case filter "no seccomp filters"
fi

# Where nobody tells it the profiler looks, the first time after 10 s: all at once.
slow=
start_slow() {
	(
		one_way "$directory/$2" HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_BLOCK=0 \
			"HEAPSAMPLE_OUTPUT=$directory/$2.%p.heap.pb.gz" "LD_PRELOAD=$library" -- \
			"$victim" "$2"
		exit "$status"
	) &
	slow="$slow $!:$1:$2"
}
start_slow 7 other-ends
if [ "$has_filters" = yes ]; then
	start_slow 159 filter-first
	start_slow 159 filter-all
fi
for entry in $slow; do
	wait "${entry%%:*}"
	status=$?
	out=$directory/${entry##*:}
	entry=${entry#*:}
	expect_status "${entry%%:*}"
done
finish_cases
