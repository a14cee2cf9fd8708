#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The first sample in a handler that has interrupted pthread_create(), which may hold a lock that the
# profiler's threads would need to be created: they are, with a later one.
. "$(dirname "$0")/lib.sh"
need "${CC:-cc}"

build libcreate.so victim_create.c -DLIBRARY -shared -fPIC -pthread -ldl &&
	build create victim_create.c -pthread -L"$directory" -Wl,-rpath,"$directory" \
		-Wl,--no-as-needed -lcreate ||
	fail "create is not built: $(cat "$directory"/*create*.build)"
for mode in pthread c11; do
	run_profiled $mode -- "$directory/create" $mode
	expect_status 0
	expect_silence
	expect_profiles 1
	[ "$(cat "$out.stdout")" = '1 3' ] ||
		fail "$mode: threads in the handler, and in the end: $(cat "$out.stdout")"
	check check_profile.py has "$out"/*.heap.pb.gz site_handler
done
# It ends in the handler: without a profile, but it ends.
run_profiled exit -- "$directory/create" exit
expect_status 0
expect_one_message "the profiler's threads cannot be started"
expect_profiles 0
finish
