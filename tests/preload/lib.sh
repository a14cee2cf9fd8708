# SPDX-License-Identifier: BSD-2-Clause
#
# Sourced by the tests of the preloaded library.  A test calls run_profiled, checks the results,
# reports what is wrong with fail, and ends with finish.
#
# HEAPSAMPLE_TEST_BUILD, HEAPSAMPLE_TEST_LIBRARY: another build directory, another library.
set -u
export LC_ALL=C

source_directory=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
build_directory=${HEAPSAMPLE_TEST_BUILD:-${abs_top_builddir:-$PWD}}
library=${HEAPSAMPLE_TEST_LIBRARY:-$build_directory/.libs/libheapsample.so}
tests=$source_directory/tests/preload
victims=$build_directory/tests/preload
failures=0

# The tests must not see the user's settings.
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
# The interpreter itself: python3 may be a script that finds it.
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

# For programs that are run as other users, who may not be allowed to enter the build directory:
# copies the library and PROGRAM... to $directory, and sets $library to the copy.
open_to_all() {
	chmod 755 "$directory"
	cp "$library" "$@" "$directory" || fail "cannot copy to $directory"
	library=$directory/${library##*/}
}

# Builds a program during the test: build NAME SOURCE FLAG...
# The result is $directory/NAME; the compiler's messages are in $directory/NAME.build.  If it fails
# the status is not 0.
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

# The same in the background; sets $process to the process id.  end_profiled must follow.
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

# Sends $process a signal, waits for its end, and sets $status: end_profiled SIGNAL
end_profiled() {
	kill "-$1" "$process"
	wait "$process"
	status=$?
	background=
}

# Repeats a command every 50 ms until it succeeds, for at least 200 s: the machine may be busy.
wait_until() {
	tries=4000
	until "$@"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.05
	done
}

# Prints the number of profiles in $out, or in the directory given.
profile_count() {
	find "${1:-$out}" -name '*.heap.pb.gz' | wc -l
}

has_profiles() {
	[ "$(profile_count)" -ge "$1" ]
}

# There must be this number of profiles in $out: expect_profiles HOW-MANY
# There must be no other files, and all profiles must keep the rules of pprof_read.py and have
# samples.
expect_profiles() {
	count=$(profile_count)
	[ "$count" -eq "$1" ] || fail "$(basename "$out"): $count profiles, not $1:" "$out"/*
	left=$(find "$out" -type f ! -name '*.heap.pb.gz')
	[ -z "$left" ] || fail "$(basename "$out"): left behind: $left"
	[ "$count" -eq 0 ] && return
	"$python" "$source_directory/tests/pprof_read.py" check "$out"/*.heap.pb.gz >&2 ||
		fail "$(basename "$out"): a profile breaks the rules"
	"$python" "$tests/check_profile.py" sampled "$out"/*.heap.pb.gz >&2 ||
		fail "$(basename "$out"): nothing was sampled"
}

# Runs a checker, which prints what is wrong; its status is 0 if nothing is.
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

# Prints the library's messages in $out.stderr, or in the file given.
messages() {
	grep '^heapsample\[[0-9]*\]: ' "${1:-$out.stderr}"
}

# stderr must be empty.
expect_silence() {
	[ ! -s "$out.stderr" ] || fail "$(basename "$out"): stderr: $(cat "$out.stderr")"
}

# stderr must be one message of the library, with all these words: expect_one_message WORD...
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
