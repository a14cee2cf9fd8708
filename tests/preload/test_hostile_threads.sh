#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Threads: many, short, with small stacks, cancelled, started by libc.  Stacks: of coroutines, carved
# out of another stack, unmapped, deep.
. "$(dirname "$0")/lib.sh"
. "$tests/hostile.sh"

kind threads
for mode in short crowd tiny freeing others c11 idle; do
	hostile $mode 1 -- "$victims/victim_hostile_threads" $mode
done
hostile idle-off 0 HEAPSAMPLE=0 -- "$victims/victim_hostile_threads" idle
for mode in attributes ends cancelled; do
	hostile $mode 1 -- "$victims/victim_hostile_thread_ends" $mode
done
if "$victims/victim_hostile_threads" real-time >/dev/null; then
	hostile real-time 1 -- "$victims/victim_hostile_threads" real-time
else
	skip_case real-time "SCHED_FIFO is not permitted"
fi

kind stacks
for mode in contexts switched carved guarded guarded-later ended deep-threads deep-main; do
	hostile $mode 1 -- "$victims/victim_hostile_stacks" $mode
done
hostile guarded-without-ptrace 1 HEAPSAMPLE_PROGRAMS=victim_hostile_stacks -- \
	"$python" -B "$source_directory/tests/without_ptrace.py" "$victims/victim_hostile_stacks" guarded
ended_with 0
hostile frames 1 -- "$victims/victim_frames" /dev/null
# shellcheck disable=SC3045 # a shell without -S skips the cases
soft=$(ulimit -S -s 2>/dev/null)
# shellcheck disable=SC3045
if ulimit -S -s unlimited 2>/dev/null; then
	hostile deep-unlimited 1 -- "$victims/victim_hostile_stacks" deep-main
	hostile tiny-unlimited 1 -- "$victims/victim_hostile_threads" tiny
	ulimit -S -s "$soft"
else
	skip_case deep-unlimited "the stack's limit cannot be raised"
fi
finish_cases
