#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# A process executes another program in place: there is a profile of each image, but of no child
# that only executes; an execution that fails is not an end.
. "$(dirname "$0")/lib.sh"

# Of each image one before the executions that fail and one before the next; of the last its end.
CHAIN=evpPlLEfa
run_profiled chain HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_OUTPUT=$directory/chain/%n.%r.heap.pb.gz" -- \
	"$victims/victim_exec" $CHAIN
expect_status 5
expect_silence
images=$((${#CHAIN} + 1))
expect_profiles $((2 * images))
for number in $(seq 2 2 $((2 * images))); do
	check check_profile.py site "$out/$(printf %04d "$number")".*.heap.pb.gz \
		image 10 10000 10 10000
	check check_profile.py counted "$out/$(printf %04d "$number")".*.heap.pb.gz allocated_bytes
done
[ "$(find "$out" -name '*.exec.heap.pb.gz' | wc -l)" -eq $((2 * images - 1)) ] ||
	fail "not all but the last are of an exec:" "$out"/*

# So does a later process, as after the restart of a container, where each program is process 1.
for life in 1 2; do
	run_profiled lives HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_OUTPUT=$directory/lives/%e.%n.heap.pb.gz" \
		-- "$victims/victim_exec" ""
	expect_status 5
	expect_silence
	expect_profiles $((2 * life))
done

# One that is looked for by its name, which is no path.
run_profiled name HEAPSAMPLE_INTERVAL=1 -- env true
expect_status 0
expect_silence
count=$(profile_count)
[ "$count" -eq 2 ] || fail "name: $count profiles, not env's and true's:" "$out"/*

# With a libc without execveat() the library's own makes the system call.
if build hide_execveat.so hide_execveat.c -O2 -foptimize-sibling-calls -fPIC -shared -ldl; then
	PRELOAD=$directory/hide_execveat.so
	run_profiled no_execveat HEAPSAMPLE_INTERVAL=1 -- "$victims/victim_exec" a
	PRELOAD=
	expect_status 5
	expect_silence
	expect_profiles 4
else
	fail "no library that hides execveat: $(cat "$directory/hide_execveat.so.build")"
fi

run_profiled no_final HEAPSAMPLE_FINAL=0 HEAPSAMPLE_INTERVAL=1 -- "$victims/victim_exec" ev
expect_status 5
expect_profiles 0

# Only the last image has samples: only it writes a profile.
run_profiled nothing HEAPSAMPLE_INTERVAL=1g -- "$victims/victim_exec" evl
expect_status 5
expect_silence
count=$(profile_count)
[ "$count" -eq 1 ] || fail "nothing: $count profiles:" "$out"/*
finish
