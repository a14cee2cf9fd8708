#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Each thread gets a signal every 100 us, at any point of an allocation.  The handlers allocate, on
# small and on changing stacks, jump out, or end the thread.
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
# Handlers that return: the sample that they interrupt is not given up, and not mixed with theirs.
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
# Handlers that do not return leave gaps in the order of numbers; later samples wait for them in
# memory.  At the default interval these threads usually start the profiler's.
for mode in jumping cancelled; do
	hostile $mode 1 -m 'memory is near HEAPSAMPLE_MEMORY' -- \
		"$directory/hostile_signals" $mode
done
for mode in forking forking-in-fork; do
	hostile $mode some -m "$busy" -- "$directory/hostile_handlers" $mode
done
hostile overflowing 1 -- "$directory/hostile_handlers" overflowing
# The main thread overflows once, three others forty times each, and each time 1,000 blocks follow.
# They count twice, because this allocator's malloc() calls memalign().
check check_profile.py site "$directory"/overflowing.1/*.heap.pb.gz \
	after_overflow $((2 * 121 * 1000)) $((2 * 121 * 1000 * 48)) 0 0
finish_cases
