#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Functions have their names whatever became of the file: stripped, with a debug file,
# deleted, replaced, loaded from memory.  C++ and Rust names are those of the source.  With lines
# readers may look for more.
. "$(dirname "$0")/lib.sh"
need "${CC:-cc}" "${CXX:-c++}" objcopy strip

rust=_RNvCs1234_4shop6rs_add
case $(cat "$build_directory/config.h") in
*"define HS_DEMANGLES_RUST_V0 1"*) rust=229376=shop::rs_add=$rust ;;
*) rust=229376=$rust=$rust ;;
esac
cxx='327680=shop::Store<int>::add=_ZN4shop5StoreIiE3addEi'

build names victim_names.cc -Wl,--build-id -ldl ||
	fail "names is not built: $(cat "$directory/names.build")"
build library.so victim_names_library.c -shared -fPIC -Wl,--build-id ||
	fail "library.so is not built: $(cat "$directory/library.so.build")"

# A copy, for the program may do away with it: named NAME PROGRAM ARGUMENT... -- FRAME...
named() {
	case_name=$1 file=$2
	shift 2
	mkdir "$directory/work" && cp -p "$directory/$file" "$directory/work/names" &&
		cp -p "$directory/library.so" "$directory/work/library.so"
	cp -p /bin/sh "$directory/work/other"
	arguments=
	while [ "$1" != -- ]; do
		arguments="$arguments $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # no argument has a blank in it
	(cd "$directory/work" && run_profiled "$case_name" HEAPSAMPLE_INTERVAL=1 -- \
		"$directory/work/names" $arguments && exit "$status") || fail "$case_name: status $?"
	out=$directory/$case_name
	rm -rf "$directory/work"
	[ "$(profile_count)" -eq 1 ] || { fail "$case_name: no profile: $(cat "$out.stderr")"; return; }
	check check_names.py "$out"/*.heap.pb.gz "$@"
}

named plain names -- 163840=local_function "$rust" "$cxx"
named unlinked names unlink -- 163840=local_function "$rust" "$cxx"
named replaced names replace other -- 163840=local_function "$rust" "$cxx"
named library names library ./library.so -- 196608=library_function 163840=local_function
named memfd names memfd ./library.so -- 196608=library_function "$cxx"

strip -o "$directory/stripped" "$directory/names"
named no_symbols stripped -- 163840=names+ 229376=names+ 327680=names+

# With lines what has DWARF is left to the reader, and nothing else: lines PROGRAM HAS-FUNCTIONS
lines() {
	run_profiled "lines.$1" HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_SYMBOLIZE=lines -- "$directory/$1"
	expect_status 0
	expect_profiles 1
	"$python" "$source_directory/tests/pprof_read.py" dump "$out"/*.heap.pb.gz |
		"$python" -c 'import json, sys
for mapping in json.load(sys.stdin)["mappings"]:
    if mapping["filename"].startswith("/"):
        print(int(mapping["has_functions"]), mapping["filename"])' >"$out.mappings"
	grep -q "^$2 $directory/$1\$" "$out.mappings" && grep -q '/libc\.' "$out.mappings" ||
		fail "lines: $(cat "$out.mappings")"
	while read -r has_functions file; do
		readelf -SW "$file" | grep -q ' \.z\?debug_\(info\|line\) '
		[ $? -eq "$has_functions" ] || fail "lines: $file: has_functions $has_functions"
	done <"$out.mappings"
}
lines names 0
lines stripped 1

# Its debug file, by .gnu_debuglink.
mkdir -p "$directory/work/.debug"
objcopy --only-keep-debug "$directory/names" "$directory/work/.debug/names.debug"
cp "$directory/stripped" "$directory/work/names"
objcopy --add-gnu-debuglink="$directory/work/.debug/names.debug" "$directory/work/names"
run_profiled debug_file HEAPSAMPLE_INTERVAL=1 -- "$directory/work/names"
expect_status 0
expect_profiles 1
check check_names.py "$out"/*.heap.pb.gz 163840=local_function "$rust" "$cxx"
finish
