#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Forked children, executed programs and daemons: who writes a profile, and what is in it.
. "$(dirname "$0")/lib.sh"

# family NAME SETTING... : run_profiled with interval 1; the mode is the name.
family() {
	mode=$1
	shift
	run_profiled "$mode.$#" HEAPSAMPLE_INTERVAL=1 "$@" -- "$victims/victim_process" "$mode"
}

# The profiles whose site_$1 has these four sums: sites SITE O B O B
profiles_with() {
	for file in "$out"/*.heap.pb.gz; do
		"$python" "$tests/check_profile.py" site "$file" "$@" >/dev/null && echo "$file"
	done | wc -l
}

expect_with() {
	want=$1
	shift
	found=$(profiles_with "$@")
	[ "$found" -eq "$want" ] ||
		fail "$(basename "$out"): site_$1 is right in $found profiles, not $want"
}

for mode in fork fork-exit-directly daemon; do
	family $mode
	expect_status 0
	expect_silence
	expect_profiles 2
	# The child has what it inherited and its own samples; the parent only its own.
	expect_with 2 parent 100 100000 100 100000
	expect_with 1 child 50 25000 50 25000
done

# A child's samples find room: its profiler threads start in time, as its parent's did.
for run in 1 2 3; do
	rm -rf "$directory/fork-much.1"
	family fork-much HEAPSAMPLE_RING=64k
	expect_status 0
	expect_silence
	expect_profiles 2
	expect_with 1 child 20000 10000000 20000 10000000
	check check_profile.py lossless "$out"/*.heap.pb.gz
done

# Children that do the same are sampled at different places: otherwise their sum would be as far off
# as one of them.  With a seed the sum is the same each time.
for run in one two; do
	run_profiled "alike.$run" HEAPSAMPLE_INTERVAL=8k HEAPSAMPLE_SEED=1 HEAPSAMPLE_LABELS=none \
		HEAPSAMPLE_BLOCK=10000 -- "$victims/victim_process" fork-alike
	expect_status 0
	expect_silence
	expect_profiles 9
	check check_profile.py various 6 child "$out"/*.heap.pb.gz
	check check_profile.py various 6 thread "$out"/*.heap.pb.gz
	for file in "$out"/*.heap.pb.gz; do
		"$python" "$source_directory/tests/pprof_read.py" sites "$file" | grep site_
	done | sort >"$directory/alike.$run.sites"
done
cmp "$directory/alike.one.sites" "$directory/alike.two.sites" || fail "alike: another sum"

family fork-quiet
expect_status 0
expect_silence
expect_profiles 1

# The signals for profiles write none in a child before its first sample.  With it they do.
family fork-signals HEAPSAMPLE_SIGNAL=USR2 HEAPSAMPLE_FINAL=term \
	"VICTIM_PROFILES=$directory/fork-signals.3"
expect_status 0
expect_silence
expect_profiles 3
expect_with 3 parent 100 100000 100 100000
check check_profile.py site "$out"/*.0002.heap.pb.gz child 50 25000 50 25000

# Threads allocate while others fork: nothing hangs (the limit is far above what it takes).
need timeout
for interval in 512k 64k 64; do
	run_profiled "often.$interval" "HEAPSAMPLE_INTERVAL=$interval" \
		HEAPSAMPLE_PROGRAMS=victim_process -- \
		timeout 250 "$victims/victim_process" fork-often
	expect_status 0
	# The parent's profile, and those of children that have samples.
	check check_profile.py sampled "$out"/victim_process.*.heap.pb.gz
done

# A forked child that executes another program, and has sampled nothing itself, writes nothing.
run_profiled exec-quiet HEAPSAMPLE_INTERVAL=1 -- timeout 250 /bin/true
expect_status 0
expect_silence
expect_profiles 1

# A child frees what it inherits of a profile that its parent is writing, in each generation.
mkdir "$directory/fork-at-profile.4"
family fork-at-profile HEAPSAMPLE_LABELS=size HEAPSAMPLE_SIGNAL=USR2 \
	HEAPSAMPLE_MAX_INTERVAL=1 "VICTIM_PROFILES=$directory/fork-at-profile.4"
expect_status 0
expect_silence
expect_profiles 10
check check_profile.py steady 1000000 "$out"/*.0002.heap.pb.gz

family spawn
expect_status 0
expect_silence
expect_profiles 1
expect_with 1 parent 200 200000 200 200000

# family: one child is forked and goes on, one is executed.
family family HEAPSAMPLE_CHILDREN=none
expect_status 0
expect_profiles 1
expect_with 1 parent 100 100000 100 100000
rm -rf "$out"
family family HEAPSAMPLE_CHILDREN=fork
expect_profiles 2
expect_with 1 child 50 25000 50 25000
expect_with 2 parent 100 100000 100 100000
rm -rf "$out"
family family HEAPSAMPLE_CHILDREN=exec
expect_profiles 2
expect_with 1 parent 100 100000 100 100000
expect_with 1 child 50 25000 50 25000
rm -rf "$out"
family family HEAPSAMPLE_CHILDREN=all
expect_profiles 3
expect_with 2 parent 100 100000 100 100000
expect_with 2 child 50 25000 50 25000

# Executing another program in place: the new one is profiled too.  One that does not
# exist costs nothing.
family exec
expect_status 0
expect_silence
expect_with 1 child 50 25000 50 25000

# If the pattern has no %p the child's id is added, so that nothing is overwritten.
run_profiled pattern HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_OUTPUT=$directory/pattern/fixed.heap.pb.gz" \
	-- "$victims/victim_process" fork
expect_status 0
expect_profiles 2
[ -f "$out/fixed.heap.pb.gz" ] || fail "no fixed.heap.pb.gz"
run_profiled executed HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_CHILDREN=exec \
	"HEAPSAMPLE_OUTPUT=$directory/executed/fixed.heap.pb.gz" -- "$victims/victim_process" family
expect_status 0
expect_profiles 2
expect_with 1 parent 100 100000 100 100000
[ -f "$out/fixed.heap.pb.gz" ] || fail "no fixed.heap.pb.gz of the parent"
finish
