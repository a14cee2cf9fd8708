#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# HEAPSAMPLE_MAX_CPU: sampling ends when the profiler has used as much processor time, and the
# program does not notice; above its share the interval rises.
. "$(dirname "$0")/lib.sh"

# No profiler takes less than a twentieth of a microsecond for a sample and its free.
times=20000000

run_profiled total HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_MAX_CPU=1s \
	"HEAPSAMPLE_STATS=$directory/stats.json" -- "$victims/victim_busy" $times
expect_status 5
[ "$(cat "$out.stdout")" = "$times times" ] || fail "total: stdout: $(cat "$out.stdout")"
expect_one_message 'sampling ended after' 'HEAPSAMPLE_MAX_CPU' 'victim_busy runs on'
expect_profiles 1
# What was sampled is there, without a loss; and what was freed only afterwards is not in use.
check check_profile.py lossless "$out"/*.heap.pb.gz
check check_profile.py site "$out"/*.heap.pb.gz kept 1000 100000 0 0
check check_profile.py comment "$out"/*.heap.pb.gz 'sampling ended after'
check check_stats.py "$out"/*.heap.pb.gz "$directory/stats.json"
"$python" - "$directory/stats.json" $times <<'END' || fail "total: the statistics say otherwise"
import json, sys
stats = json.load(open(sys.argv[1]))
counts = stats["counters"]
print(stats, file=sys.stderr)
assert 1000 < counts["samples"] < int(sys.argv[2])
assert counts["worker_cpu_ns"] + counts["producer_cpu_ns"] >= 10 ** 9
assert "1 s of processor time" in stats["ended_early"]
END

# Nor are there timed profiles any more: only the final one.
start_profiled timed HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_MAX_CPU=1s HEAPSAMPLE_TIME_INTERVAL=1 \
	-- "$victims/victim_busy"
wait_until grep -q 'sampling ended after' "$out.stderr" || fail "timed: sampling does not end"
sleep 1
count=$(profile_count)
sleep 2.5
[ "$(profile_count)" -eq "$count" ] || fail "timed: $(profile_count) profiles, not $count"
end_profiled TERM
expect_status 5
expect_profiles $((count + 1))

start_profiled share HEAPSAMPLE_INTERVAL=16 HEAPSAMPLE_BLOCK=10000 HEAPSAMPLE_MAX_CPU=1 \
	HEAPSAMPLE_LOG=info -- "$victims/victim_busy"
wait_until grep -q 'takes more than HEAPSAMPLE_MAX_CPU: it samples less' "$out.stderr" ||
	fail "share: the interval was not raised: $(cat "$out.stderr")"
end_profiled TERM
[ "$status" -eq 5 ] || fail "share: status $status"
expect_profiles 1
check check_profile.py counted "$out"/*.heap.pb.gz interval_raises worker_cpu_ns producer_cpu_ns
finish
