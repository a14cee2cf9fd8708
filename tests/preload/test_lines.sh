#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# heapsample-lines adds lines and inlined functions, of the file that ran and of no other, and
# changes nothing else.  What it cannot do it says.
. "$(dirname "$0")/lib.sh"
need "${CXX:-c++}" addr2line c++filt objcopy strip cmp

build program victim_lines.cc -Wl,--build-id ||
	fail "program is not built: $(cat "$directory/program.build")"
frames='1024=make<char>:9,keep<char>:14,main:19 8192=make<double>:9,keep<double>:14,main:20'
named='1024=keep<char>:0,main:0 8192=keep<double>:0,main:0'

run_profiled run HEAPSAMPLE_INTERVAL=1 -- "$directory/program"
expect_status 0
expect_profiles 1
out=$directory/work
mkdir "$out"
profile=$out/app.heap.pb.gz
mv "$directory"/run/*.heap.pb.gz "$profile"

# Adds lines to $profile; the status and what is said: add STATUS WORD [VARIABLE=VALUE]
add() {
	expected=$1 word=$2
	shift 2
	rm -f "$out/app.lines.heap.pb.gz"
	said=$(env "$@" "$python" "$source_directory/scripts/heapsample-lines" "$profile" 2>&1)
	status=$?
	[ "$status" -eq "$expected" ] || fail "status $status, not $expected: $said"
	case $said in
	*"$word"*) ;;
	*) fail "no '$word' in: $said" ;;
	esac
	[ "$(find "$out" -type f | wc -l)" -eq $((2 - (expected > 0))) ] ||
		fail "left behind:" "$out"/*
}

# Checks the result: expect SIZE=FRAMES...
expect() {
	check check_lines.py "$out/app.lines.heap.pb.gz" "$@"
	for command in check totals; do
		"$python" "$source_directory/tests/pprof_read.py" $command "$profile" >"$directory/before"
		"$python" "$source_directory/tests/pprof_read.py" $command \
			"$out/app.lines.heap.pb.gz" >"$directory/after"
		cmp -s "$directory/before" "$directory/after" ||
			fail "$command: $(cat "$directory/after")"
	done
}

# Writes a number to a field of all program headers of a type: set_segments FILE TYPE FIELD NUMBER
set_segments() {
	"$python" - "$@" <<'END'
import struct, sys
TYPES, FIELDS = {"PT_LOAD": 1, "PT_NOTE": 4}, {"p_offset": 8, "p_memsz": 40}
path, kind, field, number = sys.argv[1:]
with open(path, "r+b") as file:
    header = file.read(64)
    begin, = struct.unpack_from("<Q", header, 32)
    count, = struct.unpack_from("<H", header, 56)
    for at in range(begin, begin + 56 * count, 56):
        file.seek(at)
        if struct.unpack("<I", file.read(4))[0] == TYPES[kind]:
            file.seek(at + FIELDS[field])
            file.write(struct.pack("<Q", int(number, 0)))
END
}

# Of debugging information only, with the file that ran and without it, however the linker lays out
# the program: debug_file NAME FLAG...  The debug file is left in the store.
debug_file() {
	program=$1
	shift
	build "$program" victim_lines.cc -Wl,--build-id "$@" ||
		fail "$program is not built: $(cat "$directory/$program.build")"
	run_profiled "run.$program" HEAPSAMPLE_INTERVAL=1 -- "$directory/$program"
	expect_status 0
	expect_profiles 1
	mv "$out"/*.heap.pb.gz "$profile"
	out=$directory/work
	objcopy --only-keep-debug "$directory/$program" "$directory/store/$program"
	strip "$directory/$program"
	add 0 'addresses have lines' "PPROF_BINARY_PATH=$directory/store"
	expect $frames
	rm "$directory/$program"
	add 0 'addresses have lines' "PPROF_BINARY_PATH=$directory/store"
	expect $frames
}

# shellcheck disable=SC2086 # the frames are words
{
add 0 'addresses have lines'
expect $frames
[ "$(stat -c %a "$out/app.lines.heap.pb.gz")" = 600 ] || fail "more public than the profile"
chmod 640 "$profile"
(umask 077 && "$python" "$source_directory/scripts/heapsample-lines" -o "$directory/group.gz" \
	"$profile" 2>/dev/null)
[ "$(stat -c %a "$directory/group.gz")" = 640 ] || fail "another mode than the profile's"

# Several profiles at once, each with an output of its own; outputs of before are left out.
several=$directory/several
mkdir "$several"
cp "$profile" "$several/a.heap.pb.gz"
cp "$profile" "$several/b.heap.pb.gz"
(cd "$several" && sha256sum ./*.gz >"$directory/sums")
for round in first second; do
	said=$(cd "$several" && "$python" "$source_directory/scripts/heapsample-lines" ./*.gz 2>&1) ||
		fail "$round time, several: $said"
	(cd "$several" && sha256sum --quiet -c "$directory/sums") || fail "a profile was replaced"
	[ "$(cd "$several" && echo *)" = \
		'a.heap.pb.gz a.lines.heap.pb.gz b.heap.pb.gz b.lines.heap.pb.gz' ] ||
		fail "$round time, several: $(ls "$several")"
done
case $said in
*'a.lines.heap.pb.gz: left out'*) ;;
*) fail "with outputs: $said" ;;
esac
said=$("$python" "$source_directory/scripts/heapsample-lines" -o "$out/one" \
	"$several"/?.heap.pb.gz 2>&1)
case $?$said in
2*"one output, $out/one, for 2 profiles"*) ;;
*) fail "one output for two: $said" ;;
esac

# A file that cannot be read does not stop the others.
libc=$(ldd "$directory/program" | sed -n 's/.*=> \(.*\/libc\.so[^ ]*\).*/\1/p')
mkdir "$directory/cut"
head -c 100000 "$libc" >"$directory/cut/${libc##*/}"
add 0 "-e $directory/cut/${libc##*/} ends with status 1" ADDR2LINE=addr2line \
	"PPROF_BINARY_PATH=$directory/cut"
