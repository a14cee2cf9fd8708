#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Bad settings and places: one clear line, the program is not affected, and nothing is left
# half-written.  Also the settings that turn the profiler off or make it print more.
. "$(dirname "$0")/lib.sh"

# try NAME SETTING... : the victim's status is 5, and it prints nothing.
try() {
	run_profiled "$@" -- "$victims/victim_process" exit
	expect_status 5
	[ ! -s "$out.stdout" ] || fail "$1: stdout: $(cat "$out.stdout")"
}

nothing_left() {
	left=$(find "$out" ! -type d 2>/dev/null)
	[ -z "$left" ] || fail "$(basename "$out"): left behind: $left"
}

# Places.
try missing HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_OUTPUT=$directory/missing/no/such/a.heap.pb.gz"
expect_one_message /no/such/ HEAPSAMPLE_OUTPUT= 'no such'
nothing_left

try file_as_directory HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_OUTPUT=/dev/null/a.heap.pb.gz"
expect_one_message /dev/null/ 'not a directory'

# A long name is in the line twice, and the reason still comes after it.
long=$(printf '/%0100d' 1 2 3 4 5 6 7 8 9 10)
try long_name HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_OUTPUT=$long"
expect_one_message "$long of HEAPSAMPLE_OUTPUT=$long" 'no such directory (2)'

mkfifo "$directory/pipe"
try fifo HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_OUTPUT=$directory/pipe"
expect_one_message /pipe HEAPSAMPLE_OUTPUT= 'not a file'
[ -p "$directory/pipe" ] || fail "fifo: a file took its place"

if [ "$(id -u)" -ne 0 ]; then
	mkdir "$directory/locked" && chmod 500 "$directory/locked"
	try locked HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_OUTPUT=$directory/locked/a.heap.pb.gz"
	expect_one_message locked denied
	nothing_left
else
	# Nobody may create files there, not even root.
	try locked HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_OUTPUT=/proc/self/a.heap.pb.gz
	expect_one_message /proc/self/
fi

# A full disk if one can be made, otherwise a limit to the size of files.
full=$directory/full
mkdir "$full"
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=4k none "$full" 2>/dev/null; then
	dd if=/dev/zero of="$full/filler" bs=4k count=1 2>/dev/null
	try disk HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_OUTPUT=$full/a.heap.pb.gz"
	ls -A "$full" | grep -v '^filler$' && fail "left on the full disk"
	umount "$full"
	expect_one_message /full/ 'no space'
else
	echo "without a full disk" >&2
fi
mkdir -p "$directory/limit"
(
	ulimit -f 0
	HEAPSAMPLE_OUTPUT=$directory/limit/a.heap.pb.gz HEAPSAMPLE_INTERVAL=1 LD_PRELOAD=$library \
		"$victims/victim_process" exit 2>&1 >/dev/null | cat >&3
) 3>&1 | cat >"$directory/limit.stderr"
out=$directory/limit
expect_one_message /limit/ 'file size'
nothing_left
# Its own status: a pipe hides it above.
(
	ulimit -f 0
	HEAPSAMPLE_OUTPUT=$directory/limit/a.heap.pb.gz HEAPSAMPLE_INTERVAL=1 LD_PRELOAD=$library \
		"$victims/victim_process" exit 2>/dev/null
)
status=$?
expect_status 5

# Values.
try interval HEAPSAMPLE_INTERVAL=12q
expect_one_message HEAPSAMPLE_INTERVAL=12q expected 512k
# With the default interval there may be no sample, but there is a profile.
[ "$(profile_count)" -eq 1 ] || fail "interval: no profile"
try unknown HEAPSAMPLE_INTERVALL=1 HEAPSAMPLE_INTERVAL=1
expect_one_message HEAPSAMPLE_INTERVALL 'nearest: HEAPSAMPLE_INTERVAL)'
expect_profiles 1
try pattern HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_FINAL=0 HEAPSAMPLE_OUTPUT=%q
expect_one_message HEAPSAMPLE_OUTPUT=%q expected
nothing_left

