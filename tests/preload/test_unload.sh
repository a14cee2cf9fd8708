#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Libraries that are opened and closed while threads allocate in them, at one address one
# after the other: each sample has the name of the library that was there.  And the hooks of
# dlopen() and dlclose() change nothing for the program.
. "$(dirname "$0")/lib.sh"

TURNS=1000

for letter in a b c; do
	case $letter in a) size=40 ;; b) size=80 ;; c) size=120 ;; esac
	build lib$letter.so victim_unload_library.c -shared -fPIC -DN=$letter -DSIZE=$size ||
		skip "no library can be built: $(cat "$directory/lib$letter.so.build")"
done
build unload victim_unload.c -rdynamic -pthread ||
	skip "no program can be built: $(cat "$directory/unload.build")"
run_profiled turns HEAPSAMPLE_INTERVAL=1 -- \
	"$directory/unload" $TURNS "$directory/liba.so" "$directory/libb.so" "$directory/libc.so"
expect_status 0
expect_silence
expect_profiles 1
check check_profile.py lossless "$out"/*.heap.pb.gz
check check_unload.py "$out"/*.heap.pb.gz "$out.stdout" $TURNS
finish
