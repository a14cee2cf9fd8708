#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Builds fuzz targets with clang, libFuzzer, AddressSanitizer and
# UndefinedBehaviorSanitizer, and runs each from its corpus.  `make fuzz` calls it.
#
# usage: tests/fuzz/run.sh TARGET...
#
# FUZZ_SECONDS: the processor time that each gets (default 60; a busy machine takes longer).
# FUZZ_CC: the compiler (default clang).
# Everything goes to the directory fuzz/ below the current one: the build, fuzz/corpus/X
# (inputs found that reach new code), fuzz/found/ (inputs that make X fail).  With HS_RESULTS
# a summary goes to that directory, as the file fuzz.
set -u

source_directory=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
seconds=${FUZZ_SECONDS:-60}
compiler=${FUZZ_CC:-clang}
results=${HS_RESULTS:+$(cd "$HS_RESULTS" && pwd)}

die() {
	echo "make fuzz: $*" >&2
	exit 1
}

# Sets `used` to the processor time of the targets until now, in seconds.
take_time() {
	times >found/times # not in a subshell, which has no children yet
	used=$(sed -n '2s/[ms]/ /gp' found/times | awk '{ print int($1 * 60 + $2 + $3 * 60 + $4) }')
}

# The last value of a statistic of libFuzzer's: statistic NAME LOG
statistic() {
	sed -n "s/^stat::$1: *//p" "$2" | tail -n 1
}

# libFuzzer stops by the clock: runs it until $target has used $seconds of processor time.
# Sets `executions`, `spent` and `findings`.
run_target() {
	take_time
	begun=$used executions=0 spent=0 findings=0
	while [ "$spent" -lt "$seconds" ] && [ $findings = 0 ]; do
		# shellcheck disable=SC2086 # several words
		$fixed "tests/fuzz/$target" -max_total_time=$((seconds - spent)) -timeout=20 \
			-max_len=16384 -print_final_stats=1 -artifact_prefix="found/$name-" \
			"corpus/$name" "$source_directory/tests/fuzz/corpus/$name" \
			>"found/$name.log" 2>&1 || findings=1
		run=$(statistic number_of_executed_units "found/$name.log")
		executions=$((executions + ${run:-0}))
		take_time
		spent=$((used - begun))
		grep -E '^(Done|stat::(number|peak)|SUMMARY|artifact_prefix)|not so:|==ERROR|runtime error' \
			"found/$name.log"
	done
}

write_results() {
	{
		echo "date: $(date +%Y-%m-%d)"
		echo "commit: $(git -C "$source_directory" describe --always --dirty=+ --exclude='*' 2>/dev/null)"
		echo "command: make fuzz FUZZ_SECONDS=$seconds"
		cat found/summary
		echo "targets: $#"
		echo "executions: $executions_of_all"
		echo "processor_seconds: $seconds_of_all"
		echo "findings: $(echo "$failed" | wc -w)"
	} >"$results/fuzz"
}

case $seconds in
'' | *[!0-9]* | 0*) die "FUZZ_SECONDS is '$seconds', not a whole number of seconds above 0" ;;
esac
mkdir -p fuzz/found && cd fuzz || exit 1

echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' >probe.c
$compiler -fsanitize=fuzzer,address,undefined -o probe probe.c 2>probe.log || {
	cat probe.log >&2
	die "'$compiler' cannot build for libFuzzer (Debian: clang and its libclang-rt-dev)"
}
[ -f Makefile ] ||
	"$source_directory/configure" --quiet CC="$compiler" \
		--enable-sanitizer=fuzzer-no-link,address,undefined || die "configure failed"
make --no-print-directory -s fuzz-programs || die "make failed"

# The sanitizers of older compilers cannot place their shadow with much address
# randomization; and without it an input does the same in each run.
fixed=
setarch -R true 2>/dev/null && fixed="setarch -R"
failed=
executions_of_all=0 seconds_of_all=0
: >found/summary
for target in "$@"; do
	name=${target#fuzz_}
	mkdir -p "corpus/$name"
	echo "== $target: $seconds seconds of processor time"
	run_target
	[ $findings = 0 ] || failed="$failed $target"
	executions_of_all=$((executions_of_all + executions))
	seconds_of_all=$((seconds_of_all + spent))
	echo "$target: $executions executions, $spent s of processor time, $findings findings" \
		>>found/summary
done
[ -z "$results" ] || write_results "$@"
[ -z "$failed" ] || die "failed:$failed; logs and inputs are in $PWD/found"
