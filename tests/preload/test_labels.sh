#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Labels that a program sets for its threads: exact sums for each set of labels, in our view and
# in pprof's.
. "$(dirname "$0")/lib.sh"

victim=$victims/victim_labels

"$victim" absent || fail "without the library"
run_profiled off HEAPSAMPLE=0 -- "$victim" absent
expect_status 0
expect_silence

run_profiled requests HEAPSAMPLE_INTERVAL=1 -- "$victim" requests
expect_status 0
expect_silence
expect_profiles 2
for profile in "$out"/*.heap.pb.gz; do
	check check_profile.py lossless "$profile"
	if "$python" "$tests/check_labels.py" has "$profile" main=1 2 788 2 788 >/dev/null; then
		child=$profile
	else
		parent=$profile
	fi
done
[ -n "${child:-}" ] || fail "a child does not keep its labels"
check check_labels.py has "${child:-none}" - 5 32 5 32
check check_labels.py has "${child:-none}" child=1 1 17 1 17
check check_labels.py sums "${parent:-none}" "$out.stdout"

# Of both heaps together.
if command -v go >/dev/null && go tool -n pprof >/dev/null 2>&1; then
	export PPROF_TMPDIR="$directory" XDG_CONFIG_HOME="$directory" GOTOOLCHAIN=local GOFLAGS=
	for endpoint in /login /search; do
		go tool pprof -symbolize=none -top -nodefraction=0 -sample_index=alloc_space -unit=B \
			"-tagfocus=endpoint=$endpoint" "$parent" >"$directory/top" 2>"$directory/top.stderr" ||
			fail "pprof: $(cat "$directory/top.stderr")"
		bytes=$(awk -v prefix="endpoint=$endpoint" 'index($1, prefix) == 1 { sum += $3 }
			END { print sum }' "$out.stdout")
		grep -q "^Showing nodes accounting for ${bytes}B," "$directory/top" ||
			fail "pprof -tagfocus=endpoint=$endpoint is not $bytes: $(cat "$directory/top")"
	done
fi

# A set that does not fit is counted, and the thread's labels stay as they were.
run_profiled errors HEAPSAMPLE_INTERVAL=1 -- "$victim" errors
expect_status 0
expect_silence
expect_profiles 1
check check_labels.py has "$out"/*.heap.pb.gz kept=1 2 200 2 200
check check_profile.py counted "$out"/*.heap.pb.gz labels_refused

# Those of the setting: the thread, and not the size.
run_profiled setting HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_LABELS=tid,thread -- \
	"$victims/victim_process" exit
expect_status 5
expect_silence
expect_profiles 1
"$python" - "$tests" "$out"/*.heap.pb.gz <<'END' || fail "setting: other labels"
import os, sys
sys.path.insert(0, sys.argv[1])
from profile_facts import read_profile, site_of
process = int(os.path.basename(sys.argv[2]).split(".")[1])
labels = [row["labels"] for row in read_profile(sys.argv[2]).rows() if site_of(row["stack"])]
print(labels)
sys.exit(labels != [{"tid": process, "thread": "victim_process"}])
END

# A stream does not have them.
run_profiled stream HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STREAM=$directory/stream.pftrace" \
	-- "$victim" requests
expect_status 0
expect_silence
finish
