#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Heaps of the program, and what it can ask for by heapsample.h.
. "$(dirname "$0")/lib.sh"

heaps=$victims/victim_heaps

# The profile that the victim calls NAME: dumped NAME
dumped() {
	sed -n "s/^$1 //p" "$out.stdout"
}

"$heaps" off || fail "without the library"
for setting in HEAPSAMPLE=0 HEAPSAMPLE_PROGRAMS=other; do
	run_profiled "${setting%%=*}" $setting -- "$heaps" off
	expect_status 0
	expect_silence
	expect_profiles 0
done

run_profiled exact "HEAPSAMPLE_HEAPS=excluded=0,*=1" -- "$heaps" exact
expect_status 0
expect_silence
expect_profiles 2
check check_heaps.py sums "$(dumped before)" \
	pool:kept=1000,10000,990,9900 pool:freed=1000,20000,0,0 pool:again=1000,3000,10,30 \
	other:other=1000,7000,999,6993 other:weighed=101,5000,101,5000 :malloc=1,123,0,0
check check_heaps.py sums "$out"/*.0002.heap.pb.gz \
	pool:kept=1001,10010,1,10 pool:freed=1000,20000,0,0 pool:again=1000,3000,0,0 \
	other:other=1000,7000,999,6993 other:weighed=101,5000,101,5000 :malloc=1,123,0,0

# Each heap's peak is a profile of its own; a name is no path.
run_profiled peak HEAPSAMPLE_PEAK=1 "HEAPSAMPLE_HEAPS=*=1" -- "$heaps" exact
[ -f "$(echo "$out"/*.peak-pool.heap.pb.gz)" ] || fail "peak: no profile of the pool's"
# The last sample, of 0 bytes, came after the peak.
check check_heaps.py sums "$out"/*.peak-other.heap.pb.gz other:other=1000,7000,999,6993 \
	other:weighed=100,5000,100,5000

# Samples of two intervals in one stream of allocations.  5 standard deviations.
run_profiled estimate HEAPSAMPLE_SEED=1 "HEAPSAMPLE_HEAPS=fine=1k,coarse=64k,malloc=0" \
	HEAPSAMPLE_MAX_INTERVAL=1 HEAPSAMPLE_BLOCK=10000 -- "$heaps" estimate
expect_status 0
expect_silence
check check_heaps.py near "$out"/*.heap.pb.gz "$out.stdout" 3.3

run_profiled control HEAPSAMPLE_ACTIVE=0 HEAPSAMPLE_INTERVAL=1 -- "$heaps" control
expect_status 0
expect_silence
check check_heaps.py sums "$(dumped stopped)" :malloc=2,130,1,100 pool:kept=1,10,1,10
check check_heaps.py sums "$(dumped freed)" :malloc=2,130,0,0 pool:kept=1,10,1,10
check check_heaps.py sums "$(dumped on)" :malloc=3,135,1,5 pool:kept=1,10,1,10
check check_heaps.py sums "$out"/*.0004.heap.pb.gz :malloc=1,7,0,0
check check_profile.py counted "$out"/*.0004.heap.pb.gz starts_refused resets

# If sampling is never switched on the profile says so.
run_profiled off HEAPSAMPLE_ACTIVE=0 HEAPSAMPLE_INTERVAL=1 -- "$victims/victim_exact"
expect_status 0
expect_silence
check check_profile.py comment "$out"/*.heap.pb.gz 'sampling was not switched on'

# After a start or a reset not all that was allocated could have been sampled.
for case in 0.request 1.request 1.reset 1.switch; do
	run_profiled "$case" HEAPSAMPLE_ACTIVE="${case%.*}" HEAPSAMPLE_INTERVAL=256g \
		HEAPSAMPLE_FINAL=0 -- "$heaps" "${case#*.}"
	expect_status 0
	expect_silence
	check check_profile.py comment "$(dumped "${case#*.}")" \
		'nothing was sampled since sampling was switched on or the totals were reset'
done

# A program that allocates little.
run_profiled little HEAPSAMPLE_INTERVAL=256g -- "$victims/victim_exact"
check check_profile.py comment "$out"/*.heap.pb.gz ' bytes allocated, one in 274877906944 on average'
# Of all threads, those that have ended too.
"$python" - "$tests" "$out"/*.heap.pb.gz "$out.stdout" <<'END' || fail "little: it allocated more or less"
import json, re, sys
sys.path.insert(0, sys.argv[1])
from profile_facts import read_profile
said = int(re.search(r"(\d+) bytes allocated", " ".join(read_profile(sys.argv[2]).comments))[1])
with open(sys.argv[3], encoding="ascii") as file:
    truth = sum(values[1] for values in json.load(file).values())
print(said, truth)
sys.exit(not truth <= said <= truth * 1.01)
END

# Of differences, the second has nothing.
run_profiled no_news HEAPSAMPLE_DELTA=1 HEAPSAMPLE_INTERVAL=256g -- "$heaps" request
expect_status 0
check check_profile.py comment "$out"/*.0002.heap.pb.gz 'no samples or frees since the profile before'

# The same if malloc is not to be sampled.
run_profiled excluded HEAPSAMPLE_HEAPS=malloc=0 -- "$victims/victim_exact"
expect_status 0
expect_silence
check check_profile.py comment "$out"/*.heap.pb.gz 'malloc is not to be sampled'

# The period is the interval of what the profile is of: malloc, or the heap of a peak.
run_profiled period HEAPSAMPLE_PEAK=1 "HEAPSAMPLE_HEAPS=malloc=7,pool=3" -- "$heaps" exact
check check_heaps.py period "$out"/*.0001.heap.pb.gz 7
check check_heaps.py period "$out"/*.peak-pool.heap.pb.gz 3

# A signal switches it on; the next one is for a profile.
start_profiled signal HEAPSAMPLE_ACTIVE=0 HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_SIGNAL=USR2 \
	HEAPSAMPLE_LOG=info -- "$victims/victim_service"
is_on() {
	grep -q 'sampling of .* is on' "$out.stderr"
}
wait_until grep -qs 'profiling' "$out.stderr"
kill -USR2 "$process"
wait_until is_on || fail "signal: it is not switched on"
has_profiles 1 && fail "signal: a profile"
kill -USR2 "$process"
wait_until has_profiles 1 || fail "signal: no profile"
end_profiled KILL

# Any order, a tiny ring, no waiting: nothing stays in use.
run_profiled threads "HEAPSAMPLE_HEAPS=shared=1" HEAPSAMPLE_RING=64k HEAPSAMPLE_BLOCK=0 \
	HEAPSAMPLE_MAX_INTERVAL=1 -- "$heaps" threads
expect_status 0
check check_heaps.py freed "$out"/*.heap.pb.gz shared

# A profile is written though the program goes on, with room in the ring and without.  Samples on
# their way meanwhile are not given up: at most one number of each thread is, each time.
for block in 0 10000; do
	run_profiled "storm-$block" HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_MAX_INTERVAL=1 \
		HEAPSAMPLE_BLOCK=$block HEAPSAMPLE_STATS="$directory/storm.stats" -- "$heaps" storm
	expect_status 0
done
gaps=$(sed -n 's/.*"sequence_gaps": *\([0-9]*\).*/\1/p' "$directory/storm.stats")
[ "$gaps" -le 44 ] || fail "storm: $gaps numbers were declared lost"

