#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Stacks from all places where they begin and end: constructors, IFUNC resolvers, handlers,
# coroutines, destructors of threads, exit; stacks deeper than what is kept.
. "$(dirname "$0")/lib.sh"

build library.so victim_frames_library.c -shared -fPIC ||
	skip "no library with an IFUNC: $(head -1 "$directory/library.so.build")"
# frames NAME ARGUMENT...: of the checker
frames() {
	run_profiled "$1" HEAPSAMPLE_INTERVAL=1 -- "$victims/victim_frames" "$directory/library.so"
	shift
	expect_status 0
	expect_silence
	expect_profiles 1
	check check_profile.py lossless "$out"/*.heap.pb.gz
	check check_frames.py "$out"/*.heap.pb.gz "$@"
}

frames opened
PRELOAD=$directory/library.so
frames preloaded preloaded
unset PRELOAD

# All of a large stack.
run_profiled large HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_STACK=256k -- \
	"$victims/victim_frames" "$directory/library.so"
expect_status 0
expect_silence
"$python" "$source_directory/tests/pprof_read.py" dump "$out"/*.heap.pb.gz |
	grep -q -w stack_truncated=2 || fail "large: not only two stacks are cut"

# What cannot be walked of a stack that is larger than a copy is copied from there on.
run_profiled part HEAPSAMPLE_INTERVAL=1 -- "$victims/victim_large_stacks"
expect_status 0
check check_large_stacks.py "$(ls "$out"/*.heap.pb.gz | tail -n 1)"

run_profiled cut HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_DEPTH=4 -- "$victims/victim_stacks"
expect_status 0
expect_silence
expect_profiles 1
check check_profile.py lossless "$out"/*.heap.pb.gz
check check_depth.py "$out"/*.heap.pb.gz 4
finish
