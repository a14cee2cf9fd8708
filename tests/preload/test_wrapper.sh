#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# A program that only starts others is not what was to be profiled: its profile says so, and with
# HEAPSAMPLE_LOG=info so do a message and the others.
. "$(dirname "$0")/lib.sh"

need timeout sh
victim=$victims/victim_process
comment='the programs that it started were not profiled, see HEAPSAMPLE_PROGRAMS'

# expect_hint PROGRAM LOG: its profile, which is the only one, and the message name the settings.
expect_hint() {
	[ "$(grep -c "info: $1 allocated too little for a sample, and the programs" "$2")" -eq 1 ] ||
		fail "$(basename "$out"): $(cat "$2")"
	[ "$(profile_count)" -eq 1 ] || fail "$(basename "$out"):" "$out"/*
	check check_profile.py comment "$out"/*.heap.pb.gz "$comment"
}

# By fork(), and by vfork().  timeout closes its standard error before it ends.
run_profiled forked HEAPSAMPLE_INTERVAL=256g HEAPSAMPLE_LOG=info \
	"HEAPSAMPLE_LOGFILE=$directory/forked.log" -- timeout 250 "$victim" return
expect_status 0
expect_silence
expect_hint timeout "$directory/forked.log"
run_profiled script HEAPSAMPLE_INTERVAL=256g HEAPSAMPLE_LOG=info -- sh -c "$victim return; exit 3"
expect_status 3
expect_hint sh "$out.stderr"
run_profiled vforked HEAPSAMPLE_INTERVAL=256g HEAPSAMPLE_LOG=info -- "$victim" spawn
expect_status 0
expect_hint victim_process "$out.stderr"

# The program that was left alone says why.
run_profiled info HEAPSAMPLE_INTERVAL=256g HEAPSAMPLE_LOG=info -- timeout 250 "$victim" return
expect_status 0
messages | grep -q 'info: victim_process is not profiled: a profiled program started it, see' ||
	fail "info: $(messages)"
run_profiled off HEAPSAMPLE=0 HEAPSAMPLE_LOG=info HEAPSAMPLE_ROOT=1 -- "$victim" return
expect_silence

# A script that is to be profiled, a program that is not, in its place, and what that starts.
printf '#!/bin/sh\nexec timeout 250 %s return\n' "$victim" >"$directory/victim_script"
chmod +x "$directory/victim_script"
run_profiled in_place HEAPSAMPLE_INTERVAL=1 'HEAPSAMPLE_PROGRAMS=victim_*' -- \
	"$directory/victim_script"
expect_status 0
expect_silence
[ "$(find "$out" -name 'victim_process.*' | wc -l)" -eq 1 ] || fail "in place:" "$out"/*

# quiet NAME SETTING... -- PROGRAM ARGUMENT...: nothing is to be said of what was started.
quiet() {
	export HEAPSAMPLE_LOG=info
	run_profiled "$@"
	unset HEAPSAMPLE_LOG
	! messages | grep 'allocated too little' >&2 || fail "$(basename "$out"): the message"
	for file in "$out"/*.heap.pb.gz; do
		! "$python" "$tests/check_profile.py" comment "$file" "$comment" >/dev/null ||
			fail "$(basename "$file"): the comment"
	done
}

quiet children HEAPSAMPLE_INTERVAL=256g HEAPSAMPLE_CHILDREN=exec -- timeout 250 "$victim" return
quiet programs HEAPSAMPLE_INTERVAL=256g 'HEAPSAMPLE_PROGRAMS=timeout' -- \
	timeout 250 "$victim" return
quiet sampled HEAPSAMPLE_INTERVAL=1 -- timeout 250 "$victim" return
quiet inactive HEAPSAMPLE_ACTIVE=0 -- timeout 250 "$victim" return
quiet no_malloc HEAPSAMPLE_HEAPS=malloc=0 -- timeout 250 "$victim" return
run_profiled no_final HEAPSAMPLE_FINAL=0 -- timeout 250 "$victim" return
expect_silence
quiet alone HEAPSAMPLE_INTERVAL=256g -- "$victim" return
quiet forks HEAPSAMPLE_INTERVAL=256g -- "$victim" fork
quiet in_place HEAPSAMPLE_INTERVAL=256g -- sh -c "exec $victim return"

# An execution that fails starts nothing.
run_profiled missing HEAPSAMPLE_INTERVAL=256g -- timeout 250 "$directory/no_such"
expect_status 127
[ -z "$(messages)" ] || fail "missing: $(messages)"

# A child's child is the child's affair.
quiet grandchild HEAPSAMPLE_INTERVAL=256g -- "$python" -c '
import os, sys
if os.fork() == 0:
    if os.fork() == 0:
        os.execv(sys.argv[1], [sys.argv[1], "return"])
    os.wait()
    os._exit(0)
os.wait()' "$victim"
finish
