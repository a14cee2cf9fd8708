#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs that are stopped, or write to closed descriptors, while profiles are written, and places
# where none can be written: the program does not notice, messages are only about this, and no part
# of a profile is left.
. "$(dirname "$0")/lib.sh"
. "$tests/hostile.sh"

open_to_all "$victims/victim_hostile_output"
victim=$directory/victim_hostile_output

kind stopped
hostile stopped some -- "$victim" stopped
hostile stopped-signal some HEAPSAMPLE_SIGNAL=SIGUSR2 -- "$victim" stopped
hostile stopped-at-exit 1 -- "$victim" stopped-at-exit
# The time limit for the last samples passes while the process is stopped.
hostile stopped-for-long 1 -m 'were not processed in time' -- "$victim" stopped-for-long

# What the program goes on writing to a descriptor that it has closed is in none of our files.
kind closed
for descriptor in 1 2; do
	log=$directory/closed.$descriptor.log
	hostile "closed.$descriptor" 22 "HEAPSAMPLE_LOGFILE=$log" HEAPSAMPLE_LOG=info -- \
		"$victim" closed $descriptor
	ended_with 5
	[ "$(grep -c ': wrote ' "$log")" -eq 44 ] || fail "closed.$descriptor: not all is in $log"
	! grep -v '^heapsample\[[0-9]*\]: ' "$log" >&2 || fail "closed.$descriptor: not ours in $log"
done

kind output
cannot='cannot write the profile|no such directory|HEAPSAMPLE_LOGFILE=.* cannot be opened'
# If the log file cannot be used, messages of HEAPSAMPLE_LOG=info go to stderr.
said="$cannot|info: "
# placed NAME HOW-MANY DIRECTORY SETTING... -- PROGRAM...: leaves nothing but profiles.
placed() {
	name=$1 due=$2 place=$3
	shift 3
	hostile "$name" "$due" -m "$cannot" "HEAPSAMPLE_OUTPUT=$place/%p.%n.heap.pb.gz" "$@"
	left=$(find "$place" "$directory/$name".[1d]* -type f ! -name '*.heap.pb.gz' ! -name '*.std*' \
		! -name '*.own' 2>/dev/null)
	[ -z "$left" ] || fail "$name: left behind: $left"
}
# Programs that start the victim are not profiled.
only=HEAPSAMPLE_PROGRAMS=victim_hostile_output
mkdir "$directory/full" "$directory/moving" "$directory/denied"
# Prints the name of what is left.
cat >"$directory/full.sh" <<'END'
mount -t tmpfs -o size=256k none "$2" || exit 1
"$1" full "$2"
status=$?
find "$2" -type f ! -name '*.heap.pb.gz'
exit $status
END
unshare='unshare -m'
$unshare true 2>/dev/null || unshare='unshare -U -r -m'
if $unshare true 2>/dev/null; then
	# shellcheck disable=SC2086 # words
	hostile full any -m "$cannot" "HEAPSAMPLE_OUTPUT=$directory/full/%p.%n.heap.pb.gz" $only -- \
		$unshare sh "$directory/full.sh" "$victim" "$directory/full"
	ended_with 5
	has_said 'no space' 'read-only'
else
	skip_case full "cannot unshare"
fi
# A file that is being written when its directory is moved stays there under its temporary name.
hostile coming-and-going any -m "$cannot" "HEAPSAMPLE_OUTPUT=$directory/moving/%p.%n.heap.pb.gz" -- \
	"$victim" coming-and-going "$directory/moving"
placed missing any "$directory/missing" -- "$victim" ask
has_said 'cannot write the profile.*no such directory'
hostile device any -m "$cannot" HEAPSAMPLE_OUTPUT=/dev/full -- "$victim" ask
has_said 'cannot write the profile'
hostile log-missing 2 -m "$said" "HEAPSAMPLE_LOGFILE=$directory/missing/log" \
	HEAPSAMPLE_LOG=info -- "$victim" ask
has_said 'HEAPSAMPLE_LOGFILE=.* cannot be opened' 'info: wrote'
hostile log-full 2 -m "$said" HEAPSAMPLE_LOGFILE=/dev/full HEAPSAMPLE_LOG=info -- "$victim" ask
has_said 'info: wrote'
hostile log-moving any -m "$said" "HEAPSAMPLE_LOGFILE=$directory/moving/log" \
	HEAPSAMPLE_LOG=info "HEAPSAMPLE_OUTPUT=$directory/moving/%p.%n.heap.pb.gz" -- \
	"$victim" coming-and-going "$directory/moving"

# Root may write anywhere.
chmod 555 "$directory/denied"
ordinary=
[ "$(id -u)" -ne 0 ] || ordinary='setpriv --reuid=65534 --regid=65534 --clear-groups'
if [ -n "$ordinary" ] && ! command -v setpriv >/dev/null; then
	skip_case denied "no setpriv"
	skip_case log-denied "no setpriv"
else
	# shellcheck disable=SC2086 # words, or none
	{
		placed denied any "$directory/denied" $only -- $ordinary "$victim" ask
		has_said 'cannot write the profile.*permission denied'
		hostile log-denied any -m "$said" $only HEAPSAMPLE_LOG=info \
			"HEAPSAMPLE_LOGFILE=$directory/denied/log" \
			"HEAPSAMPLE_OUTPUT=$directory/denied/%p.heap.pb.gz" -- $ordinary "$victim" ask
		has_said 'HEAPSAMPLE_LOGFILE=.* cannot be opened' 'cannot write the profile'
	}
	[ -z "$(ls -A "$directory/denied")" ] || fail "denied:" "$directory/denied"/*
fi
finish_cases
