#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# HEAPSAMPLE_STATS: a file with each profile, whole or not at all, that agrees with it.
. "$(dirname "$0")/lib.sh"

stats=$directory/stats

# Each of a row of profiles has its own.  The ring has no room for the whole run, so that the
# profiler, which writes them, keeps up with it.
mkdir "$stats"
run_profiled exact HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STATS=$stats/%e.%p.%n.%r.json" \
	HEAPSAMPLE_ALLOC_INTERVAL=20m HEAPSAMPLE_RING=1m -- "$victims/victim_exact"
expect_status 0
expect_silence
expect_profiles "$(profile_count)"
[ "$(profile_count)" -ge 2 ] || fail "exact: one profile only"
[ "$(find "$stats" -type f | wc -l)" -eq "$(profile_count)" ] ||
	fail "exact: $(profile_count) profiles with" "$stats"/*
for profile in "$out"/*.heap.pb.gz; do
	number=${profile%.heap.pb.gz}
	check check_stats.py "$profile" "$stats/victim_exact${number##*/victim_exact}".*.json
done

# One that is replaced by the next.
run_profiled estimate HEAPSAMPLE_INTERVAL=64k "HEAPSAMPLE_STATS=$stats/last.json" -- \
	"$victims/victim_exact"
expect_status 0
expect_silence
check check_stats.py "$out"/*.heap.pb.gz "$stats/last.json"

# Each heap by itself: what was asked for, counted, lost, and is in the rows.
rm "$stats"/*
run_profiled heaps "HEAPSAMPLE_HEAPS=*=1,excluded=0,malloc=1" "HEAPSAMPLE_STATS=$stats/heaps.json" -- \
	"$victims/victim_heaps" many
expect_status 0
expect_silence
check check_stats.py "$out"/*.heap.pb.gz "$stats/heaps.json" malloc:current_interval=1 \
	gone:samples=2 gone:frees=2 gone:inuse_objects=0 gone:alloc_space=254 excluded:interval=0 \
	excluded:samples=0

# How far the intervals were raised when sampling ended, and lowered before.  The profile says the
# same of malloc.
run_profiled raised HEAPSAMPLE_LOG=info HEAPSAMPLE_INTERVAL=64 HEAPSAMPLE_BLOCK=0 HEAPSAMPLE_RING=64k \
	HEAPSAMPLE_STACK=8k "HEAPSAMPLE_HEAPS=malloc=16,shared=2" "HEAPSAMPLE_STATS=$stats/raised.json" -- \
	"$victims/victim_heaps" overload
expect_status 0
check check_stats.py "$out"/*.heap.pb.gz "$stats/raised.json" malloc:interval=16 shared:interval=2
"$python" - "$stats/raised.json" <<'END' || fail "raised: intervals"
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    stats = json.load(file)
raises, lowers = (stats["counters"]["interval_" + name] for name in ("raises", "lowers"))
level = 2 ** (raises - lowers)
print(raises, lowers, [(heap["name"], heap["current_interval"]) for heap in stats["heaps"]])
sys.exit(lowers == 0 or level <= 1 or [heap["current_interval"] for heap in stats["heaps"]] !=
         [16 * level, 2 * level])
END
messages | grep -q 'cannot follow the program: it samples less, beginning with every 32 bytes' ||
	fail "raised: $(messages)"

# A forked child puts its pid into the name.
rm "$stats"/*
run_profiled forked HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STATS=$stats/one.json" -- \
	"$python" -c 'import os
if os.fork() == 0:
    kept = [bytes(1000 + i) for i in range(100)]
    raise SystemExit
os.wait()'
expect_status 0
expect_profiles 2
for profile in "$out"/*.heap.pb.gz; do
	process=${profile%.????.heap.pb.gz} process=${process##*.}
	[ -f "$stats/one.$process.json" ] || process=
	check check_stats.py "$profile" "$stats/one${process:+.$process}.json"
done

# Where it cannot be written there is one line, and the profile.
run_profiled absent HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STATS=$directory/none/stats.json" -- \
	"$victims/victim_exact"
expect_status 0
expect_one_message "HEAPSAMPLE_STATS=$directory/none/stats.json" 'no such directory'
expect_profiles 1

# Where it would replace the profile likewise.
run_profiled same HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STATS=$directory/same/%n.heap.pb.gz" \
	"HEAPSAMPLE_OUTPUT=$directory/same/%n.heap.pb.gz" -- "$victims/victim_exact"
expect_status 0
expect_one_message "HEAPSAMPLE_STATS=$directory/same/%n" "it is the profile's name"
expect_profiles 1

# However that is spelt; and it does not replace the profile of the peak either.
run_profiled spelt HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STATS=$directory/./spelt//%e.heap.pb.gz" \
	"HEAPSAMPLE_OUTPUT=$directory/spelt/%e.heap.pb.gz" -- "$victims/victim_exact"
expect_status 0
expect_one_message HEAPSAMPLE_STATS= "it is the profile's name"
expect_profiles 1
run_profiled peak HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_PEAK=1 \
	"HEAPSAMPLE_STATS=$directory/peak/a.%r.heap.pb.gz" \
	"HEAPSAMPLE_OUTPUT=$directory/peak/a.%n.heap.pb.gz" -- "$victims/victim_exact"
expect_status 0
expect_one_message HEAPSAMPLE_STATS= "it is the profile's name"
gzip -t "$out/a.peak.heap.pb.gz" || fail "peak: a.peak.heap.pb.gz is no profile"

# It does not name a profile that cannot be written.
run_profiled no_profile HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_FINAL=0 \
	"HEAPSAMPLE_STATS=$stats/no_profile.json" \
	"HEAPSAMPLE_OUTPUT=$directory/none/a.heap.pb.gz" -- "$victims/victim_heaps" counts
expect_status 0
expect_one_message "$directory/none/a.heap.pb.gz" 'no such directory'
"$python" -c 'import json, sys
stats = json.load(sys.stdin)
counts = stats["counters"]
sys.exit((stats["profile"], counts["dumps"], counts["dump_failures"]) != (None, 0, 1))' \
	<"$stats/no_profile.json" || fail "no_profile: $(cat "$stats/no_profile.json")"

# Nor does it name a program that is hidden.
rm "$stats"/*
cp "$victims/victim_exact" "$directory/unspeakable"
run_profiled hidden HEAPSAMPLE_INTERVAL=64k "HEAPSAMPLE_STATS=$stats/hidden.json" \
	"HEAPSAMPLE_SKIP_SYMBOL_PREFIX=$directory" -- "$directory/unspeakable"
expect_status 0
check check_stats.py "$out"/*.heap.pb.gz "$stats/hidden.json"
! grep -q unspeakable "$stats/hidden.json" || fail "hidden: $(cat "$stats/hidden.json")"
finish
