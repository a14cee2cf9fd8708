#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# In a cgroup with a memory limit.  HEAPSAMPLE_OOM: a program that the kernel kills for its memory
# has left a profile, whose top entry is what grew, also in a small group.  And the profiler's own
# memory is no reason to kill a program that has room: its budget is a quarter of the limit.
. "$(dirname "$0")/lib.sh"

limit=268435456
group=
remove_group() {
	[ -z "$group" ] || rmdir "$group"
	clean_up
}
trap remove_group EXIT

# A new group with a memory limit, in the own one or in one above, which can have one where
# the own cannot: version 2 allows none below a group with processes.  Sets $group.
# make_group MOUNT PATH LIMIT-FILE [CONTROLLERS-FILE]
make_group() {
	path=$2
	# In a container the path may be the host's: then the mount is the group.
	[ -d "$1$path" ] || path=
	while [ -n "$1" ] && [ -d "$1$path" ]; do
		parent=$1${path%/}
		group=$parent/heapsample-test.$$
		if { [ -z "${4:-}" ] || grep -qsw memory "$parent/$4"; } &&
		   mkdir "$group" 2>/dev/null; then
			limit_file=$group/$3
			(echo "$limit" >"$limit_file" && echo 0 >"$group/cgroup.procs") \
				2>/dev/null && return
			rmdir "$group"
		fi
		[ "${path:-/}" != / ] || break
		path=${path%/*}
	done
	group=
}

# The mount of version 2, of version 1's memory controller, and the own group there.
make_group "$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)" \
	"$(sed -n 's/^0:://p' /proc/self/cgroup)" memory.max cgroup.subtree_control
[ -n "$group" ] || make_group \
	"$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/self/mounts)" \
	"$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)" memory.limit_in_bytes
[ -n "$group" ] || skip "no writable cgroup with the memory controller"
# No swap beyond the limit: of version 2, and of version 1 where it counts swap.
limit_swap() {
	[ ! -f "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"
	[ ! -f "$group/memory.memsw.limit_in_bytes" ] ||
		echo "$limit" >"$group/memory.memsw.limit_in_bytes"
}
limit_swap

# killed NAME BYTES SETTING... -- PROGRAM...: the kernel kills the program in the group, and its
# only profile has at least so many bytes of what grew.
killed() {
	out=$directory/$1
	name=$1 least=$2
	shift 2
	(
		echo 0 >"$group/cgroup.procs"
		run_profiled "$name" "HEAPSAMPLE_OUTPUT=$out/%n.%r.heap.pb.gz" "$@"
		exit "$status"
	)
	status=$?
	expect_status 137
	[ -z "$(messages)" ] || fail "$name: $(messages)"
	expect_profiles 1
	check check_profile.py top "$out/0001.oom.heap.pb.gz" site_leak "$least"
}
killed killed $((limit / 4)) HEAPSAMPLE_OOM=75 HEAPSAMPLE_INTERVAL=64k HEAPSAMPLE_MEMORY=32m \
	-- "$victims/victim_leak" 1 1000 $((limit / 100 * 75)) \
	"$directory/killed/0001.oom.heap.pb.gz" go-on

# Records of so many blocks would fill the default HEAPSAMPLE_MEMORY.
out=$directory/bounded
(
	echo 0 >"$group/cgroup.procs"
	run_profiled bounded "HEAPSAMPLE_STATS=$directory/stats" HEAPSAMPLE_INTERVAL=1 \
		PYTHONMALLOC=malloc -- \
		"$python" -S -c 'print(len([bytes(40) for i in range(1500000)]))'
	exit "$status"
)
status=$?
expect_status 0
[ "$(cat "$out.stdout")" = 1500000 ] || fail "bounded: its output is $(cat "$out.stdout")"
messages | grep -q 'near what the memory cgroup leaves of HEAPSAMPLE_MEMORY' ||
	fail "bounded: no message of the limit: $(cat "$out.stderr")"
grep -q "\"profiler_memory_budget\": $((limit / 4))\>" "$directory/stats" ||
	fail "bounded: its budget is not a quarter: $(grep budget "$directory/stats")"
expect_profiles 1

# The last tenth of a small group is used up between two looks at the clock: 250 ms.
limit=67108864
echo "$limit" >"$limit_file"
limit_swap
for i in 1 2 3; do
	killed "small$i" $((limit / 2)) HEAPSAMPLE_OOM=90 \
		-- "$victims/victim_leak" 1 1000 $((limit / 256)) - slowly
done
finish
