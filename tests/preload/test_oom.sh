#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# HEAPSAMPLE_OOM: a program that aborts because memory is refused, or is killed while memory is
# short, leaves a profile whose top entry is what grew.
. "$(dirname "$0")/lib.sh"

limit=1073741824

# leaks HOW NAME RESOURCE THREADS BLOCK-BYTES PERCENT LEAST END: with the limit on a resource
# of ulimit's; HOW is run_profiled or start_profiled.
leaks() {
	out=$directory/$2
	ulimit -S "-$3" $((limit / 1024))
	"$1" "$2" "HEAPSAMPLE_OUTPUT=$out/%n.%r.heap.pb.gz" "HEAPSAMPLE_OOM=$6" \
		HEAPSAMPLE_INTERVAL=64k HEAPSAMPLE_MEMORY=32m -- "$victims/victim_leak" \
		"$4" "$5" $((limit / 100 * $6)) "$out/0001.oom.heap.pb.gz" "$7"
	ulimit -S "-$3" "$(ulimit -H "-$3")"
}

# has_leak LEAST: there is one profile, and most in use are these bytes or more of the leak's.
has_leak() {
	[ -z "$(messages)" ] || fail "$(basename "$out"): $(messages)"
	expect_profiles 1
	check check_profile.py top "$out/0001.oom.heap.pb.gz" site_leak "$1"
}

aborts() {
	leaks run_profiled "$1" "$2" "$3" "$4" "$5" go-on
	expect_status 134
	has_leak "$6"
}

ulimit -S -c 0
# Of addresses, of data: a few huge blocks, many small ones, one thread, four.  What a thread
# is allocating at that moment is in use but not yet a sample.
for resource in v d; do
	aborts "huge.$resource" $resource 1 $((limit / 8)) 75 $((limit / 2))
	aborts "huge.threads.$resource" $resource 4 $((limit / 8)) 50 $((limit / 8))
	aborts "small.$resource" $resource 1 1000 75 $((limit / 2))
	aborts "small.threads.$resource" $resource 4 1000 50 $((limit / 8))
done

leaks start_profiled killed v 1 1000 50 pause
wait_until has_profiles 1 || fail "killed: no profile"
end_profiled KILL
expect_status 137
has_leak $((limit / 4))

# What the program maps without allocating: the limits are looked at each second.
mkfifo "$directory/end"
exec 3<>"$directory/end"
ulimit -S -v $((limit / 1024))
start_profiled mapped "HEAPSAMPLE_OUTPUT=$directory/mapped/%n.%r.heap.pb.gz" HEAPSAMPLE_OOM=50 \
	HEAPSAMPLE_INTERVAL=64k HEAPSAMPLE_MEMORY=32m -- "$python" -c 'import mmap, sys
memory = mmap.mmap(-1, 600 << 20)
open(sys.argv[1]).readline()' "$directory/end"
ulimit -S -v "$(ulimit -H -v)"
wait_until has_profiles 1 || fail "mapped: no profile"
echo >&3
wait "$process"
status=$?
background=
expect_status 0
[ -f "$out/0001.oom.heap.pb.gz" ] || fail "mapped:" "$out"/*
finish
