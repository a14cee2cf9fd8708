#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Ends of processes in every way, and what they do to descriptors and directories before.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hostile.sh"

ulimit -S -c 0
victim=$victims/victim_hostile_end

kind exit
for mode in return exit exit-directly quick-exit exit-thread exit-busy; do
	hostile "process-$mode" 1 -- "$victims/victim_process" $mode
done
hostile pthread-exit 1 -- "$victim" pthread-exit
for how in posix c11; do
	hostile create-fails.$how 1 -- "$victim" create-fails $how
	ended_with 0
done
# The profiler runs as long as there is a thread: outlived NAME HOW-MANY MODE [ARGUMENT]
outlived() {
	outlived_name=$1 outlived_due=$2
	shift 2
	hostile "$outlived_name" "$outlived_due" HEAPSAMPLE_BLOCK=10000 -- "$victim" "$@"
	for file in "$directory/$outlived_name.1"/*.heap.pb.gz; do
		check check_profile.py uncounted "$file" lost_ring stackless
	done
}
for how in thrd_exit pthread_exit; do
	outlived c11.$how 1 c11 $how
done
hostile thrd-exit 1 -- "$victim" thrd-exit
outlived cancelled.first 1 cancelled first
for when in last alone; do
	hostile cancelled.$when 1 -- "$victim" cancelled $when
done
hostile cancelled.forks 2 -- "$victim" cancelled forks
outlived fork-in-thread 2 fork-in-thread
hostile exit-second 1 -- "$victim" exit-second
hostile _Exit 1 -- "$victim" _Exit
hostile quick 1 -- "$victim" quick
hostile storm 1 -- "$victim" storm
hostile in-handler 1 -- "$victims/victim_end" handler 1700
hostile two-at-once 1 -- "$victims/victim_end" second 300
hostile starting 1 -- "$victims/victim_end" starting 30

kind killed
hostile abort 0 -- "$victim" abort
hostile fault 0 -- "$victim" fault
hostile KILL 0 -- "$victim" signal 9
hostile TERM 0 -- "$victim" signal 15
for number in 15 2 1; do
	hostile "final.$number" 1 HEAPSAMPLE_FINAL=term -- "$victim" signal $number
	# What the child does later is in its profile.
	if unshare -p true 2>/dev/null; then
		hostile "first.$number" 3 -m 'cannot be started' HEAPSAMPLE_FINAL=term -- \
			"$victim" signal-first $number
		ended_with 5
		check check_profile.py least "$directory/first.$number.1"/*.1.0001.heap.pb.gz \
			site_later 10000000
	else
		skip_case "first.$number" "cannot unshare"
	fi
done
if build libforkterm.so victim_hostile_fork_term.c -DLIBRARY -shared -fPIC -lpthread &&
	build fork_term victim_hostile_fork_term.c "-L$directory" -lforkterm \
		"-Wl,-rpath,$directory"; then
	hostile TERM-in-fork 1 HEAPSAMPLE_FINAL=term -- "$directory/fork_term"
else
	fail "TERM-in-fork cannot be built"
fi
hostile SEGV 0 -- "$victim" signal 11
for delay in 1000 8000 15000 30000; do
	hostile "kill-in-dump.$delay" any -- "$victim" kill-in-dump $delay
done

kind descriptors
for how in 0 1; do
	hostile "close.$how" 2 -e -- "$victim" close $how
	hostile "close-stream.$how" any -e -m 'the program closed its descriptor' \
		"HEAPSAMPLE_STREAM=$directory/%p.%e.stream" -- "$victim" close $how
done
file=$directory/of_the_program
# More descriptors than it takes: without any there is no profile, which is another case.
# shellcheck disable=SC3045 # where a shell has no -S there is no such case
if ulimit -S -n 2048 2>/dev/null; then
	# Onto the profiler's own descriptor too, while it reads: what comes of that it says.
	hostile dup-over 2 -e -m 'cannot be read' -- "$victim" dup-over "$file"
	[ ! -s "$file" ] || fail "dup-over: the program's file: $(head -c 200 "$file")"
else
	skip_case dup-over "not more than 1024 descriptors"
fi

kind directories
# Its name is not a pattern.
mkdir "$directory/start%p"
cd "$directory/start%p" || exit 1
hostile chdir any HEAPSAMPLE_OUTPUT=%p.%n.heap.pb.gz HEAPSAMPLE_STATS=%p.%n.json -- \
	"$victim" chdir /
[ "$(profile_count .)" -eq 6 ] || fail "chdir: profiles are not where it was at its start:" ./*
[ "$(find . -name '*.json' | wc -l)" -eq 6 ] || fail "chdir: nor are the statistics:" ./*
hostile chdir-stream 0 HEAPSAMPLE_STREAM=%p.stream -- "$victim" chdir /
[ "$(find . -name '*.stream' | wc -l)" -eq 2 ] || fail "chdir-stream: nor are the streams:" ./*
hostile rmdir any HEAPSAMPLE_OUTPUT=%p.%n.heap.pb.gz HEAPSAMPLE_LOGFILE=log HEAPSAMPLE_LOG=info \
	-- "$victim" rmdir "$directory/gone"
[ "$(profile_count .)" -eq 8 ] || fail "rmdir: no profiles where it was at its start:" ./*
[ "$(grep -c ': wrote ' log)" -eq 2 ] || fail "rmdir: no messages where it was at its start"
cd - >/dev/null || exit 1
hostile remove-output any -m 'no such directory' \
	"HEAPSAMPLE_OUTPUT=$directory/away/%p.%n.heap.pb.gz" -- "$victim" remove-output "$directory/away"
has_said 'no such directory'
finish_cases
