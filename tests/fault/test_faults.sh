#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The profiler's calls fail, and the program does not notice: a selection of calls and failures.
# `make check-faults` tries all.
. "$(dirname "$0")/../preload/lib.sh"

"$python" "$source_directory/tests/fault/faults.py" --quick \
	"$build_directory/tests/fault/.libs/libheapsample_fault.so" \
	"$build_directory/tests/fault/victim_faults" || fail "see above"
finish
