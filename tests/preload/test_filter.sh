#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# HEAPSAMPLE_SKIP_SYMBOL_PREFIX: nothing of what is hidden is in a profile, neither name nor
# path, address or build id, whenever its name is known.
. "$(dirname "$0")/lib.sh"
need "${CC:-cc}" "${CXX:-c++}" objcopy strip

mkdir "$directory/hidden"
build filter victim_filter.cc -Wl,--build-id -ldl ||
	fail "filter is not built: $(cat "$directory/filter.build")"
build hidden/libvault.so victim_names_library.c -shared -fPIC -Wl,--build-id ||
	fail "libvault.so is not built: $(cat "$directory/hidden/libvault.so.build")"

build_id() {
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

library_texts="libvault library_function $directory/hidden $(build_id "$directory/hidden/libvault.so")"
program_texts="secret_ secrets"

# filtered NAME PREFIXES [SETTING...]: the profile is $profile
filtered() {
	name=$1
	shift
	run_profiled "$name" HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_SKIP_SYMBOL_PREFIX=$@" -- \
		"${program:-$directory/filter}" "$directory/hidden/libvault.so" ${renamed:-}
	expect_status 0
	expect_profiles 1
	profile=$(find "$out" -name '*.heap.pb.gz')
}

program=
# shellcheck disable=SC2086 # texts have no blanks in them
{
	filtered names secret_,secrets::
	expect_silence
	check check_filter.py "$profile" "$out.stdout" function $program_texts
	check check_hidden.py "$profile" 163840 10 FILTERED public_function main
	check check_hidden.py "$profile" 327680 1 FILTERED public_function main
	check check_profile.py least "$profile" library_function 196608

	# Linkage names; and where no names are written their addresses are not either.
	filtered linkage secret_,_ZN7secrets HEAPSAMPLE_SYMBOLIZE=none
	expect_silence
	check check_filter.py "$profile" "$out.stdout" function $program_texts

	filtered paths "$directory/hidden/,[vdso]"
	expect_silence
	check check_filter.py "$profile" "$out.stdout" library $library_texts
	check check_hidden.py "$profile" 196608 1 FILTERED public_function main

	# All of the program is hidden, and its name is nowhere.
	mkdir "$directory/work" && cp "$directory/filter" "$directory/work/unspeakable"
	program=$directory/work/unspeakable
	filtered program "$directory/work"
	expect_silence
	check check_filter.py "$profile" "$out.stdout" function,program $program_texts \
		unspeakable "$directory/work" "$(build_id "$directory/filter")"
	check check_hidden.py "$profile" 163840 10 FILTERED FILTERED FILTERED
	program=

	for prefixes in /,[ a,,b; do
		filtered everything "$prefixes"
		expect_one_message HEAPSAMPLE_SKIP_SYMBOL_PREFIX=
		check check_filter.py "$profile" "$out.stdout" function,library,program \
			$program_texts $library_texts public_function libc.so _start "$directory"
		check check_hidden.py "$profile" 163840 10 FILTERED FILTERED FILTERED
		rm -rf "$out"
	done

	# A debug file that is added while the program runs, after its samples, has the names.
	objcopy --only-keep-debug "$directory/filter" "$directory/work/late.debug"
	program=$directory/work/stripped
	strip -o "$program" "$directory/filter"
	(cd "$directory/work" && objcopy --add-gnu-debuglink=late.debug stripped)
	mv "$directory/work/late.debug" "$directory/work/away"
	renamed="$directory/work/away $directory/work/late.debug"
	filtered late secret_,secrets::
	expect_silence
	check check_filter.py "$profile" "$out.stdout" function $program_texts
	check check_hidden.py "$profile" 163840 10 FILTERED public_function main
}

# Generated code; in the fourth step the name comes after the samples.
mkfifo "$directory/steps"
exec 3<>"$directory/steps"
yes '' | head -n 6 >&3
run_profiled jit HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_SKIP_SYMBOL_PREFIX=first,Late.,debug,/srv/late \
	-- "$victims/victim_jit" "$directory/steps"
if [ "$status" -eq 77 ]; then
	echo "without victim_jit: it makes code for other machines" >&2
else
	expect_status 0
	profile=$(find "$out" -name '*.heap.pb.gz')
	check check_filter.py "$profile" /dev/null none JS:\*first Late.named late.py debugged
	check check_hidden.py "$profile" 1792 10 FILTERED run main
fi
finish