# Turned off, and only asked for its settings.
try off HEAPSAMPLE=0 HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_LOG=debug
expect_silence
nothing_left
try not_off HEAPSAMPLE=off HEAPSAMPLE_INTERVAL=1
expect_one_message HEAPSAMPLE=off 'expected 0, 1 or check' 'stays off'
nothing_left
try check HEAPSAMPLE=check HEAPSAMPLE_INTERVAL=1
messages | grep -q -e 'interposed' -e 'would profile' || fail "check does not say whether"
messages | grep -q 'HEAPSAMPLE_INTERVAL=1 ' || fail "check does not show the settings"
messages | grep -q "$out/" || fail "check does not show the name of the profile"
! messages | grep -q 'HEAPSAMPLE_DEPTH' || fail "check shows what is not set"
nothing_left
for place in "none/a (no such directory)" "pipe/a (a part of the path is not a directory)" \
	"pipe (it exists and is not a file)" a; do
	try check_place HEAPSAMPLE=check "HEAPSAMPLE_OUTPUT=$directory/${place%% *}"
	expect_one_message "would profile victim_process into $directory/$place; HEAPSAMPLE=check"
done
# Beside it, the statistics.
for place in "none/b (no such directory)" b; do
	try check_stats HEAPSAMPLE=check "HEAPSAMPLE_OUTPUT=$directory/a" \
		"HEAPSAMPLE_STATS=$directory/${place%% *}"
	expect_one_message "into $directory/a and $directory/$place; HEAPSAMPLE=check"
done
# Whether anything would write it.
try check_final HEAPSAMPLE=check "HEAPSAMPLE_OUTPUT=$directory/a" HEAPSAMPLE_FINAL=0
expect_one_message "into $directory/a (only if the program asks for it: HEAPSAMPLE_FINAL=0); "
for setting in SIGNAL=USR2 TIME_INTERVAL=1h ALLOC_INTERVAL=1m INUSE_INTERVAL=1m OOM=90 STREAM=a; do
	try check_trigger HEAPSAMPLE=check HEAPSAMPLE_FINAL=0 "HEAPSAMPLE_$setting"
	expect_one_message "would profile"
	! messages | grep 'only if' >&2 || fail "check: HEAPSAMPLE_$setting"
done
# Whether there is memory for it.
for mode in 1 check; do
	# shellcheck disable=SC2016 # the shell that limits itself is to read it
	run_profiled "memory_$mode" HEAPSAMPLE=$mode HEAPSAMPLE_PROGRAMS=victim_process -- \
		/bin/sh -c 'ulimit -v 20000 && exec "$@"' sh "$victims/victim_process" exit
	expect_status 5
	[ "$(messages | grep -c 'no memory.* (error 12; HEAPSAMPLE_MEMORY is 256 MiB, RLIMIT_AS 19 MiB)')" \
		-eq 1 ] || fail "memory_$mode: $(messages)"
done
# The first number that is free.
mkdir -p "$directory/taken/0001"
: >"$directory/taken/0002"
try check_number HEAPSAMPLE=check "HEAPSAMPLE_OUTPUT=$directory/taken/%n"
expect_one_message "would profile victim_process into $directory/taken/0003; HEAPSAMPLE=check"
try check_long HEAPSAMPLE=check HEAPSAMPLE_LOG=debug "HEAPSAMPLE_STATS=$long" "HEAPSAMPLE_DROP_FRAMES=$long"
messages | grep -q 'HEAPSAMPLE_PROGRAMS=$' || fail "check does not show all of long settings"

