#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs that give up rights, move to other namespaces, or run into limits.  What cannot be
# written is said; nothing else changes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hostile.sh"

open_to_all "$victims/victim_hostile_limits"
victim=$directory/victim_hostile_limits
ulimit -S -c 0
# Descriptors of whoever runs the tests are not to count where there are few.
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
mkdir -m 777 "$directory/open"

# limits NAME HOW-MANY [-m MESSAGES] [SETTING...] -- ARGUMENT...; after root: root only.
root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		skip_case "$2" "needs root"
	fi
}
limits() {
	name=$1 due=$2 before=
	shift 2
	if [ "$1" = -m ]; then
		allowed=$2
		shift 2
	else
		allowed='^$'
	fi
	while [ "$1" != -- ]; do
		before="$before $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # no setting has a blank in it
	hostile "$name" "$due" -m "$allowed" $before -- "$victim" "$@"
}

kind rights
for function in setuid setresuid; do
	root limits "$function" any "HEAPSAMPLE_OUTPUT=$directory/open/$function.%p.%n.heap.pb.gz" -- \
		user $function
	[ "$(id -u)" -ne 0 ] || [ "$(find "$directory/open" -name "$function.*" | wc -l)" -eq 2 ] ||
		fail "$function: not two profiles:" "$directory/open"/*
done
root limits capabilities any "HEAPSAMPLE_OUTPUT=$directory/open/%p.%n.heap.pb.gz" -- capabilities
# Where process_vm_readv() is refused there is /proc/self/mem, which PR_SET_DUMPABLE takes away.
if "$python" -B "$source_directory/tests/preload/own_memory.py"; then
	limits prctl 1 -- prctl
else
	limits prctl 1 -m 'libunwind is not used' -- prctl
fi
mkdir -p "$directory/root"
root limits chroot any -m 'no such directory|libunwind is not used' -- chroot "$directory/root"

kind namespaces
victim=$victims/victim_hostile_namespaces
may_unshare() {
	unshare "$@" true 2>/dev/null
}
for flag in 0x00020000 0x40000000 0x10000000 0x10020000 0x04000000 0x08000000 0x200 0x600 0x80; do
	limits "unshare.$flag" 1 -- unshare $flag
done
for function in unshare close_range; do
	limits "files.$function" 1 -- files $function
done
if [ -e /proc/sysvipc ]; then
	limits undo 1 -- undo
else
	skip_case undo "no semaphores"
fi
# Whose children are in another pid or time namespace can have no more threads: the default
# interval's.
limits unshare.0x20000000 1 -m 'cannot be started' -- unshare 0x20000000
for flag in 0x20000000 0x80; do
	limits "unshare-twice.$flag" 1 -m 'cannot be started' -- unshare-twice $flag
done
# Who enters a namespace of mounts is at its root from then on; in a chroot no mount is at /.
is_at_root() {
	awk '$5 == "/" { found = 1 } END { exit !found }' /proc/self/mountinfo
}
# enters NAMESPACE NAME ARGUMENT...
enters() {
	case_name=$2
	if [ "$1" = mnt ] && ! is_at_root; then
		skip_case "$case_name" "this is a chroot"
	else
		shift 2
		limits "$case_name" 1 -- "$@"
	fi
}
for namespace in mnt net user ipc uts time; do
	[ -e "/proc/self/ns/$namespace" ] || {
		skip_case "setns.$namespace" "no such namespaces"
		continue
	}
	enters $namespace "setns.$namespace" setns $namespace
done
# To another one and back, alone and with threads that cannot be ended for it.
for threads in 0 2; do
	for namespace in user:0x10000000 mnt:0x00020000 net:0x40000000; do
		enters ${namespace%:*} "setns-child.${namespace%:*}.$threads" \
			setns-child ${namespace%:*} ${namespace#*:} $threads
	done
done
for when in first later; do
	if [ "$(id -u)" -eq 0 ] && may_unshare -m; then
		limits "without-proc.$when" 1 -m 'maps cannot be read' -- without-proc $when
	else
		skip_case "without-proc.$when" "cannot unshare"
	fi
done

kind limits
victim=$directory/victim_hostile_limits
refused='cannot write the profile|cannot be started|no memory for the profiler|libunwind is not used'
refused="$refused|HEAPSAMPLE_MEMORY.* is used up"
# At interval 1, where the machine has much to do, the ring fills up.
small='memory is near what RLIMIT_(AS|DATA) leaves'
refused="$refused|$small"
limits as any -m "$refused" -- limit as 0
limits room 1 -m "$small" -- room as 400000000
limits data any -m "$refused" -- limit data 0
limits room-data 1 -m "$small" -- room data 400000000
limits nofile any -m "$refused" -- limit nofile 3
limits fsize 0 -m "$refused" -- limit fsize 100
limits stack 1 -- limit stack 65536
limits core 1 -- limit core 0
limits limited-as any -m "$refused" -- limited as 200000000
limits limited-data any -m "$refused" -- limited data 2000000
# What the profiler takes leaves the program most of it.
limits limited-blocks any -m "$refused" -- limited data 32000000 blocks 20000
limits limited-nofile any -m "$refused" -- limited nofile 4
limits limited-fsize 0 -m "$refused" -- limited fsize 100
limits limited-stack 1 -- limited stack 262144
limits exhaust any -m "$refused" HEAPSAMPLE_MEMORY=32m -- exhaust 600000000
if [ "$(id -u)" -ne 0 ]; then
	limits nproc any -m "$refused" -- limit nproc 0
elif command -v setpriv >/dev/null; then
	hostile nproc any -m "$refused|denied" -- setpriv --reuid=65534 --regid=65534 \
		--clear-groups "$victim" limit nproc 0
else
	skip_case nproc "no setpriv"
fi

# A program with more rights than its user that has the library in it (the loader does not preload
# it there).
kind setuid
secure() {
	out=$directory/$1
	setpriv --reuid=65533 --regid=65533 --clear-groups env HEAPSAMPLE_INTERVAL=1 \
		HEAPSAMPLE_LOG=debug "HEAPSAMPLE_LOGFILE=$directory/open/secure.log" \
		"HEAPSAMPLE_OUTPUT=$directory/open/secure.%p.heap.pb.gz" "$directory/secure" exit \
		>"$out.stdout" 2>"$out.stderr"
	status=$?
	expect_status 5
	expect_silence
}
# writes_nothing NAME FAILURES-BEFORE: the copy that has been given rights.
writes_nothing() {
	rm -f "$directory/open"/secure.*
	secure "$1"
	[ "$(find "$directory/open" -name 'secure.*' | wc -l)" -eq 0 ] ||
		fail "$1:" "$directory/open"/*
	[ "$failures" -eq "$2" ] && outcome=passed || outcome=failed
	echo "case setuid $1: $outcome"
	case_lines="${case_lines}setuid $outcome
"
}
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
	skip_case setuid "needs root and setpriv"
	skip_case capable "needs root and setpriv"
else
	before=$failures
	build secure victim_process.c "$library" "-Wl,-rpath,$directory" \
		-pthread || fail "secure is not built: $(cat "$directory/secure.build")"
	secure plain
	[ "$(find "$directory/open" -name 'secure.*' | wc -l)" -eq 2 ] ||
		fail "setuid: nothing is written without setuid either"
	chmod 4755 "$directory/secure"
	writes_nothing setuid "$before"
	chmod 755 "$directory/secure"
	before=$failures
	if ! PATH=$PATH:/usr/sbin:/sbin setcap cap_net_raw+ep "$directory/secure" 2>/dev/null; then
		skip_case capable "no setcap, or no file capabilities here"
	else
		writes_nothing capable "$before"
	fi
fi
finish_cases
