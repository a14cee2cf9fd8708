#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Eight threads exchange blocks in 64 cells, with interval 1, while the ring has room for
# few of their samples: nothing is in use when all is freed, and the sums are exact.
#
# HAMMER_SECONDS: for how long, 3 if not set.
. "$(dirname "$0")/lib.sh"

run_profiled hammer HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_MAX_INTERVAL=1 HEAPSAMPLE_BLOCK=0 \
	HEAPSAMPLE_RING=64k "HEAPSAMPLE_STATS=$directory/stats.json" -- \
	"$victims/victim_hammer" "${HAMMER_SECONDS:-3}"
expect_status 0
expect_one_message 'warning: [0-9]* of [0-9]* samples have no stack, .*: see HEAPSAMPLE_RING$'
expect_profiles 1
check check_hammer.py "$out"/*.heap.pb.gz "$directory/stats.json" "$out.stdout"
finish
