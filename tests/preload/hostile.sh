# SPDX-License-Identifier: BSD-2-Clause
#
# Sourced after lib.sh by the tests of programs that are hard to profile.  A case runs one program
# three times: without the library, with it at interval 1, and with it at the default interval.  It
# passes if the last two runs end within $CASE_SECONDS (default 120), with the standard output and
# the exit status or signal of the first, with nothing on stderr that the case does not allow, and
# with the profiles that are due.
#
# Each case prints a line 'case KIND NAME: passed', 'failed' or 'skipped (WHY)'.  If HS_RESULTS is
# set, finish_cases writes the counts of each kind to $HS_RESULTS/<the test's name>.
# shellcheck shell=sh disable=SC2154 # lib.sh sets them

case_seconds=${CASE_SECONDS:-120}
# all: a setting for cases whose children are profiled too.  busy: a message that is allowed if
# the profiler does not pause in time for a fork, as on a busy machine.
# shellcheck disable=SC2034 # the tests use them
all='HEAPSAMPLE_CHILDREN=all' busy='fork met the profiler at work for too long'

full='samples have no stack, because the buffer was full'

case_kind=program
case_lines=

# Sets the kind of the cases that follow.
kind() {
	case_kind=$1
}

# Runs the program once: one_way OUT VARIABLE=VALUE... -- PROGRAM ARGUMENT...  Sets $status.
one_way() {
	way=$1
	shift
	way_settings=
	while [ "$1" != -- ]; do
		way_settings="$way_settings $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # no setting of a test has a blank in it
	timeout --foreground -k 5 "$case_seconds" env $way_settings "$@" \
		>"$way.stdout" 2>"$way.stderr" </dev/null
	status=$?
}

# may_say EXPRESSION: without the library's messages stderr must be that of the plain run, and each
# message must match the extended regular expression; if that is empty there must be no message.  On
# a busy machine any case may find the buffer full.
may_say() {
	grep -v '^heapsample\[[0-9]*\]: ' "$out.stderr" >"$out.own"
	[ "$case_own_stderr" = differs ] || diff "$plain.stderr" "$out.own" >&2 ||
		fail "$case_name: another stderr"
	! messages | grep -v -E -e "$full${1:+|$1}" >&2 ||
		fail "$case_name: messages that are not expected"
}

