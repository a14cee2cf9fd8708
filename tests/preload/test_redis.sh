#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# redis-server with 200 MB of values: bytes in use within 2 % (mean of 5 runs) of the bytes
# it asked for, as a counting library sees them; all frames named, stacks complete.
. "$(dirname "$0")/lib.sh"
need redis-server

load() {
	"$python" "$tests/redis_load.py" "$directory/socket" "$@" 2>>"$directory/load.errors"
}

pairs=
for run in 1 2 3 4 5; do
	export COUNT_LIVE_FILE="$directory/count.$run"
	PRELOAD=$victims/.libs/count_live.so
	start_profiled "redis.$run" HEAPSAMPLE_INTERVAL=64k HEAPSAMPLE_SEED=$run \
		HEAPSAMPLE_SIGNAL=WINCH -- redis-server --port 0 --unixsocket "$directory/socket" \
		--save '' --appendonly no --dir "$directory"
	wait_until load ping || fail "redis-server does not answer"
	load fill 200000 || fail "redis-server cannot be filled"
	kill -USR1 "$process"
	wait_until [ -s "$COUNT_LIVE_FILE" ] || fail "nothing was counted"
	kill -WINCH "$process" # USR2 is redis 8's own
	wait_until has_profiles 1 || fail "no profile on the signal"
	first=$(find "$out" -name '*.0001.heap.pb.gz')
	pairs="$pairs $first $COUNT_LIVE_FILE"
	echo "used_memory: $(load used), counted: $(cat "$COUNT_LIVE_FILE")" >&2
	load shutdown || fail "redis-server does not shut down"
	wait "$process"
	status=$?
	background=
	expect_status 0
	expect_silence
	expect_profiles 2
	check check_stacks.py 99 "$out"/*.heap.pb.gz
	rm -f "$directory/socket"
done

# shellcheck disable=SC2086 # a list of files without blanks
check check_live.py 2 $pairs
if command -v go >/dev/null && go tool pprof -h 2>&1 | grep -q '[Uu]sage'; then
	GOTOOLCHAIN=local PPROF_TMPDIR=$directory go tool pprof -symbolize=none -top \
		"$first" >"$directory/top" 2>"$directory/top.stderr" ||
		fail "pprof refuses the profile: $(cat "$directory/top.stderr")"
	grep -q '^Type: inuse_space' "$directory/top" || fail "pprof -top: $(head -3 "$directory/top")"
	grep -q 'zmalloc' "$directory/top" || fail "pprof -top shows no zmalloc"
else
	echo "without go tool pprof" >&2
fi
finish
