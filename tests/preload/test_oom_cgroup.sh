#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# HEAPSAMPLE_OOM: a program that the kernel kills for the memory of its cgroup has left a
# profile, whose top entry is what grew.
. "$(dirname "$0")/lib.sh"

limit=268435456
group=
remove_group() {
	[ -z "$group" ] || rmdir "$group"
	clean_up
}
trap remove_group EXIT

# A new group with a memory limit: in the own one, which can have none where processes are
# in it, or in one above.  Sets $group.
make_group() {
	mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	path=$(sed -n 's/^0:://p' /proc/self/cgroup)
	[ -n "$mount" ] && [ -d "$mount$path" ] || return
	while :; do
		group=$mount${path%/}/heapsample-test.$$
		if grep -qsw memory "${group%/*}/cgroup.subtree_control" &&
		   mkdir "$group" 2>/dev/null; then
			(echo 0 >"$group/cgroup.procs") 2>/dev/null &&
				echo "$limit" >"$group/memory.max" && return
			rmdir "$group"
		fi
		[ "${path:-/}" != / ] || break
		path=${path%/*}
	done
	group=
}

make_group
[ -n "$group" ] || skip "no writable cgroup of version 2 with the memory controller"
[ ! -f "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"

out=$directory/killed
(
	echo 0 >"$group/cgroup.procs"
	run_profiled killed "HEAPSAMPLE_OUTPUT=$out/%n.%r.heap.pb.gz" HEAPSAMPLE_OOM=75 \
		HEAPSAMPLE_INTERVAL=64k HEAPSAMPLE_MEMORY=32m -- "$victims/victim_leak" \
		1 1000 $((limit / 100 * 75)) "$out/0001.oom.heap.pb.gz" go-on
	exit "$status"
)
status=$?
expect_status 137
[ -z "$(messages)" ] || fail "killed: $(messages)"
expect_profiles 1
check check_profile.py top "$out/0001.oom.heap.pb.gz" site_leak $((limit / 4))
finish