# has_case_profiles HOW-MANY: the number of profiles in $out ('some': one or more; 'any': any
# number).  All must keep the rules of pprof_read.py.
has_case_profiles() {
	count=$(profile_count)
	case $1 in
	any) ;;
	some) [ "$count" -ge 1 ] || fail "$case_name: no profile" ;;
	*) [ "$count" -eq "$1" ] || fail "$case_name: $count profiles, not $1:" "$out"/* ;;
	esac
	[ "$count" -eq 0 ] && return
	"$python" "$source_directory/tests/pprof_read.py" check "$out"/*.heap.pb.gz >&2 ||
		fail "$case_name: a profile breaks the rules"
}

# A run with the library: profiled_way HOW-MANY MESSAGES SETTING... -- PROGRAM ARGUMENT...
profiled_way() {
	due=$1 allowed=$2
	shift 2
	mkdir -p "$out"
	one_way "$out" "HEAPSAMPLE_OUTPUT=$out/%e.%p.%n.heap.pb.gz" \
		"LD_PRELOAD=${PRELOAD:+$PRELOAD:}$library${PRELOAD_AFTER:+:$PRELOAD_AFTER}" "$@"
	[ "$status" -eq "$plain_status" ] || {
		fail "$case_name: status $status, not $plain_status, in $out"
		head -5 "$out.stderr" >&2
	}
	cmp "$plain.stdout" "$out.stdout" >&2 || fail "$case_name: another standard output"
	may_say "$allowed"
	has_case_profiles "$due"
}

# hostile NAME HOW-MANY [-m MESSAGES] [-e] [VARIABLE=VALUE...] -- PROGRAM ARGUMENT...
#
# HOW-MANY: the profiles due at interval 1 (a number, 'some' or 'any'); at the default interval
# there may be any number.  -m: an extended regular expression for the messages that the library may
# print.  -e: the program's own stderr may differ.  The variables are set only in the runs with the
# library.  PRELOAD, PRELOAD_AFTER: libraries to preload before and after ours, in all runs.
hostile() {
	case_name=$1 case_due=$2 case_messages='' case_own_stderr=same case_before=$failures
	shift 2
	while :; do
		case $1 in
		-m) case_messages=$2; shift 2 ;;
		-e) case_own_stderr=differs; shift ;;
		*) break ;;
		esac
	done
	case_settings=
	while [ "$1" != -- ]; do
		case_settings="$case_settings $1"
		shift
	done
	shift
	plain=$directory/$case_name.plain
	preload=${PRELOAD:-}${PRELOAD:+${PRELOAD_AFTER:+:}}${PRELOAD_AFTER:-}
	one_way "$plain" ${preload:+"LD_PRELOAD=$preload"} -- "$@"
	plain_status=$status
	[ "$status" -ne 124 ] || fail "$case_name: does not end without the library"
	# shellcheck disable=SC2086 # no setting of a test has a blank in it
	{
		out=$directory/$case_name.1
		profiled_way "$case_due" "$case_messages" HEAPSAMPLE_INTERVAL=1 $case_settings -- "$@"
		out=$directory/$case_name.default
		profiled_way any "$case_messages" $case_settings -- "$@"
	}
	if [ "$failures" -eq "$case_before" ]; then outcome=passed; else outcome=failed; fi
	echo "case $case_kind $case_name: $outcome"
	case_lines="$case_lines$case_kind $outcome
"
}

# ended_with STATUS: the last case's plain run must have had it, or the case does not test anything.
ended_with() {
	[ "$plain_status" -eq "$1" ] || {
		fail "$case_name: status $plain_status, not $1, without the library too"
		head -5 "$plain.stdout" "$plain.stderr" >&2
	}
}

# has_said MESSAGE...: in both of the last case's runs with the library it must have said each: an
# expression for a part of a message.
has_said() {
	for case_said in "$@"; do
		for case_run in "$case_name.1" "$case_name.default"; do
			messages "$directory/$case_run.stderr" | grep -q -e "$case_said" ||
				fail "$case_run: no message '$case_said'"
		done
	done
}

# Reports a case that this machine cannot run: skip_case NAME WHY...
skip_case() {
	case_name=$1
	shift
	echo "case $case_kind $case_name: skipped ($*)"
	case_lines="$case_lines$case_kind skipped
"
}

# have NAME PROGRAM...: whether the programs that a case needs are installed; if not, skips it.
have() {
	name=$1
	shift
	for program in "$@"; do
		command -v "$program" >/dev/null || {
			skip_case "$name" "no $program"
			return 1
		}
	done
}

# made NAME COMMAND...: whether the command, which builds what a case needs, succeeds; if not, skips
# the case.
made() {
	name=$1
	shift
	"$@" >"$directory/$name.log" 2>&1 || {
		skip_case "$name" "cannot be built here: $(head -c 200 "$directory/$name.log" | head -1)"
		return 1
	}
}

# Ends the test as finish does, and writes the results.
finish_cases() {
	[ -z "${HS_RESULTS:-}" ] || {
		test_name=$(basename "$0" .sh)
		mkdir -p "$HS_RESULTS"
		{
			echo "date: $(date +%F)"
			echo "commit: $(git -C "$source_directory" rev-parse --short HEAD 2>/dev/null)"
			echo "command: make check TESTS=tests/preload/$test_name.sh"
			printf '%s' "$case_lines" | sort | uniq -c |
				sed 's/^ *\([0-9]*\) \(.*\)/cases \2: \1/'
		} >"$HS_RESULTS/$test_name"
	}
	finish
}
