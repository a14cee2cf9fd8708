#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# A program ends at an awkward moment: its profile is still whole, and nothing is printed
# about it.
. "$(dirname "$0")/lib.sh"

# awkward NAME MODE NUMBER SETTING...
awkward() {
	name=$1 mode=$2 number=$3
	shift 3
	run_profiled "$name" "$@" -- "$victims/victim_end" "$mode" "$number"
}

# Threads fork at the same time, slowly: the parent ends at once, children write their profiles.
# If a fork takes too long a child may say that it is not profiled.
awkward forks forks-at-once 600 HEAPSAMPLE_INTERVAL=1
expect_status 0
if grep -v 'fork met the profiler at work' "$out.stderr" >&2; then
	fail "forks: the parent's stderr"
fi
count=$(profile_count)
[ "$count" -ge 2 ] || fail "forks: no child's profile"
expect_profiles "$count"
children=0 parents=0
for file in "$out"/*.heap.pb.gz; do
	if "$python" "$tests/check_profile.py" has "$file" site_child >/dev/null; then
		children=$((children + 1))
	else
		parents=$((parents + 1))
	fi
done
[ "$parents" -eq 1 ] && [ "$children" -ge 1 ] ||
	fail "forks: profiles of $parents parents, $children children"

# In a handler that has, more often than not, interrupted the taking of a sample.
for run in 1 2 3 4 5 6 7 8; do
	awkward "handler.$run" handler $((1500 + run * 100)) HEAPSAMPLE_INTERVAL=1
	expect_status 5
	expect_silence
	expect_profiles 1
done

# While exit() in another thread writes the profile.
for delay in 1 300 1000 3000 10000; do
	awkward "second.$delay" second $delay HEAPSAMPLE_INTERVAL=1
	expect_status 5
	expect_silence
	expect_profiles 1
	check check_profile.py site "$out"/*.heap.pb.gz kept 20000 20000000 20000 20000000
done

# While the first sample, in another thread, starts the profiler's threads.
run=0
while [ $run -lt 20 ]; do
	awkward "starting.$run" starting $((run * run)) HEAPSAMPLE_INTERVAL=16k
	expect_status 5
	expect_silence
	# There may be no sample.
	[ "$(profile_count)" -eq 1 ] || fail "starting.$run: no profile"
	check ../pprof_read.py check "$out"/*.heap.pb.gz
	run=$((run + 1))
done

# The same, and the thread that exits is the last one: the profiler's threads must not outlive it.
run=0
while [ $run -lt 30 ]; do
	awkward "last.$run" last $((run * 20))
	expect_status 0
	expect_silence
	[ "$(cat "$out.stdout")" = "main
at exit" ] || fail "last.$run: stdout: $(cat "$out.stdout")"
	[ "$(profile_count)" -eq 1 ] || fail "last.$run: no profile"
	run=$((run + 1))
done

# In the lowest scheduling class, without the right to leave it.  With this interval what is
# allocated before main does not usually start the profiler's threads.
mkdir "$directory/idle"
chmod 755 "$directory"
chmod 777 "$directory/idle"
awkward idle idle 65534 HEAPSAMPLE_INTERVAL=1M
expect_status 5
expect_silence
expect_profiles 1
check check_profile.py has "$out"/*.heap.pb.gz site_block
finish
