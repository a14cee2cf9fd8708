#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Processes that fork, clone, execute and go, in every way.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hostile.sh"

life() {
	name=$1 due=$2
	shift 2
	hostile "$name" "$due" "$@" -- "$victims/victim_hostile_life" "$name"
}

kind fork
life fork-threads some -m "$busy"
life fork-deep 7
life fork-on 2
# Older ones lock malloc beside our threads, as the README says.
version=$(getconf GNU_LIBC_VERSION)
if [ "$(printf '%s\n' 'glibc 2.36' "$version" | sort -V | head -n 1)" = 'glibc 2.36' ]; then
	life fork-over-malloc 2 -m "$busy"
else
	skip_case fork-over-malloc "$version"
fi
life fork-raw 1
if unshare -p -f true 2>/dev/null; then
	hostile fork-raw-first 1 HEAPSAMPLE_PROGRAMS=victim_hostile_life -- \
		unshare -p -f "$victims/victim_hostile_life" fork-raw-first
	ended_with 5
else
	skip_case fork-raw-first "cannot unshare"
fi
hostile forks-at-once some -m "$busy" -- "$victims/victim_end" forks-at-once 16

kind clone
life clone-vm 1
life clone-tls 1

kind spawn
life vfork 1
life shell 1
hostile spawn 1 -- "$victims/victim_process" spawn

kind daemon
life daemon 2
hostile daemon-double 2 -- "$victims/victim_process" daemon

kind exec
# One before each exec that fails, one before each that does not, one at the end.
hostile exec-chain 14 -- "$victims/victim_exec" evpPlL

kind environment
build environment victim_hostile_environment.c -D_GNU_SOURCE || {
	fail "the program cannot be built: $(cat "$directory/environment.build")"
	finish
}
hostile environment 1 -- "$directory/environment"
ended_with 0
finish_cases