try check_programs HEAPSAMPLE=check HEAPSAMPLE_PROGRAMS=other
expect_one_message "victim_process: HEAPSAMPLE_PROGRAMS=other does not match $victims/victim_process (e"
ln -s "$victims/victim_process" "$directory/linked"
run_profiled check_link HEAPSAMPLE=check 'HEAPSAMPLE_PROGRAMS=[a-z]inked' -- "$directory/linked" exit
expect_status 5
expect_one_message "=.a-z.inked does not match $directory/linked or .*/victim_process (expected names"
# What a program starts that would be profiled.
run_profiled check_child HEAPSAMPLE=check -- /bin/sh -c '"$0" exit; exit 7' "$victims/victim_process"
expect_status 7
messages | grep -q 'check: would profile sh into ' || fail "check_child: $(messages)"
messages | grep -q "check: would not profile victim_process: a profiled program started it, see" ||
	fail "check_child: $(messages)"

# Programs.
try programs HEAPSAMPLE_INTERVAL=1 'HEAPSAMPLE_PROGRAMS=other,no*pe'
expect_silence
nothing_left
try programs_match HEAPSAMPLE_INTERVAL=1 'HEAPSAMPLE_PROGRAMS=other,victim_pr?c*'
expect_silence
expect_profiles 1
try path_match HEAPSAMPLE_INTERVAL=1 'HEAPSAMPLE_PROGRAMS=/no/*,/*/victim_process'
expect_silence
expect_profiles 1
# By the name that it is started by, or by that of the file.
ln -s "$victims/victim_process" "$directory/by_link"
for program in by_link victim_process; do
	run_profiled "name_$program" HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_PROGRAMS=$program -- \
		"$directory/by_link" exit
	expect_status 5
	expect_silence
	expect_profiles 1
done

# Messages.
try info HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_LOG=info
expect_profiles 1
messages | head -1 | grep -q 'HEAPSAMPLE_INTERVAL=1 ' || fail "info: no line at the start"
rows=$("$python" -c 'import sys
sys.path.insert(0, sys.argv[1])
from profile_facts import read_profile
print(len(list(read_profile(sys.argv[2]).rows())))' "$tests" "$out"/*.heap.pb.gz)
[ "$(messages | grep -c "wrote $out/victim_process.*.0001.heap.pb.gz (exit, $rows rows)$")" -eq 1 ] ||
	fail "info: not one line for the profile: $(messages)"
try logfile HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_LOG=info "HEAPSAMPLE_LOGFILE=$directory/log"
expect_silence
expect_profiles 1
[ "$(messages "$directory/log" | wc -l)" -ge 2 ] || fail "logfile: $(cat "$directory/log")"
# Also the message about a setting that comes before it.
run_profiled logfile_later HEAPSAMPLE_INTERVAL=x "HEAPSAMPLE_LOGFILE=$directory/later" -- \
	"$victims/victim_process" exit
expect_status 5
expect_silence
grep -q 'HEAPSAMPLE_INTERVAL=x is not understood' "$directory/later" || fail "logfile_later: no line"
run_profiled logfile_stdout HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_LOG=info \
	HEAPSAMPLE_LOGFILE=/dev/stdout -- "$victims/victim_process" exit
expect_status 5
expect_silence
[ "$(messages "$out.stdout" | wc -l)" -ge 2 ] || fail "logfile_stdout: $(cat "$out.stdout")"
ln -s "$directory/log" "$directory/link"
while read -r name path reason; do
	try "logfile_$name" HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_LOGFILE=$directory/$path"
	expect_one_message "HEAPSAMPLE_LOGFILE=$directory/$path cannot be opened: $reason" expected
	expect_profiles 1
done <<-END
	missing none/log no such directory (2;
	directory full it is a directory (21;
	pipe pipe it is a pipe that nobody reads, a socket, or a device that is not there (6;
	link link it is a symbolic link (40;
END
try logfile_closed HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_LOGFILE=/dev/fd/99
expect_one_message 'HEAPSAMPLE_LOGFILE=/dev/fd/99 cannot be opened: it is not open (9;'
finish
