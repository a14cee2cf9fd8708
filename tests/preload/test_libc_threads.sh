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
	libc "compute.${#setting}" $setting allocate:1 compute:0
	"$python" "$source_directory/tests/pprof_read.py" dump "$out"/*.heap.pb.gz |
		grep unwind_no_engine && fail "$name: the worker did not wait for libunwind"
	libc "handler.${#setting}" $setting allocate:1 handler:1 allocate:1
	libc "first.${#setting}" $setting "cancel:$after_cancel" "allocate:$after_cancel" \
		"allocate:$after_cancel"
	libc "fork.${#setting}" $setting allocate:1 child:1 fork:1
	[ "$(id -u)" -ne 0 ] || libc "other-user.${#setting}" "$setting HEAPSAMPLE_FINAL=0" \
		allocate:1 user:1 allocate:1
done
# Libunwind is not loaded where the program has chosen the root directory.
if [ "$(id -u)" -eq 0 ]; then
	run_profiled chroot HEAPSAMPLE_INTERVAL=1k -- "$victims/victim_libc_threads" chroot expression
	expect_status 0
	expect_one_message 'libunwind is not used' 'another root'
fi
# The profiler's threads look at the signal's handler.
libc signal "HEAPSAMPLE_INTERVAL=1k HEAPSAMPLE_SIGNAL=SIGUSR2" allocate:1
# The profiler's threads come with a coroutine's sample too; here nothing else is likely to be one.
libc coroutine HEAPSAMPLE_INTERVAL=64k coroutine:1

# Who has the profiler's threads from the start; on which processors and under which policy: those of
# the process, not those of the thread that starts them.
cat >"$directory/threads.py" <<'END'
import ctypes
import glob
import os
import sys
import time


def threads():
    """The processors and the policy of each profiler thread."""
    found = []
    for path in glob.glob("/proc/self/task/*"):
        tid = int(os.path.basename(path))
        try:
            with open(path + "/comm") as file:
                if file.read().startswith("heapsample-"):
                    found.append((os.sched_getaffinity(tid), os.sched_getscheduler(tid)))
        except OSError:
            pass  # it has just ended
    return found


due = [(os.sched_getaffinity(0), os.SCHED_OTHER)] * 2
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
if sys.argv[1] == "ask":
    if threads():
        sys.exit("there are some already")
    ctypes.CDLL(None).heapsample_start()
end = time.monotonic() + 30
while threads() != due and time.monotonic() < end:
    time.sleep(0.01)
if threads() != due:
    sys.exit("%s, not %s" % (threads(), due))
END
for setting in HEAPSAMPLE_SIGNAL=USR2 HEAPSAMPLE_TIME_INTERVAL=1h HEAPSAMPLE_OOM=99 \
	HEAPSAMPLE_FINAL=term HEAPSAMPLE_BLOCK=1 ask; do
	name=$setting
	case $setting in
	ask) setting=HEAPSAMPLE_ACTIVE=0 ;;
	esac
	run_profiled "start.$name" HEAPSAMPLE_INTERVAL=256g $setting -- \
		"$python" "$directory/threads.py" $name
	expect_status 0
	expect_silence
done
finish
