#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The documented errors of the functions that allocate, what they must leave alone, and calls
# before and after everything else.
. "$(dirname "$0")/lib.sh"
. "$tests/hostile.sh"

kind malloc
for mode in fail nothing errno floating-point refuse-threads; do
	hostile $mode 1 -- "$victims/victim_hostile_calls" $mode
done

kind C++
for mode in fail handle throw thread-local; do
	hostile new.$mode 1 -- "$victims/victim_hostile_new" $mode
done
# They end with abort(): no profile is promised.
for mode in terminate noexcept; do
	hostile new.$mode any -- "$victims/victim_hostile_new" $mode
done
kind early
for first in 0 1 3 6 9; do
	hostile first-call-$first 1 -- "$victims/victim_hostile_early" $first
done
finish_cases
