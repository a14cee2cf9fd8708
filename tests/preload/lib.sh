# SPDX-License-Identifier: BSD-2-Clause
#
# Sourced by the tests of the preloaded library.  A test calls run_profiled, checks the result,
# reports with fail, and ends with finish.
#
# HEAPSAMPLE_TEST_BUILD, HEAPSAMPLE_TEST_LIBRARY: use another build directory, another library.
set -u
export LC_ALL=C

source_directory=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
build_directory=${HEAPSAMPLE_TEST_BUILD:-${abs_top_builddir:-$PWD}}
library=${HEAPSAMPLE_TEST_LIBRARY:-$build_directory/.libs/libheapsample.so}
tests=$source_directory/tests/preload
victims=$build_directory/tests/preload
failures=0

# The user's own settings must not reach the tests.
for name in $(env | sed -n 's/^\(HEAPSAMPLE[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done
unset name LD_PRELOAD PYTHONMALLOC

skip() {
	echo "skipped: $*"
	exit 77
}

fail() {
	echo "failed: $*" >&2
	failures=$((failures + 1))
}

# Skips the test if a program that it needs is missing: need PROGRAM...
need() {
	for program in "$@"; do
		command -v "$program" >/dev/null || skip "no $program"
	done
}

[ -z "${HS_SANITIZER:-}" ] || skip "a library with a sanitizer cannot be preloaded"
need python3 readelf
[ -f "$library" ] || { echo "$library is not built" >&2; exit 1; }
readelf -d "$library" | grep -q 'NEEDED.*lib[a-z]*san\.so' &&
	skip "a library with a sanitizer cannot be preloaded"
# The interpreter itself: the command python3 may be a script that looks for it.
python=$(python3 -c 'import sys; print(sys.executable)') || skip "no python3 that runs"

directory=$(mktemp -d "${TMPDIR:-/tmp}/heapsample.XXXXXX") || exit 1
background=
clean_up() {
	for process in $background; do
		kill -KILL "$process" 2>/dev/null
	done
	rm -rf "$directory"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# For programs that are run as other users: copies the library, which $library is from now on, and
# PROGRAM... to $directory.  The build directory may be where only its owner may enter.
open_to_all() {
	chmod 755 "$directory"
	cp "$library" "$@" "$directory" || fail "cannot copy to $directory"
	library=$directory/${library##*/}
}

# Builds a program that not every machine can build: build NAME SOURCE FLAG...
# If this one cannot: status 1, and the compiler's messages in $directory/NAME.build.
build() {
	name=$1 file=$2
	shift 2
	case $file in
	*.cc) compiler=${CXX:-c++} ;;
	*) compiler=${CC:-cc} ;;
	esac
	# shellcheck disable=SC2086 # a compiler may come with flags
	$compiler -g -O1 -fno-inline -fno-builtin -fno-optimize-sibling-calls -D_GNU_SOURCE \
		-o "$directory/$name" "$tests/$file" "$@" 2>"$directory/$name.build"
}

# Runs a program with the library: run_profiled NAME [VARIABLE=VALUE...] -- PROGRAM ARGUMENT...
# Sets $out to $directory/NAME, where its profiles go; its output is in $out.stdout and $out.stderr,
# its exit status in $status.  PRELOAD: libraries to preload before ours.
run_profiled() {
	out=$directory/$1
	shift
	mkdir -p "$out"
	settings=
	while [ "$1" != -- ]; do
		settings="$settings $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # no setting of a test has a blank in it
	env "HEAPSAMPLE_OUTPUT=$out/%e.%p.%n.heap.pb.gz" $settings \
		"LD_PRELOAD=${PRELOAD:+$PRELOAD:}$library" "$@" >"$out.stdout" 2>"$out.stderr"
	status=$?
}

# The same in the background; sets $process to its id.  end_profiled must follow.
start_profiled() {
	out=$directory/$1
	shift
	mkdir -p "$out"
	settings=
	while [ "$1" != -- ]; do
		settings="$settings $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # no setting of a test has a blank in it
	env "HEAPSAMPLE_OUTPUT=$out/%e.%p.%n.heap.pb.gz" $settings \
		"LD_PRELOAD=${PRELOAD:+$PRELOAD:}$library" "$@" >"$out.stdout" 2>"$out.stderr" &
	process=$!
	background="$background $process"
}

# Sends $process a signal, and waits for its end: end_profiled SIGNAL
end_profiled() {
	kill "-$1" "$process"
	wait "$process"
	status=$?
	background=
}

# Tries a command every 50 ms until it succeeds, for 200 s at most (the machine may be busy).
wait_until() {
	tries=4000
	until "$@"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.05
	done
}

# Prints how many profiles there are in $out, or in another directory.
profile_count() {
	find "${1:-$out}" -name '*.heap.pb.gz' | wc -l
}

has_profiles() {
	[ "$(profile_count)" -ge "$1" ]
}

# There must be so many profiles in $out, and no other files.  All must keep the rules and have
# samples, so that the library was at work.  expect_profiles HOW-MANY
expect_profiles() {
	count=$(profile_count)
	[ "$count" -eq "$1" ] || fail "$(basename "$out"): $count profiles, not $1:" "$out"/*
	[ "$count" -eq 0 ] && return
	left=$(find "$out" -type f ! -name '*.heap.pb.gz')
	[ -z "$left" ] || fail "$(basename "$out"): left behind: $left"
	"$python" "$source_directory/tests/pprof_read.py" check "$out"/*.heap.pb.gz >&2 ||
		fail "$(basename "$out"): a profile breaks the rules"
	"$python" "$tests/check_profile.py" sampled "$out"/*.heap.pb.gz >&2 ||
		fail "$(basename "$out"): nothing was sampled"
}

# Runs a checker, which prints what is wrong and then has another status than 0.
# check CHECKER ARGUMENT...
check() {
	checker=$1
	shift
	"$python" "$tests/$checker" "$@" >&2 || fail "$(basename "$out"): $checker $*"
}

expect_status() {
	[ "$status" -eq "$1" ] || {
		fail "$(basename "$out"): status $status, not $1"
		head -5 "$out.stderr" >&2
	}
}

# Prints the library's messages on the program's stderr.
messages() {
	grep '^heapsample\[[0-9]*\]: ' "${1:-$out.stderr}"
}

# Nothing on stderr at all.
expect_silence() {
	[ ! -s "$out.stderr" ] || fail "$(basename "$out"): stderr: $(cat "$out.stderr")"
}

# Exactly one line on stderr: a message of the library, with all these words.
expect_one_message() {
	lines=$(wc -l <"$out.stderr")
	[ "$lines" -eq 1 ] && [ "$(messages | wc -l)" -eq 1 ] ||
		fail "$(basename "$out"): stderr is not one message: $(cat "$out.stderr")"
	for word in "$@"; do
		messages | grep -q -e "$word" ||
			fail "$(basename "$out"): no '$word' in: $(messages)"
	done
}

finish() {
	[ "$failures" -eq 0 ] || exit 1
	exit 0
}
