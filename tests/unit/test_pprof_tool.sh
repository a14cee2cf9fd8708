#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# pprof itself reads what the encoder writes: totals, names, dropped frames, labels,
# default type, and the sum of two profiles.  Runs in the build directory.
set -u

encoder=${TEST_PPROF_ENCODER:-tests/unit/test_pprof_encoder}
failures=0

skip() {
	echo "skipped: $1"
	exit 77
}

fail() {
	echo "failed: $1" >&2
	failures=$((failures + 1))
}

command -v go >/dev/null || skip "no go"
[ -x "$encoder" ] || { echo "$encoder is not built" >&2; exit 1; }
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
# Settings of the user's, and files saved for him, stay out of it.
export PPROF_TMPDIR="$directory" XDG_CONFIG_HOME="$directory" GOTOOLCHAIN=local GOFLAGS=

profile=$directory/sample.pb.gz
"$encoder" write "$profile" >"$directory/want" || exit 1

pprof() {
	go tool pprof -symbolize=none "$@" 2>"$directory/stderr"
}

pprof -raw "$profile" >"$directory/raw" || {
	grep -q 'no such tool' "$directory/stderr" && skip "go without pprof"
	fail "pprof refuses it: $(cat "$directory/stderr")"
}
[ ! -s "$directory/stderr" ] || fail "pprof has something to say: $(cat "$directory/stderr")"

# Sums over the lines "A B C D: location..." below "Samples:".
totals() {
	awk '/^Samples:/ { on = 1 } /^Locations/ { on = 0 }
	on && /^ *[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+:/ { for (i = 1; i <= 4; i++) sum[i] += $i }
	END {
		split("alloc_objects alloc_space inuse_objects inuse_space", name)
		for (i = 1; i <= 4; i++) printf "%s %.0f\n", name[i], sum[i] * factor
	}' factor="$2" "$1"
}

count() {
	awk -v from="$1" '$1 == from { on = 1; next } /^[A-Z]/ { on = 0 }
	on && /^ *[0-9]+: / { n++ } END { print n + 0 }' "$2"
}

totals "$directory/raw" 1 | diff "$directory/want" - || fail "totals differ"
[ "$(count Locations "$directory/raw")" = 20 ] || fail "locations: $(count Locations "$directory/raw")"
[ "$(count Mappings "$directory/raw")" = 3 ] || fail "mappings: $(count Mappings "$directory/raw")"
grep -q '/nonexistent/server 00112233445566778899aabbccddeeff00112233 \[FN\]' "$directory/raw" ||
	fail "first mapping: $(grep nonexistent/server "$directory/raw")"
grep -q 'inuse_space/bytes\[dflt\]' "$directory/raw" || fail "default type"
grep -q '^PeriodType: space bytes' "$directory/raw" || fail "period type"
grep -q '^Period: 524288' "$directory/raw" || fail "period"

# The same profile twice: doubled values, no location or mapping twice.
pprof -raw "$profile" "$profile" >"$directory/twice" || fail "pprof does not add it to itself"
totals "$directory/twice" 0.5 | diff "$directory/want" - || fail "totals are not doubled"
[ "$(count Locations "$directory/twice")" = 20 ] || fail "locations appear twice"
[ "$(count Mappings "$directory/twice")" = 3 ] || fail "mappings appear twice"

pprof -top -nodecount=0 "$profile" >"$directory/top" || fail "no -top"
grep -q '^Type: inuse_space' "$directory/top" || fail "-top shows $(grep ^Type "$directory/top")"
grep -q '^File: server' "$directory/top" || fail "-top: $(grep ^File "$directory/top")"
for name in work_1 work_5 work_8 '\[anon\]'; do
	grep -q " $name\$" "$directory/top" || fail "-top without $name"
done
if grep -q ' malloc$' "$directory/top"; then
	fail "malloc is not dropped"
fi
pprof -tags "$profile" >"$directory/tags" || fail "no -tags"
for label in bytes: tid: thread: worker 'caf%E9' endpoint: /login user: h:; do
	grep -q "$label" "$directory/tags" || fail "-tags without $label"
done

[ "$failures" -eq 0 ]
