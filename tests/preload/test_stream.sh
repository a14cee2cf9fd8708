#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# HEAPSAMPLE_STREAM: every allocation and free in order, readable whenever it is cut off; no
# profile; children and executed programs with files of their own; what is wrong ends the
# stream and not the program.
. "$(dirname "$0")/lib.sh"

stream() {
	check check_stream.py "$@"
}

# The streams of the last run: expect_streams HOW-MANY
expect_streams() {
	count=$(find "$out" -name '*.stream' | wc -l)
	[ "$count" -eq "$1" ] || fail "$(basename "$out"): $count streams, not $1:" "$out"/*
	[ "$(find "$out" -type f | wc -l)" -eq "$count" ] ||
		fail "$(basename "$out"): not only streams:" "$out"/*
}

is_larger() {
	[ -f "$1" ] && [ "$(wc -c <"$1")" -gt "$2" ]
}

# All of it, in four threads, against the program's own books and a profile.  libunwind, which
# only a profile needs, is there in both: the C library keeps a word per library and thread.
PRELOAD=libunwind-$(uname -m).so.8
for mode in keep free; do
	run_profiled "profile.$mode" HEAPSAMPLE_INTERVAL=1 -- "$victims/victim_exact" $mode
	profile=$(echo "$out"/*.heap.pb.gz)
	run_profiled "exact.$mode" HEAPSAMPLE_INTERVAL=1 \
		"HEAPSAMPLE_STREAM=$directory/exact.$mode/%e.%p.%r" -- "$victims/victim_exact" $mode
	expect_status 0
	expect_silence
	expect_streams 1
	stream exact "$out"/victim_exact.*.stream "$out.stdout" "$profile"
	stream cut "$out"/*.stream
done
PRELOAD=

# Final profiles off: the stream is complete all the same.
run_profiled no_final HEAPSAMPLE_FINAL=0 HEAPSAMPLE_INTERVAL=1 \
	"HEAPSAMPLE_STREAM=$directory/no_final/a.stream" -- "$victims/victim_process" exit
expect_status 5
expect_silence
expect_streams 1
stream complete "$out/a.stream"
stream has "$out/a.stream" 1000 100 0

# Heaps of the program's, and sampling that is off for a while.
run_profiled heaps HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STREAM=$directory/heaps/a.stream" -- \
	"$victims/victim_heaps" stream
expect_status 0
expect_silence
expect_streams 1
stream heaps "$out/a.stream" 1001:2=100,60 1002:3=100,100 1003:1=50,25 1004:2=0,0 1005:2=30,0 \
	1006:1=10,10 1007:1=0,0

# Samples: weights; and what is lost is said.
run_profiled sampled HEAPSAMPLE_INTERVAL=4k HEAPSAMPLE_MAX_INTERVAL=1 HEAPSAMPLE_SEED=1 \
	"HEAPSAMPLE_STREAM=$directory/sampled/a.stream" -- "$victims/victim_exact" keep
expect_status 0
stream sampled "$out/a.stream" 4096
run_profiled lossy HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_MAX_INTERVAL=1 HEAPSAMPLE_BLOCK=0 \
	HEAPSAMPLE_RING=64k HEAPSAMPLE_STACK=8k \
	"HEAPSAMPLE_STREAM=$directory/lossy/a.stream" -- \
	"$victims/victim_same_address" free
expect_status 0
expect_one_message 'missing in the stream' /lossy/a.stream
stream lossy "$out/a.stream" 100 50000 \
	"$(messages | sed 's/.*: \([0-9]*\) events are missing in .*/\1/')"

# Written after a second, and so is each free that nothing is sampled after; killed then.
start_profiled idle HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STREAM=$directory/idle/a.stream" -- \
	"$victims/victim_stream" idle "$directory/idle/a.stream"
wait_until "$python" "$tests/check_stream.py" has "$out/a.stream" 1001 10 0 >/dev/null 2>&1 ||
	fail "idle: not all is written"
kill -USR1 "$process"
wait "$process"
status=$?
background=
expect_status 137
expect_streams 1
stream complete "$out/a.stream"
stream has "$out/a.stream" 1001 10 10

# Killed while it allocates.
start_profiled killed HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STREAM=$directory/killed/a.stream" -- \
	"$victims/victim_stream" churn
wait_until is_larger "$out/a.stream" 300000 || fail "killed: no stream"
end_profiled KILL
expect_streams 1
stream prefix "$out/a.stream"

# A forked child: its own events only.
run_profiled fork HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STREAM=$directory/fork/a.stream" -- \
	"$victims/victim_stream" fork "$directory/fork/a.stream"
expect_status 5
expect_silence
expect_streams 2
stream complete "$out/a.stream"
stream has "$out/a.stream" 1001 10 0
stream has "$out/a.stream" 1002 10 0
stream has "$out/a.stream" 503 0 0
stream has "$out/a.stream" 1004 10 0
for child in "$out"/a.*.stream; do
	stream inherited "$child" "$out/a.stream"
	stream has "$child" 1002 0 0
	stream has "$child" 503 10 0
	stream has "$child" 1004 0 0
done
need timeout
run_profiled fork_often HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_CHILDREN=all \
	"HEAPSAMPLE_STREAM=$directory/fork_often/%e.%p.stream" -- \
	timeout 250 "$victims/victim_process" fork-often
expect_status 0
count=$(find "$out" -name 'victim_process.*.stream' | wc -l)
[ $((count + $(grep -c 'fork met the profiler' "$out.stderr"))) -eq 101 ] ||
	fail "fork_often: $count streams of one process and its 100 children"
# The children's; the parent's is large.
# shellcheck disable=SC2046 # no path has a blank in it
stream prefix $(find "$out" -name 'victim_process.*.stream' -size -100k)

# Each program that is executed in place: its own, whole, even without final profiles.
run_profiled exec HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_FINAL=0 \
	"HEAPSAMPLE_STREAM=$directory/exec/%n.stream" -- "$victims/victim_exec" evl
expect_status 5
expect_silence
expect_streams 4
for file in "$out"/*.stream; do
	stream complete "$file"
	stream has "$file" 1000 10 0
done

# try NAME PATH : the program runs on, and one line says what is wrong.
try() {
	run_profiled "$1" HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STREAM=$2" -- \
		"$victims/victim_process" exit
	expect_status 5
	[ ! -s "$out.stdout" ] || fail "$1: stdout: $(cat "$out.stdout")"
}

try missing "$directory/missing/no/such/a"
expect_one_message /no/such/a HEAPSAMPLE_STREAM= 'no such' 'runs on'
try file_as_directory /dev/null/a
expect_one_message /dev/null/a 'not a directory'
mkfifo "$directory/pipe"
try fifo "$directory/pipe"
expect_one_message /pipe 'not a file'
try pattern %q
expect_one_message HEAPSAMPLE_STREAM=%q expected
run_profiled replaced HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STREAM=$directory/replaced/a.stream" -- \
	"$victims/victim_stream" replace "$directory/replaced/a.stream" "$directory/own"
expect_status 5
expect_one_message /replaced/a.stream 'closed its descriptor' 'runs on'
[ ! -s "$directory/own" ] || fail "the program's own file was written to"
stream has "$out/a.stream" 1001 10 0

# A full disk, where one can be had; else a limit to the size of files.
full=$directory/full
mkdir "$full"
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k none "$full" 2>/dev/null; then
	run_profiled disk HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STREAM=$full/a" -- \
		"$victims/victim_exact" keep
	cp "$full/a" "$directory/cut"
	umount "$full"
	expect_status 0
	expect_one_message /full/a 'no space' 'runs on'
	stream prefix "$directory/cut"
else
	echo "without a full disk" >&2
fi
run_profiled limit HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STREAM=$directory/limit/a" -- \
	sh -c 'ulimit -f 100; exec "$0" keep' "$victims/victim_exact"
expect_status 0
grep -q 'file size' "$out.stderr" || fail "limit: $(cat "$out.stderr")"

# Only asked for its settings.
run_profiled asked HEAPSAMPLE=check "HEAPSAMPLE_STREAM=$directory/asked/%r.stream" -- \
	"$victims/victim_process" exit
messages | grep -q "into $out/stream.stream" || fail "check: $(messages)"
expect_streams 0
finish
