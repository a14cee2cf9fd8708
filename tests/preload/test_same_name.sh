#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Several processes whose profiles, or streams, would have the same names, as those of process 1 in
# several containers: all of them are there, under different numbers.  And names that other users
# have taken.
. "$(dirname "$0")/lib.sh"

need "${CC:-cc}" mkfifo

# same PROFILES: when standard input ends, writes so many profiles.
cat >"$directory/same.c" <<'END'
#include <heapsample/heapsample.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile block;
int main(int argc, char **argv)
{
	char byte;

	block = malloc(1000);
	while (read(0, &byte, 1) > 0)
		;
	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++) {
		if (heapsample_dump(NULL, 0) != 0)
			return 3;
	}
	return 0;
}
END
${CC:-cc} -I"$source_directory/include" -O1 -fno-builtin -o "$directory/same" \
	"$directory/same.c" -ldl || exit 99

# at_once NAME PROFILES SETTING...: all processes write at the same time, each of them so many.
at_once() {
	name=$1 profiles=$2
	shift 2
	mkfifo "$directory/$name.fifo"
	exec 3<>"$directory/$name.fifo"
	for process in 1 2 3 4 5 6 7 8; do
		start_profiled "$name" HEAPSAMPLE_INTERVAL=1 "$@" -- \
			"$directory/same" "$profiles" <"$directory/$name.fifo" 3>&-
	done
	exec 3>&-
	for each in $background; do
		wait "$each" || fail "$name: status $?"
	done
	background=
}

at_once profiles 5 "HEAPSAMPLE_OUTPUT=$directory/profiles/same.%n.heap.pb.gz"
expect_silence
expect_profiles 48
[ -f "$out/same.0048.heap.pb.gz" ] || fail "profiles: a number is missing:" "$out"/*
"$python" - "$source_directory/tests" "$out"/*.heap.pb.gz <<'END' || fail "the numbers in files"
import re
import sys
sys.path.insert(0, sys.argv[1])
from pprof_read import read_profile
for path in sys.argv[2:]:
    number = int(re.search(r'\.(\d+)\.heap', path).group(1))
    comments = ' '.join(read_profile(path).comments)
    if not re.search(r' number=%d$| number=%d ' % (number, number), comments):
        sys.exit('%s: %s' % (path, comments))
END

at_once streams 0 "HEAPSAMPLE_STREAM=$directory/streams/%n.stream"
expect_silence
[ "$(find "$out" -name '00*.stream' | wc -l)" -eq 8 ] || fail "streams:" "$out"/*
for file in "$out"/*.stream; do
	check check_stream.py complete "$file"
done

# The names of programs are cut to 63 bytes, but no character: cut_name TAIL KEPT, each behind 60
# digits.
digits=$(printf %060d 0)
cut_name() {
	program=$directory/$digits$(printf %b "$1")
	cp "$directory/same" "$program"
	rm -rf "$directory/cut"
	run_profiled cut HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_OUTPUT=$directory/cut/%e.heap.pb.gz" -- \
		"$program" </dev/null
	expect_status 0
	expect_silence
	expect_profiles 1
	[ -f "$out/$digits$(printf %b "$2").heap.pb.gz" ] || fail "cut $1:" "$out"/*
}
cut_name 1234567 123
cut_name 1\\0303\\0251 1\\0303\\0251
cut_name 1\\0303\\0251x 1\\0303\\0251
cut_name 12\\0303\\0251 12
cut_name 1\\0342\\0202\\0254 1
cut_name \\0360\\0237\\0230\\0200 ''
cut_name 12\\0351x 12\\0351

# In a directory such as /tmp, where another user has left what cannot be removed: files and links.
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
	echo "without another user" >&2
	finish
fi
open_to_all
# as_another NAME PATTERN [SETTING]: the program's profile, as a user who owns nothing in the directory.
as_another() {
	run_profiled "$1" "HEAPSAMPLE_OUTPUT=$directory/$1/$2" HEAPSAMPLE_PROGRAMS=same \
		HEAPSAMPLE_INTERVAL=1 ${3:-} -- setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$directory/same" </dev/null
	expect_status 0
}
mkdir "$directory/numbered" "$directory/named"
chmod 1777 "$directory/numbered" "$directory/named"
touch -d '2 hours ago' "$directory/numbered/.0001.heap.pb.gz.tmp" \
	"$directory/named/.a.heap.pb.gz.tmp"
ln -s missing "$directory/numbered/0002.heap.pb.gz"
touch "$directory/numbered/.0003.heap.pb.gz.tmp"
as_another numbered %n.heap.pb.gz
expect_silence
[ -f "$out/0004.heap.pb.gz" ] || fail "numbered:" "$out"/*
as_another named a.heap.pb.gz
expect_one_message 'cannot write the profile' \
	'/\.a\.heap\.pb\.gz\.tmp is in the way: permission denied'
mkdir "$directory/protected"
chmod 1777 "$directory/protected"
touch "$directory/protected/a.heap.pb.gz"
as_another protected a.heap.pb.gz
expect_one_message 'cannot write the profile' '/a\.heap\.pb\.gz is in the way: permission denied (1)'
as_another protected a.heap.pb.gz HEAPSAMPLE=check
messages | grep -q "protected/a.heap.pb.gz (another user's file is in the way); " ||
	fail "protected: check: $(messages)"
rm "$directory/protected/a.heap.pb.gz"
as_another protected a.heap.pb.gz HEAPSAMPLE=check
messages | grep -q 'protected/a.heap.pb.gz; ' || fail "unprotected: check: $(messages)"
finish
