#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs all scenarios of the model checker in full.  Then seeds one mistake at a time (bugs.txt) into
# a copy of a file of the library: the checker must find each.  `make check-model` runs this in the
# build directory.
#
# HS_RESULTS=DIR: writes the figures to DIR/model.
set -u

dir=$srcdir/tests/model
work=$PWD/model
log=$work/log
start=$(date +%s)
mkdir -p "$work" || exit 1

die() {
	echo "check-model: $*" >&2
	exit 1
}

# Two at a time; a scenario's lines stay together.
tests/model/test_model list | xargs -P 2 -n 1 sh -c '
	tests/model/test_model full "$1" >"$0/$1.log" 2>&1
	echo $? >"$0/$1.status"
	cat "$0/$1.log"' "$work"
: >"$log"
for name in $(tests/model/test_model list); do
	[ "$(cat "$work/$name.status")" = 0 ] || die "$name: a violation; again by
  tests/model/test_model replay $name 'SCHEDULE'"
	cat "$work/$name.log" >>"$log"
done

# seed NAME SCENARIO FILE EXPRESSION: sed makes the mistake in a copy; the scenario must find it.
seed() {
	rm -rf "$work/src"
	mkdir -p "$work/src/$(dirname "$3")"
	sed "$4" "$srcdir/src/$3" >"$work/src/$3"
	! cmp -s "$srcdir/src/$3" "$work/src/$3" || die "$1: '$4' changes nothing in $3"
	object=$(dirname "src/$3")/tests_model_test_model-$(basename "$3" .c).
	objects=
	for part in $MODEL_OBJECTS; do
		case $part in
		"$object"*) objects="$objects $work/seeded.o" ;;
		*) objects="$objects $part" ;;
		esac
	done
	# shellcheck disable=SC2086 # words
	$MODEL_COMPILE -I"$srcdir/$(dirname "src/$3")" -c "$work/src/$3" -o "$work/seeded.o" &&
		$MODEL_LINK $objects -o "$work/seeded" || die "$1: not compiled"
	if "$work/seeded" full "$2" >"$work/$1.log" 2>&1; then
		die "$1: a seeded bug that $2 does not find"
	fi
	replay "$1" "$2"
	# With small bounds it may be missed.
	"$work/seeded" quick "$2" >"$work/$1.log" 2>&1 || replay "$1" "$2"
	echo "found: $1, by $2"
}

# replay NAME SCENARIO: the schedule in the log leads to a violation again.
replay() {
	schedule=$(sed -n 's/^ *schedule: //p' "$work/$1.log")
	[ -n "$schedule" ] || die "$1: $2 ended without a schedule"
	"$work/seeded" replay "$2" "$schedule" >"$work/$1.replay" 2>&1
	[ $? -eq 1 ] || die "$1: no violation with the schedule of $2: $schedule"
}

seeds=0
while IFS='|' read -r name scenario file expression; do
	case $name in '' | '#'*) continue ;; esac
	seed "$name" "$scenario" "$file" "$expression"
	seeds=$((seeds + 1))
done <"$dir/bugs.txt"
[ "$seeds" -ge 2 ] || die "no seeded bugs"

commit=$(git -C "$srcdir" rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git -C "$srcdir" status --porcelain --untracked-files=no 2>/dev/null)" ] || commit=$commit+
results() {
	echo "date: $(date +%F)"
	echo "commit: $commit"
	echo "command: make check-model"
	awk -v seeds="$seeds" -v seconds=$(($(date +%s) - start)) '
		{ n++; complete += $2 == "complete" }
		{ for (i = 3; i < NF; i++) {
			if ($(i + 1) == "runs") { runs += $i; of[$1] = $i }
			if ($(i + 1) ~ /^steps/) steps += $i
		} how[$1] = $2 == "complete" ? "complete" : "at most " $2 " preemptions"; order[n] = $1 }
		END {
			print "scenarios: " n
			print "scenarios complete: " complete
			printf "interleavings: %d\n", runs
			printf "steps: %d\n", steps
			print "violations: 0"
			print "seeded bugs: " seeds
			print "seeded bugs found: " seeds
			print "seconds: " seconds
			for (i = 1; i <= n; i++)
				printf "%s: %d interleavings, %s\n", order[i], of[order[i]], how[order[i]]
		}' "$log"
}
results >"$work/results"
[ -z "${HS_RESULTS-}" ] || cp "$work/results" "$HS_RESULTS/model" || die "$HS_RESULTS is not writable"
sed -n 4,11p "$work/results"
