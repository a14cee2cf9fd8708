#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# dlopen() and dlmopen() end in a jump, however little the compiler optimizes: after a call the next
# dlopen() would take our library for the caller, and not find libraries by the RUNPATH of the
# program's.
set -u

source_directory=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT

command -v objdump >/dev/null || {
	echo "skipped: no objdump"
	exit 77
}
for level in -O0 -Og -O2; do
	${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -foptimize-sibling-calls \
		-I"$source_directory" -I"$source_directory/src" $level \
		-c "$source_directory/preload/hooks.c" -o "$directory/hooks.o" || exit 1
	for function in dlopen dlmopen; do
		objdump -d --no-show-raw-insn --disassemble=$function "$directory/hooks.o" |
			grep -q 'jmpq* *\*' || {
			echo "FAIL: with $level $function has no jump to the next one"
			exit 1
		}
	done
done
echo "passed"
