#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Code that a program copies into its memory by hand: with a map hint its frames have their
# names, and the stacks go through it by the tables of the object's file.
. "$(dirname "$0")/lib.sh"
need "${CC:-cc}"

# object NAME LETTER ROOM FLAG...
object() {
	object_name=$1 letter=$2 room=$3
	shift 3
	build "$object_name" victim_hinted_code.c -fPIC "-DN=$letter" "-DROOM=$room" "$@" ||
		fail "$object_name is not built: $(cat "$directory/$object_name.build")"
}

object a.o a 40 -c -fomit-frame-pointer -DOTHER
object b.so b 100 -shared -fomit-frame-pointer
# In a section of its own name, the only one with code.
object only.o c 56 -c -fomit-frame-pointer
objcopy --rename-section .text=.text.mine "$directory/only.o" || fail "no objcopy"
# Nothing but frame pointers.
object plain.so d 72 -shared -fno-omit-frame-pointer -fno-asynchronous-unwind-tables \
	-fno-unwind-tables
build victim victim_map_hint.c -I"$source_directory/include" -ldl ||
	fail "victim is not built: $(cat "$directory/victim.build")"

# The byte at which the executable segment of an object begins.
code_offset() {
	readelf -lW "$directory/$1" | awk '$1 == "LOAD" && / R E / { print $2 }'
}
b_offset=$(code_offset b.so)

# Relative names are of this directory.
cd "$directory" || exit 1
at=0x200000000000 then=0x200000010000

