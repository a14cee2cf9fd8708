#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Above interval 1 the totals are unbiased: 20 seeds each, with an interval that samples
# nearly all, many and few of the allocations.
. "$(dirname "$0")/lib.sh"

"$victims/victim_estimate" print >"$directory/truth" || fail "the victim fails by itself"
for interval in 2 512 65536; do
	for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		# One row per stack: fewer numbers to round.  Waiting for room: no stack,
		# and so no site, is lost however slow the machine is.
		run_profiled "interval.$interval" HEAPSAMPLE_INTERVAL=$interval \
			HEAPSAMPLE_SEED=$seed HEAPSAMPLE_LABELS=none HEAPSAMPLE_BLOCK=10000 \
			-- "$victims/victim_estimate"
		expect_status 0
		expect_silence
	done
	expect_profiles 20
	check check_profile.py lossless "$out"/*.heap.pb.gz
	check check_estimates.py $interval "$directory/truth" "$out"/*.heap.pb.gz
done

# A seed makes a run reproducible: the same sums again.  Without one it is different each time.
for run in one two none nothing; do
	case $run in
	n*) seed= ;;
	*) seed=0x5eed ;;
	esac
	run_profiled "seed.$run" HEAPSAMPLE_INTERVAL=65536 HEAPSAMPLE_SEED=$seed \
		HEAPSAMPLE_LABELS=none -- "$victims/victim_estimate"
	"$python" "$source_directory/tests/pprof_read.py" sites "$out"/*.heap.pb.gz |
		grep site_estimate >"$directory/seed.$run.sites" || fail "no site_estimate"
done
cmp "$directory/seed.one.sites" "$directory/seed.two.sites" || fail "the seed makes no difference"
! cmp -s "$directory/seed.none.sites" "$directory/seed.nothing.sites" || fail "the same without a seed"

# Nor is a row that several processes have rounded alike in all of them: those of one object each.
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	run_profiled rounded HEAPSAMPLE_INTERVAL=1024 HEAPSAMPLE_SEED=$seed \
		HEAPSAMPLE_LABELS=size -- "$victims/victim_estimate" single
done
"$python" - "$tests" "$out"/*.heap.pb.gz <<'END' || fail "rounded: all alike, or wrong"
import collections, sys
sys.path.insert(0, sys.argv[1])
from profile_facts import read_profile
counts = collections.defaultdict(set)
for path in sys.argv[2:]:
    for row in read_profile(path).rows():
        counts[row["labels"]["bytes"]].add(row["values"][0])
print(dict(counts))
sys.exit({max(found) - min(found) for found in counts.values()} not in ({1}, {0, 1}))
END
finish