expect $frames

# Without c++filt linkage names stay, which pprof demangles.
mkdir "$directory/bin"
ln -s "$(command -v addr2line)" "$directory/bin/addr2line"
add 0 'addresses have lines' "PATH=$directory/bin"
expect '1024=_Z4makeIcEPvm:9,keep<char>:14'

# Lines that are there are replaced, not added to.
cp "$profile" "$directory/first.gz"
mv "$out/app.lines.heap.pb.gz" "$profile"
add 0 'addresses have lines'
expect $frames
mv "$directory/first.gz" "$profile"

# Of a stripped program there are none, but of the file with the same build id elsewhere.
mkdir "$directory/debug"
cp "$directory/program" "$directory/debug/program"
strip "$directory/program"
said=$(env PPROF_BINARY_PATH= "$python" "$source_directory/scripts/heapsample-lines" -o "$directory/none.gz" \
	"$profile" 2>&1)
case $said in
*"$directory/program: no debugging information"*) ;;
*) fail "stripped: $said" ;;
esac
add 0 'addresses have lines' "PPROF_BINARY_PATH=$directory/none:$directory/debug"
expect $frames

# Of a file with debugging information only, where pprof looks for it.
objcopy --only-keep-debug "$directory/debug/program" "$directory/only"
id=$(readelf -n "$directory/only" 2>/dev/null | sed -n 's/.*Build ID: //p')
rest=${id#??}
for place in "$(printf %.2s "$id")/$rest.debug" "$id/any name" program "$directory/program"; do
	rm -rf "$directory/store"
	mkdir -p "$directory/store/$(dirname "$place")"
	cp "$directory/only" "$directory/store/$place"
	add 0 'addresses have lines' "PPROF_BINARY_PATH=$directory/store"
	expect $frames
done
# eu-strip's have the segments of the file that ran, but their notes elsewhere.
set_segments "$directory/store/$place" PT_NOTE p_offset 0x100000
add 0 'addresses have lines' "PPROF_BINARY_PATH=$directory/store"
expect $frames

# Another file of that name has other lines.
objcopy --remove-section=.note.gnu.build-id "$directory/debug/program" "$directory/program"
said=$("$python" "$source_directory/scripts/heapsample-lines" -o "$directory/none.gz" \
	"$profile" 2>&1)
case $said in
*"$directory/program: not the file that ran (build id none"*) ;;
*) fail "another file: $said" ;;
esac

