#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Little memory: the least that HEAPSAMPLE_MEMORY takes is enough at every interval, and a
# live set that was full takes samples again when the program has freed its blocks, and the interval
# falls; blocks that are freed at once take up none, however many they are; and what there is of
# books fits into a profile.
. "$(dirname "$0")/lib.sh"

for interval in 1 16 4k 64k 512k; do
	run_profiled "least.$interval" HEAPSAMPLE_MEMORY=16m HEAPSAMPLE_INTERVAL=$interval \
		HEAPSAMPLE_LOG=error -- "$victims/victim_process" exit
	expect_status 5
	expect_silence
	[ "$(profile_count)" -eq 1 ] || fail "16m at $interval: no profile"
	"$python" "$source_directory/tests/pprof_read.py" check "$out"/*.heap.pb.gz >&2 ||
		fail "16m at $interval: the profile breaks the rules"
done

# What is usable, though hardly anything of it is used, counts where the system does not overcommit
# its memory, in each process of a server.
vm_data='import time
blocks = [bytes(1 << 20) for i in range(50)]
time.sleep(0.3)
print(*[line.split()[1] for line in open("/proc/self/status") if line.startswith("VmData")])'
without=$("$python" -c "$vm_data")
run_profiled usable -- "$python" -c "$vm_data"
expect_status 0
usable=$(($(cat "$out.stdout") - without))
[ "$usable" -lt 20000 ] || fail "usable: $usable KiB"

run_profiled full HEAPSAMPLE_MEMORY=32m HEAPSAMPLE_INTERVAL=16 HEAPSAMPLE_BLOCK=0 \
	HEAPSAMPLE_LOG=error -- "$victims/victim_live_set" 2
expect_status 0
expect_silence
expect_profiles 1
check check_profile.py has "$out"/*.heap.pb.gz site_after
check check_profile.py counted "$out"/*.heap.pb.gz interval_raises interval_lowers

# If nothing is freed the interval rises on, though samples that are lost leave the profiler no work.
run_profiled stays_full HEAPSAMPLE_MEMORY=32m HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_LOG=error \
	-- "$victims/victim_live_set" full
expect_status 0
expect_silence
expect_profiles 1

# What was in use before a reset does not take up the live set any more.
for interval in 1 32; do
	run_profiled "reset.$interval" HEAPSAMPLE_MEMORY=16m HEAPSAMPLE_INTERVAL=$interval \
		HEAPSAMPLE_MAX_INTERVAL=$interval HEAPSAMPLE_BLOCK=10000 HEAPSAMPLE_LOG=error \
		-- "$victims/victim_live_set" reset
	expect_status 0
	expect_profiles 1
	check check_profile.py uncounted "$out"/*.heap.pb.gz sequence_gaps
done

# If nothing more fits and the interval must not rise, samples are lost, and a line says so;
# the program does not wait for room that only it could make.
run_profiled used_up HEAPSAMPLE_MEMORY=16m HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_MAX_INTERVAL=1 \
	-- "$victims/victim_live_set" 0
expect_status 0
expect_one_message 'HEAPSAMPLE_MEMORY is used up'
expect_profiles 1
check check_profile.py counted "$out"/*.heap.pb.gz lost_live_set
check check_profile.py uncounted "$out"/*.heap.pb.gz block_expired sequence_gaps

# A profile of so many places in code would need more than is kept for one otherwise.
run_profiled places HEAPSAMPLE_MEMORY=64m HEAPSAMPLE_INTERVAL=8k HEAPSAMPLE_BLOCK=10000 \
	HEAPSAMPLE_LOG=error -- "$victims/victim_many_places" 300000
expect_status 0
expect_silence
expect_profiles 1
check check_profile.py counted "$out"/*.heap.pb.gz interval_raises lost_memory

# Under a limit of addresses or of data there is less than was asked for, which the line says, and
# room for the profile is kept all the same.
for limit in AS.v.100000 AS.v.200000 AS.v.400000 DATA.d.200000; do
	# shellcheck disable=SC2016,SC2086 # the shell that limits itself is to read it; words
	run_profiled "limited.$limit" HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_MAX_INTERVAL=1 \
		HEAPSAMPLE_PROGRAMS=victim_live_set -- /bin/sh -c 'ulimit "-$2" "$3" && shift 3 && exec "$@"' \
		sh $(echo $limit | tr . ' ') "$victims/victim_live_set" 0
	expect_status 0
	expect_one_message "what RLIMIT_${limit%%.*} leaves of HEAPSAMPLE_MEMORY ([0-9]* of 256 MiB) is used up"
	expect_profiles 1
done

# Of so few addresses the tables of stacks, which grow by copies, leave room for the profile too.
for limit in 150000 250000; do
	# shellcheck disable=SC2016 # the shell that limits itself is to read it
	run_profiled "new_stacks.$limit" HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_LOG=error \
		-- /bin/sh -c 'ulimit -v "$1" && shift && exec "$@"' \
		sh $limit "$victims/victim_new_stacks" 200000
	expect_status 0
	expect_silence
	[ "$(find "$out" -name 'victim_new_stacks.*.heap.pb.gz' | wc -l)" -eq 1 ] ||
		fail "new stacks under a limit of $limit: no profile"
done

for memory in 32m 256m; do
	run_profiled "hot.$memory" HEAPSAMPLE_MEMORY=$memory HEAPSAMPLE_INTERVAL=1 \
		HEAPSAMPLE_MAX_INTERVAL=1 HEAPSAMPLE_BLOCK=0 -- "$victims/victim_busy" 1000000
	expect_status 5
	! messages | grep -v 'samples have no stack' >&2 || fail "hot.$memory: another message"
	expect_profiles 1
	check check_profile.py uncounted "$out"/*.heap.pb.gz lost_live_set lost_memory sequence_gaps
done
finish
