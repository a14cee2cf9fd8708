#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Whatever the kind of code and of file: the function that allocates has its name, in the
# profile and in what pprof makes of it.  A table of {kind of code} x {our view, pprof's}.
. "$(dirname "$0")/lib.sh"

need "${CC:-cc}" strip objcopy nm
CFLAGS="-O1 -fno-inline -fno-optimize-sibling-calls -fcf-protection=none -D_GNU_SOURCE"

# Settings of the user's stay out of pprof; no server is asked for symbols.
export PPROF_TMPDIR="$directory" XDG_CONFIG_HOME="$directory" GOTOOLCHAIN=local GOFLAGS=
export DEBUGINFOD_URLS=
pprof=yes
command -v go >/dev/null && go tool -n pprof >/dev/null 2>&1 || pprof=no

# compile OUTPUT LEAF FLAG...
compile() {
	output=$1 leaf=$2
	shift 2
	# shellcheck disable=SC2086 # several flags
	${CC:-cc} $CFLAGS -o "$directory/$output" -DLEAF="$leaf" "$tests/victim_kinds_of_code.c" \
		"$@" -ldl 2>"$directory/$output.build"
}

# Sets $top to pprof's view of the profile in $out.
pprof_top() {
	top=$out.top
	go tool pprof -sample_index=alloc_space -top -nodecount=0 "$out"/*.heap.pb.gz \
		>"$top" 2>"$top.stderr" || fail "$cell: pprof: $(cat "$top.stderr")"
}

# have_names NAME LEAF... -- PROGRAM ARGUMENT...: one line of the table.  The first mapping is
# $MAIN's, or PROGRAM's.
have_names() {
	cell=$1
	shift
	leaves=
	while [ "$1" != -- ]; do
		leaves="$leaves $1"
		shift
	done
	shift
	run_profiled "cell.$cell" HEAPSAMPLE_INTERVAL=1 ${SETTING:+"$SETTING"} -- "$@"
	expect_status 0
	expect_silence
	expect_profiles 1
	top=-
	[ $pprof = no ] || pprof_top
	before=$failures
	check check_profile.py main "$out"/*.heap.pb.gz "$(basename "${MAIN:-$1}")"
	# shellcheck disable=SC2086 # several leaves
	check check_kinds_of_code.py "$out"/*.heap.pb.gz "$top" $leaves
	[ "$failures" -ne "$before" ] || echo "$cell: right"
}

# found_by_pprof PROGRAM: where a profile has addresses only pprof finds the names, by the mappings.
found_by_pprof() {
	cell=$1-found-by-pprof
	[ $pprof = yes ] || return
	run_profiled "cell.$cell" HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_SYMBOLIZE=none -- \
		"$directory/$1" self
	expect_status 0
	expect_profiles 1
	pprof_top
	before=$failures
	check check_kinds_of_code.py - "$top" known_leaf
	[ "$failures" -ne "$before" ] || echo "$cell: right"
}

not_built() {
	fail "$1: not built: $(cat "$directory/$1.build")"
}

missing() {
	skipped="${skipped:-}$1; "
	echo "$1"
}

compile pie known_leaf -g -fPIE -pie || not_built pie
have_names "GNU-ld-PIE" known_leaf -- "$directory/pie" self
found_by_pprof pie
compile no-pie known_leaf -g -fno-pie -no-pie || not_built no-pie
have_names "GNU-ld-no-PIE" known_leaf -- "$directory/no-pie" self
found_by_pprof no-pie

lld=$(command -v ld.lld || command -v ld.lld-14)
if [ -n "$lld" ]; then
	mkdir "$directory/bin"
	ln -s "$lld" "$directory/bin/ld.lld"
	compile lld known_leaf -g -fPIE -pie -B"$directory/bin" -fuse-ld=lld || not_built lld
	have_names "lld-PIE" known_leaf -- "$directory/lld" self
	found_by_pprof lld
else
	missing "no lld"
fi

# What a stripped program exports still has a name; with its debug file so has the rest.
compile stripped known_leaf -rdynamic || not_built stripped
strip --strip-all "$directory/stripped" || fail "strip"
have_names "stripped" known_leaf -- "$directory/stripped" self
compile split known_leaf -g -Wl,--build-id || not_built split
if ! objcopy --only-keep-debug "$directory/split" "$directory/split.debug" ||
	! objcopy --strip-all --add-gnu-debuglink="$directory/split.debug" "$directory/split"; then
	fail "objcopy"
fi
have_names "stripped-with-debug-file" known_leaf -- "$directory/split" self

compile opens program_leaf || not_built opens
for letter in first second; do
	compile "lib$letter.so" "${letter}_leaf" -shared -fPIC -DLIBRARY || not_built "lib$letter.so"
done
have_names "dlopened" first_leaf -- "$directory/opens" open "$directory/libfirst.so"
have_names "dlclosed" first_leaf -- "$directory/opens" close "$directory/libfirst.so"
have_names "two-at-one-address" first_leaf second_leaf -- \
	"$directory/opens" turns "$directory/libfirst.so" "$directory/libsecond.so"

compile deleted known_leaf || not_built deleted
have_names "deleted" known_leaf -- "$directory/deleted" deleted
have_names "memfd" first_leaf -- "$directory/opens" memfd "$directory/libfirst.so"

# Where the linker has put the code at other addresses than in the file.
base=0x3000000
compile libmapped.so first_leaf -shared -fPIC -DLIBRARY "-Wl,-Ttext-segment=$base" ||
	not_built libmapped.so
value=0x$(nm "$directory/libmapped.so" | sed -n 's/ T first_leaf$//p')
have_names "mapped-by-hand" first_leaf -- \
	"$directory/opens" mapped "$directory/libmapped.so" $((value - base))

# The kernel executed something else than the file that the program is of, or no file.
loader=$(readelf -lW "$directory/pie" | sed -n 's/.*program interpreter: \(.*\)]/\1/p')
MAIN=$directory/pie
have_names "run-by-the-loader" known_leaf -- "$loader" "$directory/pie" self
# Who may read /proc/self/map_files needs no other way to the file.
ordinary=
[ "$(id -u)" -ne 0 ] || ordinary='setpriv --bounding-set=-all --inh-caps=-all'
if [ -z "$ordinary" ] || command -v setpriv >/dev/null; then
	MAIN=$directory/opens SETTING=HEAPSAMPLE_PROGRAMS=opens
	for file in libfirst.so libmapped.so; do
		# shellcheck disable=SC2086 # several words
		have_names "memfd-unprivileged-$file" first_leaf -- \
			$ordinary "$directory/opens" memfd "$directory/$file"
	done
	MAIN=memfd:copy SETTING='HEAPSAMPLE_PROGRAMS=memfd:*'
	# shellcheck disable=SC2086 # several words
	have_names "executed-memfd" known_leaf -- $ordinary "$directory/pie" execute
else
	missing "no setpriv"
fi
MAIN='' SETTING=''

case $(uname -m) in
x86_64)
	have_names "perf-map" jit_leaf -- "$directory/opens" jit
	pid=$(basename "$out"/*.heap.pb.gz | cut -d . -f 2)
	rm -f "/tmp/perf-$pid.map"
	;;
*) missing "no generated code for $(uname -m)" ;;
esac

compile copied.o copied_leaf -c -fPIC -DLIBRARY || not_built copied.o
objcopy -O binary -j .text "$directory/copied.o" "$directory/copied.text" || fail "objcopy"
offset=0x$(nm "$directory/copied.o" | sed -n 's/ T copied_leaf$//p')
SETTING="HEAPSAMPLE_MAP=$directory/copied.o,0x510000000000,$(wc -c <"$directory/copied.text")"
have_names "map-hint" copied_leaf -- "$directory/opens" copied "$directory/copied.text" "$offset"

[ $pprof = yes ] || missing "no go tool pprof"
[ "$failures" -ne 0 ] || [ -z "${skipped:-}" ] || skip "$skipped the rest is right"
finish
