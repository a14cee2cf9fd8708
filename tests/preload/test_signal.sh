#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# HEAPSAMPLE_SIGNAL: a profile on demand, and what happens when the program wants the
# signal for itself.
. "$(dirname "$0")/lib.sh"

# Whether the service runs and has allocated.
has_allocated() {
	grep -q '^allocated$' "$out.stdout"
}

start_profiled signal HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_SIGNAL=USR2 -- "$victims/victim_service"
wait_until has_allocated || fail "the service does not run"
kill -USR2 "$process"
wait_until has_profiles 1 || fail "no profile on the signal"
kill -USR2 "$process"
wait_until has_profiles 2 || fail "no profile on the second signal"
end_profiled TERM
expect_status 0
expect_silence
expect_profiles 3
check check_profile.py has "$out"/*.0001.heap.pb.gz site_service

# All that it did before the signal is in the profile, however far behind the profiler is.
out=$directory/burst
run_profiled burst "HEAPSAMPLE_OUTPUT=$out/%n.heap.pb.gz" HEAPSAMPLE_INTERVAL=1 \
	HEAPSAMPLE_SIGNAL=USR2 -- "$victims/victim_burst" 5000 "$out/0001.heap.pb.gz"
expect_status 0
expect_silence
expect_profiles 2
check check_profile.py site "$out/0001.heap.pb.gz" burst 5000 120000 5000 120000

run_profiled unknown HEAPSAMPLE_SIGNAL=USR9 HEAPSAMPLE_INTERVAL=1 -- \
	"$victims/victim_process" exit
expect_status 5
expect_one_message HEAPSAMPLE_SIGNAL=USR9 expected
expect_profiles 1

# The program takes it over: one line within 3 seconds, no more, and no profile of ours.
has_message() {
	[ -s "$out.stderr" ]
}
start_profiled takeover HEAPSAMPLE_INTERVAL=4k HEAPSAMPLE_SIGNAL=USR2 -- \
	"$victims/victim_service" takeover
wait_until has_message || fail "no line"
kill -USR2 "$process"
sleep 2
[ "$(profile_count)" -eq 0 ] || fail "a profile on the program's own signal"
end_profiled TERM
expect_status 0
expect_one_message HEAPSAMPLE_SIGNAL
grep -q '^user signals: 1$' "$out.stdout" || fail "takeover: $(cat "$out.stdout")"
expect_profiles 1

# It had the signal from the start: not touched, one line.  No shell on the way there, for
# that would be a profiled program which takes the signal over.
trap '' USR2
start_profiled ignored HEAPSAMPLE_INTERVAL=4k HEAPSAMPLE_SIGNAL=USR2 -- "$victims/victim_service"
trap - USR2
wait_until has_message || fail "no line about an ignored signal"
wait_until has_allocated || fail "the service does not run"
kill -USR2 "$process"
end_profiled TERM
expect_status 0
expect_one_message HEAPSAMPLE_SIGNAL
expect_profiles 1
finish