# hinted NAME SETTING... -- COMMAND... : see victim_map_hint.c
hinted() {
	words=$*
	# shellcheck disable=SC2086 # no word has a blank in it
	run_profiled ${words%% -- *} HEAPSAMPLE_INTERVAL=1 -- "$directory/victim" ${words#* -- }
	expect_status 0
}

# stacks SIZE COUNT FRAME... : of the only profile
stacks() {
	check check_map_hint.py "$out"/*.heap.pb.gz "$@"
}

counts() {
	"$python" "$source_directory/tests/pprof_read.py" dump "$out"/*.heap.pb.gz |
		grep -w -e "$1" >/dev/null || fail "$(basename "$out"): no $1 in the profile"
}

# Without a hint the names are not known, nor the way through.
hinted none -- copy b.so 0 run b_outer 80 10
expect_profiles 1
"$python" "$tests/check_map_hint.py" "$out"/*.heap.pb.gz 80 10 b_leaf b_outer >/dev/null &&
	fail "none: names without a hint"

# The three ways.
hinted environment "HEAPSAMPLE_MAP=a.o,$at,0x1000;b.so,$then,0x1000,$b_offset" -- \
	copy a.o $at run a_outer 40 10 copy b.so $then run b_outer 80 20
expect_silence
expect_profiles 1
stacks 40 10 a_leaf a_outer
stacks 80 20 b_leaf b_outer
counts map_hints=2

hinted file "HEAPSAMPLE_MAP=@hints" -- copy a.o 0 file hints "$directory/a.o" \
	run a_outer 40 10 copy b.so 0 file hints b.so run b_outer 80 20
expect_silence
expect_profiles 1
stacks 40 10 a_leaf a_outer
stacks 80 20 b_leaf b_outer

hinted calls -- copy a.o 0 hint a.o run a_outer 40 10 copy b.so 0 hint "$directory/b.so" \
	run b_outer 80 20
expect_silence
expect_profiles 1
stacks 40 10 a_leaf a_outer
stacks 80 20 b_leaf b_outer
cp "$out"/*.heap.pb.gz calls.pb.gz

# One after the other at the same address: each sample is the code's that was there.
turns=
for turn in 1 2 3 4 5 6 7 8 9 10; do
	turns="$turns copy a.o $at hint a.o run a_outer 40 10 unhint"
	turns="$turns copy b.so $at hint b.so run b_outer 80 10 unhint"
	turns="$turns copy only.o $at hint only.o run c_outer 56 $turn"
done
# shellcheck disable=SC2086 # no word has a blank in it
hinted turns -- $turns
stacks 40 100 a_leaf a_outer
stacks 80 100 b_leaf b_outer
stacks 56 55 c_leaf c_outer

# The text of an object in a file that is none; hints win over what is mapped, a call over the
# setting, a later hint over an earlier one.
hinted over_file -- map b.so code.bin hint b.so run b_outer 80 10
stacks 80 10 b_leaf b_outer
hinted order "HEAPSAMPLE_MAP=b.so,$at,0x1000,$b_offset;plain.so,$at,0x8000;a.o,$at,0x1000" -- \
	copy a.o $at run a_outer 40 10 copy b.so $at hint b.so run b_outer 80 10
stacks 40 10 a_leaf a_outer
stacks 80 10 b_leaf b_outer

# Processes: a hint for another one, a forked child, a program that is executed.
hinted pid "HEAPSAMPLE_MAP=a.o,$at,0x1000;b.so@1,$at,0x1000,$b_offset" -- \
	copy a.o $at run a_outer 40 10
stacks 40 10 a_leaf a_outer
hinted fork "HEAPSAMPLE_MAP=a.o,$at,0x1000" -- copy a.o $at copy b.so 0 hint b.so \
	fork run b_outer 80 10 copy a.o $at run a_outer 40 10
expect_profiles 2
for profile in "$out"/*.heap.pb.gz; do
	check check_map_hint.py "$profile" 80 10 b_leaf b_outer
	check check_map_hint.py "$profile" 40 10 a_leaf a_outer
done
hinted exec "HEAPSAMPLE_MAP=a.o,$at,0x1000" -- copy b.so $at hint b.so run b_outer 80 10 \
	exec copy a.o $at run a_outer 40 10
expect_profiles 2
check check_map_hint.py "$out"/*.0001.heap.pb.gz 80 10 b_leaf b_outer
check check_map_hint.py "$out"/*.0002.heap.pb.gz 40 10 a_leaf a_outer

# A hint that comes after the samples, from outside, names them with the next profile.
late_sampled() {
	kill -USR2 "$process"
	"$python" "$tests/check_map_hint.py" "$(find "$out" -name '*.pb.gz' | sort | tail -1)" \
		72 10 //anon+ //anon+ >/dev/null 2>&1
}
start_profiled late HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_MAP=@late_hints HEAPSAMPLE_SIGNAL=USR2 -- \
	"$directory/victim" copy plain.so 0 run d_outer 72 10 file /dev/stdout plain.so \
	wait go_on
wait_until test -s "$out.stdout" && wait_until late_sampled || fail "late: no profile of what is not hinted"
cp "$out.stdout" late_hints
: >go_on
wait "$process"
status=$?
background=
expect_status 0
expect_one_message late_hints 'no such file'
check check_map_hint.py "$(find "$out" -name '*.pb.gz' | sort | tail -1)" 72 10 d_leaf d_outer

# If its object is hidden, nothing tells where the code was.
hinted hidden HEAPSAMPLE_MAP=@hidden_hints "HEAPSAMPLE_SKIP_SYMBOL_PREFIX=$directory/plain" -- \
	copy plain.so 0 run d_outer 72 10 file hidden_hints plain.so
expect_silence
expect_profiles 1
stacks 72 10 FILTERED FILTERED
"$python" "$source_directory/tests/pprof_read.py" dump "$out"/*.heap.pb.gz |
	grep -e plain.so -e //anon -e d_outer && fail "hidden: it is not"

# No tables, no object, a damaged one: frame pointers, and offsets for names.
hinted plain -- copy plain.so 0 hint plain.so run d_outer 72 10 unhint run d_outer 73 10
stacks 72 10 d_leaf d_outer
stacks 73 10 //anon+ //anon+
counts hint_tables_missing=1
hinted absent -- copy plain.so 0 hint absent.so run d_outer 72 10
stacks 72 10 absent.so+ absent.so+
counts hint_tables_missing=1
head -c 500 b.so >damaged.so
hinted damaged -- copy plain.so 0 hint damaged.so run d_outer 72 10
stacks 72 10 damaged.so+ damaged.so+
: >empty.so
hinted empty -- copy plain.so 0 hint empty.so run d_outer 72 10
stacks 72 10 empty.so+ empty.so+

# An object that is written anew, in place: each code has the names and the tables of its own.  They
# differ in size alone.
object old.so e 56 -shared -fomit-frame-pointer
object new.so f 120 -shared -fomit-frame-pointer
cp old.so rewritten.so
hinted rewritten -- copy rewritten.so $at hint rewritten.so run e_outer 56 10 dump unhint \
	write rewritten.so new.so copy rewritten.so $at hint rewritten.so run f_outer 120 10
expect_profiles 2
for profile in "$out"/*.0001.heap.pb.gz "$out"/*.0002.heap.pb.gz; do
	check check_map_hint.py "$profile" 56 10 e_leaf e_outer
done
check check_map_hint.py "$profile" 120 10 f_leaf f_outer
build_id=$(readelf -n old.so | sed -n 's/.*Build ID: //p')
"$python" "$source_directory/tests/pprof_read.py" dump "$profile" | grep -w "$build_id" >/dev/null ||
	fail "rewritten: the hinted mapping has not the build id $build_id"

# An object that could not be opened when its code was first looked up.  Its offsets are no addresses.
object apart.so g 88 -shared -nostdlib -fno-omit-frame-pointer -Wl,-Ttext-segment=0x20000
object apart.o h 96 -c -fno-omit-frame-pointer
for object in apart.so:g_outer:88 apart.o:h_outer:96; do
	IFS=: read -r file function size <<-END
		$object
	END
	# Before, so that the maps are known.
	hinted "starved_$file" -- copy "$file" 0 run "$function" 8 1 hint "$file" dump \
		starve run "$function" "$size" 10 feed
	check check_map_hint.py "$out"/*.0002.heap.pb.gz "$size" 10 "${function%outer}leaf" "$function"
done

# A malformed hint is one line; the others count.
hinted malformed "HEAPSAMPLE_MAP=b.so,12q,4;a.o,$at,0x1000" -- copy a.o $at run a_outer 40 10
expect_one_message 'HEAPSAMPLE_MAP, hint 1' 'start 12q' 'b.so,12q,4' expected ignored
stacks 40 10 a_leaf a_outer
counts map_hints_malformed=1
printf 'b.so,4,\na.o,%s,0x1000\n' $at >some
hinted malformed_file HEAPSAMPLE_MAP=@some -- copy a.o $at run a_outer 40 10
expect_one_message '/some:1' 'length' 'b.so,4,' missing ignored
stacks 40 10 a_leaf a_outer
hinted no_file HEAPSAMPLE_MAP=@nothing -- copy a.o 0
expect_one_message HEAPSAMPLE_MAP=@nothing 'no such file'

# pprof shows the same names.
if command -v go >/dev/null; then
	PPROF_TMPDIR=$directory XDG_CONFIG_HOME=$directory GOTOOLCHAIN=local GOFLAGS='' \
		go tool pprof -traces -sample_index=alloc_objects calls.pb.gz >traces 2>traces.err
	for name in a_leaf a_outer b_leaf b_outer; do
		grep -q -w "$name" traces || fail "pprof does not show $name: $(cat traces.err)"
	done
fi

# The header links nothing, in C and C++, and does nothing where the library is not.
calls() {
	calls_name=$1
	shift
	"$@" -Wall -Wextra -Wpedantic -Werror -I"$source_directory/include" -o "$calls_name" \
		-D_DEFAULT_SOURCE "$tests/victim_hint_calls.c" -ldl || {
		fail "$calls_name is not built"
		return
	}
	"./$calls_name" absent || fail "$calls_name: without the library"
	run_profiled "$calls_name.off" HEAPSAMPLE=0 -- "./$calls_name" absent
	expect_status 0
	expect_silence
	run_profiled "$calls_name.on" -- "./$calls_name" present
	expect_status 0
	expect_silence
}
# shellcheck disable=SC2086 # a compiler may come with flags
{
	calls calls_c ${CC:-cc} -std=c11
	calls calls_no_pie ${CC:-cc} -std=gnu99 -no-pie -fno-pie
	calls calls_cxx ${CXX:-c++} -x c++ -std=c++11
}
# Nor is it ended by clang's checks of calls through pointers.
cfi='-flto -fvisibility=hidden -fsanitize=cfi'
# shellcheck disable=SC2086 # several flags
if echo 'int main(void) { return 0; }' | clang $cfi -x c -o can_cfi - 2>/dev/null; then
	calls calls_cfi clang $cfi -std=c11
fi
# Nor does it bring warnings that C++ programs make errors of.
for compiler in "${CXX:-c++}" clang++; do
	command -v "${compiler%% *}" >/dev/null || continue
	# shellcheck disable=SC2086 # a compiler may come with flags
	echo '#include <heapsample/heapsample.h>' |
		$compiler -x c++ -std=c++11 -fsyntax-only -Wall -Wextra -Wpedantic -Werror \
			-Wold-style-cast -Wzero-as-null-pointer-constant \
			-I"$source_directory/include" - || fail "$compiler warns of the header"
done
run_profiled refused HEAPSAMPLE_RING=64k HEAPSAMPLE_STACK=8k -- ./calls_c refused
expect_status 0
expect_silence
"$python" "$source_directory/tests/pprof_read.py" dump "$out"/*.heap.pb.gz |
	grep 'map_hints_refused=[1-9]' >/dev/null || fail "refused calls are not counted"
finish
