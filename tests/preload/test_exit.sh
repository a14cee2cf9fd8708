#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# However a program ends, its status is kept and its profile is whole; if it is killed, profiles
# that exist stay as they are.
. "$(dirname "$0")/lib.sh"

# ends MODE STATUS
ends() {
	run_profiled "$1" HEAPSAMPLE_INTERVAL=1 -- "$victims/victim_process" "$1"
	expect_status "$2"
	expect_silence
	expect_profiles 1
	check check_profile.py site "$out"/*.heap.pb.gz parent 100 100000 100 100000
}

ends return 0
ends exit 5
ends exit-directly 5
ends quick-exit 5
ends exit-thread 5
check check_profile.py site "$out"/*.heap.pb.gz child 50 25000 50 25000
ends exit-busy 5

run_profiled no_final HEAPSAMPLE_FINAL=0 HEAPSAMPLE_INTERVAL=1 -- "$victims/victim_process" exit
expect_status 5
expect_silence
expect_profiles 0

# Abort: no profile is promised; the signal is the program's.
run_profiled abort HEAPSAMPLE_INTERVAL=1 -- "$victims/victim_process" abort
expect_status 134

# Killed after a periodic profile.
start_profiled killed HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_TIME_INTERVAL=1 -- "$victims/victim_service"
wait_until has_profiles 2 || fail "no periodic profiles"
end_profiled KILL
expect_status 137
rm -f "$out"/.*.tmp
expect_profiles "$(profile_count)"
check check_profile.py has "$out"/*.0001.heap.pb.gz site_service
finish
