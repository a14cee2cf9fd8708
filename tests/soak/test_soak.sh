#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# scripts/soak for a few seconds.  SOAK_SECONDS: for how long.
. "$(dirname "$0")/../preload/lib.sh"

# Not what is kept as the result of a long one.
unset HS_RESULTS

"$python" "$source_directory/scripts/soak" --build "$directory" 2>"$directory/unbuilt" &&
	fail "a soak without its program"
grep -q "^soak: error: run .make check TESTS=. in $directory first$" "$directory/unbuilt" ||
	fail "unbuilt: $(cat "$directory/unbuilt")"

"$python" "$source_directory/scripts/soak" --build "$build_directory" \
	--seconds "${SOAK_SECONDS:-15}" || fail "the soak"
finish
