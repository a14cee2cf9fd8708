#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# For libc a program of one thread stays one, despite the profiler's threads: its malloc()
# takes no lock, nor do reference counts of C++'s shared pointers.  Except during calls that are for
# all threads, and once libunwind is used, which the program may use as well.
. "$(dirname "$0")/lib.sh"

version=$(getconf GNU_LIBC_VERSION)
[ "$(printf '%s\n' 'glibc 2.32' "$version" | sort -V | head -n 1)" = 'glibc 2.32' ] ||
	skip "$version has no __libc_single_threaded"

# libc NAME SETTING STEP:SINGLE...: a program takes these steps in turn; SINGLE is what libc must
# think after each (1: that there is one thread).  child: what a forked child prints.
libc() {
	name=$1 setting=$2
	shift 2
	steps=
	for step; do
		[ "${step%:*}" = child ] || steps="$steps ${step%:*}"
	done
	# shellcheck disable=SC2086 # a list of steps
	run_profiled "$name" $setting -- "$victims/victim_libc_threads" $steps
	expect_status 0
	expect_silence
	printf '%s\n' "$@" | tr : ' ' >"$directory/$name.due"
	cut -d ' ' -f 1,2 "$out.stdout" | diff "$directory/$name.due" - >&2 || fail "$name: not as due (<)"
	# Not where the main thread may be gone before they are there.
	[ "${1%:*}" = cancel ] || cut -d ' ' -f 3 "$out.stdout" | grep -qx 3 ||
		fail "$name: the profiler has no threads"
}

# Since glibc 2.36, a thread that cancels itself ends this.
after_cancel=$("$victims/victim_libc_threads" cancel | cut -d ' ' -f 2)
# The default, where libunwind is loaded when it is needed, and where it is there from the start.
for setting in HEAPSAMPLE_INTERVAL=1k HEAPSAMPLE_INTERVAL=1; do
	libc "sample.${#setting}" $setting nothing:1 allocate:1 allocate:1
	libc "thread.${#setting}" $setting allocate:1 thread:0 allocate:0 allocate:0
	libc "cancel.${#setting}" $setting allocate:1 "cancel:$after_cancel" "allocate:$after_cancel"
	libc "user.${#setting}" $setting allocate:1 same-user:1 allocate:1 thread:0 same-user:0 allocate:0
	libc "expression.${#setting}" $setting allocate:1 expression:0 allocate:0 allocate:0
	libc "handler.${#setting}" $setting allocate:1 handler:1 allocate:1
	libc "first.${#setting}" $setting "cancel:$after_cancel" "allocate:$after_cancel" \
		"allocate:$after_cancel"
	libc "fork.${#setting}" $setting allocate:1 child:1 fork:1
	[ "$(id -u)" -ne 0 ] || libc "other-user.${#setting}" "$setting HEAPSAMPLE_FINAL=0" \
		allocate:1 user:1 allocate:1
done
# The profiler's threads look at the signal's handler.
libc signal "HEAPSAMPLE_INTERVAL=1k HEAPSAMPLE_SIGNAL=SIGUSR2" allocate:1
# The profiler's threads come with a coroutine's sample too; here nothing else is likely to be one.
libc coroutine HEAPSAMPLE_INTERVAL=64k coroutine:1

finish
