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

# nameless NAME TEXT: neither the profile nor the statistics of a run have the text.
nameless() {
	[ -s "$directory/$1.json" ] || fail "$1: there are no statistics"
	[ -s "$out/0001.heap.pb.gz" ] || fail "$1: there is no profile"
	for file in "$out"/*.heap.pb.gz "$directory/$1.json"; do
		gzip -cdf "$file" | grep -q -a "$2" && fail "$1: $2 is in $file"
	done
}

# A program that is hidden, if there is not even a sample from which that could be known.
printf 'int main(void) { return 0; }\n' >"$directory/empty.c"
cc_unspeakable() {
	${CC:-cc} -O1 -o "$directory/work/unspeakable" "$@" || fail "unspeakable is not built"
}
cc_unspeakable "$directory/empty.c"
run_profiled empty HEAPSAMPLE_SKIP_SYMBOL_PREFIX="$directory/work" \
	"HEAPSAMPLE_OUTPUT=$directory/empty/%n.heap.pb.gz" \
	HEAPSAMPLE_STATS="$directory/empty.json" -- "$directory/work/unspeakable"
expect_status 0
nameless empty unspeakable

# One that is hidden for a function in its second mapping, whichever of the two is looked at.
cat >"$directory/two.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
void *volatile block;
static __attribute__((noinline, section(".far"))) void vault_allocate(void) { block = malloc(1000); }
static __attribute__((section(".far"))) void *vault_run(void *unused)
{
	for (int i = 0; i < 1000; i++)
		vault_allocate();
	return unused;
}
int main(void)
{
	pthread_t thread;
	return pthread_create(&thread, NULL, vault_run, NULL) || pthread_join(thread, NULL);
}
END
cc_unspeakable "$directory/two.c" -no-pie -Wl,--section-start=.far=0x10000000 -lpthread
run_profiled two HEAPSAMPLE_SKIP_SYMBOL_PREFIX=vault_ HEAPSAMPLE_INTERVAL=64k HEAPSAMPLE_SEED=1 \
	"HEAPSAMPLE_OUTPUT=$directory/two/%n.heap.pb.gz" \
	HEAPSAMPLE_STATS="$directory/two.json" -- "$directory/work/unspeakable"
expect_status 0
expect_profiles 1
nameless two vault_
nameless two unspeakable

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
