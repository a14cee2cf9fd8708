#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs whose seccomp filter refuses system calls that the profiler makes.  They install it
# before its threads start (HEAPSAMPLE_BLOCK=0: that is at the first sample) or later, for one thread
# or for all.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hostile.sh"

victim=$victims/victim_hostile_seccomp
"$victim" start errno uname >/dev/null
[ $? -eq 5 ] || skip "no seccomp filters"

# Messages that may come if there is no profile, or less in it.
given_up='cannot write the profile|cannot be started|futex\(\) is refused|was killed'
given_up="$given_up|libunwind is not used|HEAPSAMPLE_MEMORY.* is used up|is near HEAPSAMPLE_MEMORY"

# A case: filtered CALLS WHEN ACTION [all]
filtered() {
	calls=$1
	shift
	# shellcheck disable=SC2086 # calls are words
	hostile "$(echo "$*" "${calls%%[ 	]*}" | tr ' ' .)" any -m "$given_up" HEAPSAMPLE_BLOCK=0 -- \
		"$victim" "$@" $calls
}

kind seccomp-errno
for call in futex openat mmap munmap mprotect madvise process_vm_readv clone clone3 getrandom \
	sched_getscheduler sched_setscheduler prctl getpid rt_sigprocmask read pread64 close \
	newfstatat readlinkat renameat2 unlinkat getcwd rseq; do
	filtered $call start errno
	filtered $call later errno all
done
filtered futex later errno
many='ptrace openat munmap madvise process_vm_readv clone3 getrandom sched_getscheduler getpid'
many="$many newfstatat readlinkat renameat2 ppoll"
filtered "$many" start nosys
filtered "$many" later nosys all

filtered setuid start errno
filtered setuid later errno
filtered setuid later errno all

# Without ptrace, as in many containers, the profile is complete.
hostile no-ptrace 1 HEAPSAMPLE_BLOCK=0 -- "$victim" start errno ptrace process_vm_readv

# The program's handler answers the calls of our threads too.  It is not called for those that libc
# makes with all signals blocked, such as clone3.
kind seccomp-trap
for call in openat munmap newfstatat renameat2; do
	filtered $call start trap
	filtered $call later trap all
done

# A program that we cannot end by the signal ends with its status.  -e: the shell only tells that of
# a signal.
kind seccomp-term
for call in rt_sigaction tgkill; do
	hostile "term.$call" 1 -e HEAPSAMPLE_FINAL=term -- "$victim" term errno $call
	ended_with 143
done

# Only calls that no thread of the program makes: it would be killed.  They make process_vm_readv
# only on stacks of unknown bounds.
kind seccomp-kill
for call in openat rseq read renameat2 process_vm_readv; do
	filtered $call start kill all
	filtered $call later kill all
done
filtered process_vm_readv start kill
filtered process_vm_readv later kill

# systemd's SystemCallFilter=~@resources, which ends the process.
resources='ioprio_set mbind migrate_pages move_pages sched_setaffinity sched_setattr'
resources="$resources sched_setparam sched_setscheduler set_mempolicy setpriority setrlimit"
# shellcheck disable=SC2086 # calls are words
hostile no-resources 1 HEAPSAMPLE_BLOCK=0 -- "$victim" start end $resources
finish_cases