# A program that ran stripped has no names in the profile: they come with the lines.
cp "$directory/debug/program" "$directory/program"
strip "$directory/program"
run_profiled run.stripped HEAPSAMPLE_INTERVAL=1 -- "$directory/program"
expect_status 0
expect_profiles 1
cp "$profile" "$directory/named.gz"
mv "$out"/*.heap.pb.gz "$profile"
out=$directory/work
add 0 'addresses have lines' "PPROF_BINARY_PATH=$directory/debug"
check check_lines.py "$out/app.lines.heap.pb.gz" $frames
mv "$directory/named.gz" "$profile"

debug_file no-pie -no-pie
debug_file together -Wl,-z,noseparate-code
if command -v ld.lld >/dev/null; then
	debug_file lld -fuse-ld=lld
else
	echo "without lld" >&2
fi
debug_file usual
# Which of its segments was where is not certain.
set_segments "$directory/store/usual" PT_LOAD p_memsz 0x100000
said=$(env "PPROF_BINARY_PATH=$directory/store" "$python" \
	"$source_directory/scripts/heapsample-lines" -o "$directory/none.gz" "$profile" 2>&1)
case $said in
*"$directory/store/usual: the file that ran is needed too"*) ;;
*) fail "another size: $said" ;;
esac

# Of the bytes in paths those that are not UTF-8 are escaped, whatever the locale is.
mixed=$(printf 'caf\351\303\251')
mkdir "$directory/$mixed"
cp "$tests/victim_lines.cc" "$directory/$mixed"
(tests=$directory/$mixed && build "$mixed/program" victim_lines.cc -Wl,--build-id) ||
	fail "program in $mixed is not built: $(cat "$directory/$mixed/program.build")"
run_profiled run.mixed HEAPSAMPLE_INTERVAL=1 -- "$directory/$mixed/program"
expect_status 0
expect_profiles 1
mv "$out"/*.heap.pb.gz "$profile"
out=$directory/work
for setting in A= PYTHONUTF8=0; do
	add 0 'addresses have lines' PYTHONCOERCECLOCALE=0 "$setting"
	expect $frames
	"$python" "$source_directory/tests/pprof_read.py" dump "$out/app.lines.heap.pb.gz" \
		>"$directory/dump"
	grep -q '/caf%E9\\u00e9/victim_lines.cc"' "$directory/dump" ||
		fail "$setting: no escaped name of the source"
done
}

# Only files are replaced.
mkfifo "$directory/fifo"
said=$("$python" "$source_directory/scripts/heapsample-lines" -o "$directory/fifo" \
	"$profile" 2>&1)
case $? in
1) ;;
*) fail "written into a pipe's place: $said" ;;
esac
[ -p "$directory/fifo" ] || fail "a pipe was replaced"
said=$(ulimit -f 0; "$python" "$source_directory/scripts/heapsample-lines" -o "$out/full" \
	"$profile" 2>&1)
case $said in
*"$out/full: File too large"*) ;;
*) fail "no room for the file: $said" ;;
esac

add 1 '/no/addr2line: No such file or directory (from ADDR2LINE)' ADDR2LINE=/no/addr2line
add 1 'package binutils' "PATH=$directory/run"
echo 'no profile' >"$profile"
add 1 'not a profile' A=
: >"$profile"
add 1 'not a profile' A=
finish