# What a heap is told, while other threads switch sampling.
run_profiled calls "HEAPSAMPLE_HEAPS=*=1" -- "$victims/victim_heap_calls"
expect_status 0
expect_silence

# Heaps that cannot be registered, twenty times, and names that nobody registers give one line each.
run_profiled errors "HEAPSAMPLE_HEAPS=pond=4k" -- "$heaps" errors
expect_status 0
for words in "the name '': it is empty" "'a=b': it has" "longer than 63" "'malloc': there is one" \
	"xxx': there is one" "'heap 254': there have been too many" "registered no heap 'pond'"; do
	[ "$(messages | grep -c -e "$words")" -ge 1 ] || fail "errors: no line with: $words"
done
[ "$(messages | wc -l)" -eq 21 ] || fail "errors: $(messages)"
run_profiled misspelt HEAPSAMPLE_HEAPS=pond=4k "HEAPSAMPLE_STREAM=$directory/misspelt/stream" -- \
	/bin/true
expect_one_message "registered no heap 'pond'"
run_profiled setting "HEAPSAMPLE_HEAPS=pool=4k,pool=8k" -- /bin/true
expect_one_message HEAPSAMPLE_HEAPS=pool=4k,pool=8k 'name=interval'

# The example of the manual, and what it says that pprof shows.
run_profiled example "HEAPSAMPLE_HEAPS=connections=1" -- "$build_directory/examples/pool"
expect_status 0
expect_silence
expect_profiles 2
profile=$(cat "$out.stdout")
check check_profile.py has "$profile" forget_connection open_connection
# top_of VIEW...: bytes and name of the function that comes first.
top_of() {
	go tool pprof -symbolize=none -top -unit=B "$@" "$profile" 2>"$directory/top.stderr" |
		sed '1,/flat%/d' | awk 'NR == 1 { sub(/\..*/, "", $NF); print $1, $NF }'
}
if command -v go >/dev/null && go tool -n pprof >/dev/null 2>&1; then
	[ "$(top_of -tagfocus=heap=connections)" = "40960000B pool_take" ] ||
		fail "example: the heap: $(top_of -tagfocus=heap=connections)"
	[ "$(top_of -tagignore=heap=connections)" = "81920000B pool_init" ] ||
		fail "example: malloc's heap: $(top_of -tagignore=heap=connections)"
fi
"$build_directory/examples/pool" >"$directory/plain" || fail "example: without the library"
[ ! -s "$directory/plain" ] || fail "example: without the library: $(cat "$directory/plain")"
finish
