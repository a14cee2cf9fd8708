#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Signals every 100 us for each thread, that meet it anywhere in an allocation: their handlers
# allocate, on small stacks and on changing ones, jump out, or end the thread.
. "$(dirname "$0")/lib.sh"
. "$tests/hostile.sh"

build libhostile.so victim_hostile_allocator.c -shared -fPIC -Wl,-z,now &&
	build hostile_signals victim_hostile_signals.c "-L$directory" -lhostile \
		"-Wl,-rpath,$directory" -Wl,-z,now -lpthread -lrt &&
	build hostile_handlers victim_hostile_handlers.c "-L$directory" -lhostile \
		"-Wl,-rpath,$directory" -Wl,-z,now -lpthread || {
	cat "$directory"/*.build >&2
	fail "the programs cannot be built"
}

kind signals
# Handlers that return: what they have interrupted is never given up, nor mixed up with theirs.
returning() {
	hostile "$1" 1 -- "$directory/$2" "$1"
	check check_profile.py uncounted "$directory/$1.1"/*.heap.pb.gz abandoned records_damaged \
		sequence_gaps
}
for mode in small nested disarmed changing process; do
	returning $mode hostile_signals
done
for mode in within within-disarmed; do
	returning $mode hostile_handlers
done
# What never returns leaves gaps in the order, for which others wait in memory.  At the default
# interval it is in these threads, as a rule, that the profiler's are started.
for mode in jumping cancelled; do
	hostile $mode 1 -m 'memory is near HEAPSAMPLE_MEMORY' -- \
		"$directory/hostile_signals" $mode
done
for mode in forking forking-in-fork; do
	hostile $mode some -m "$busy" -- "$directory/hostile_handlers" $mode
done
hostile overflowing 1 -- "$directory/hostile_handlers" overflowing
finish_cases
