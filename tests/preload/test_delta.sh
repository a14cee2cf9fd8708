#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# HEAPSAMPLE_DELTA: the profiles of a process add up to the last one that it has without it;
# so do those of a forked child.
. "$(dirname "$0")/lib.sh"

# delta NAME HEAPSAMPLE_DELTA ARGUMENT...
delta() {
	mode=$1 switch=$2
	shift 2
	run_profiled "$mode" HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_SEED=7 HEAPSAMPLE_SIGNAL=USR2 \
		"HEAPSAMPLE_DELTA=$switch" "HEAPSAMPLE_STATS=$directory/$mode.%p.json" -- \
		"$victims/victim_delta" "$directory/$mode" "$@"
	expect_status 0
	expect_silence
}

# The process that wrote the profile of this number: process_of NAME NUMBER
process_of() {
	file=$(find "$directory/$1" -name "*.$2.heap.pb.gz")
	file=${file%."$2".heap.pb.gz}
	echo "${file##*.}"
}

# The last profile of one process against the sum of another's: add_up NAME PROCESS NAME PROCESS
add_up() {
	whole=$(find "$directory/$1" -name "*.$2.*" | sort | tail -1)
	# shellcheck disable=SC2046 # no name has a blank in it
	check check_delta.py "$whole" "$directory/$3.$4.json" \
		$(find "$directory/$3" -name "*.$4.*" | sort)
}

delta whole 0
expect_profiles 7
delta differences 1
expect_profiles 7
add_up whole "$(process_of whole 0007)" differences "$(process_of differences 0007)"

# The parent has one file, the child six.
delta whole_fork 0 fork
expect_profiles 7
child=$(cat "$out.stdout")
delta differences_fork 1 fork
expect_profiles 7
add_up whole_fork "$child" differences_fork "$(cat "$out.stdout")"

# With "alloc" what is in use is not a difference, and the comment says so.
delta alloc alloc
expect_profiles 7
last=$(find "$directory/alloc" -name '*.0007.*')
check check_profile.py comment "$last" ' delta=alloc'

# What a profile that could not be written had is in the next one.
run_profiled failed HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_DELTA=1 \
	"HEAPSAMPLE_OUTPUT=$directory/failed/late/%n.heap.pb.gz" -- "$python" -c 'import ctypes, os, sys
block = bytes(10000000)
failed = ctypes.CDLL(None).heapsample_dump(None, 0)
os.mkdir(sys.argv[1])
print(failed, ctypes.CDLL(None).heapsample_dump(None, 0))' "$directory/failed/late"
expect_status 0
expect_one_message 'no such directory'
[ "$(cat "$out.stdout")" = "-5 0" ] || fail "failed: $(cat "$out.stdout")"
check check_profile.py least "$out/late/0001.heap.pb.gz" '' 10000000

# Each duration begins where the one before has ended, or at the start or a reset, and a child's
# first where its parent's counts begin: what the statistics say is their sum.
run_profiled durations HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_DELTA=1 \
	"HEAPSAMPLE_OUTPUT=$directory/durations/%p.%n.heap.pb.gz" \
	"HEAPSAMPLE_STATS=$directory/durations.%p.%n.json" -- "$python" -c 'import ctypes, os, time
library = ctypes.CDLL(None)
def dump():
    time.sleep(0.1)
    assert library.heapsample_dump(None, 0) == 0
dump()
start = time.monotonic_ns()
assert library.heapsample_reset() == 0
dump()
print(time.monotonic_ns() - start)
dump()
child = os.fork()
if child == 0:
    dump()
else:
    assert os.waitpid(child, 0)[1] == 0'
expect_status 0
expect_silence
expect_profiles 6
"$python" - "$source_directory/tests" "$out.stdout" "$out".*.json <<'END' || fail "durations"
import json, sys
sys.path.insert(0, sys.argv[1])
from pprof_read import read_profile
all_stats = [json.load(open(path)) for path in sorted(sys.argv[3:])]
sums = {}
for stats in all_stats:
    pid, number = stats["pid"], stats["number"]
    is_parent = sum(each["pid"] == pid for each in all_stats) == 4
    duration = read_profile(stats["profile"]).duration_nanos
    # The parent has called heapsample_reset() before its second profile.
    before = 0 if number == 1 or (is_parent and number == 2) else sums[pid]
    sums[pid] = before + duration
    print(stats["profile"], duration, sums[pid], stats["duration_ns"])
    assert duration >= 10 ** 8 or stats["reason"] == "exit"
    assert sums[pid] == stats["duration_ns"]
    # All since the reset, and nothing before.
    assert not is_parent or number != 2 or duration <= int(open(sys.argv[2]).read())
END

# pprof opens one with values below 0.
if command -v go >/dev/null && go tool -n pprof >/dev/null 2>&1; then
	export PPROF_TMPDIR="$directory" XDG_CONFIG_HOME="$directory" GOTOOLCHAIN=local GOFLAGS=
	last=$(find "$directory/differences" -name '*.0007.*')
	go tool pprof -symbolize=none -top -sample_index=inuse_space -unit=B "$last" \
		>"$directory/top" 2>"$directory/top.stderr" || fail "pprof: $(cat "$directory/top.stderr")"
	grep -q -e '-[0-9]*B .*site_leaf' "$directory/top" ||
		fail "pprof -top shows nothing below 0: $(cat "$directory/top")"
fi
finish
