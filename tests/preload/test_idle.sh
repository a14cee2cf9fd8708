#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# While a program samples nothing, its profiler sleeps: no switch of context in two seconds,
# with an interval of 4k, with profiles at distant times, and with profiles on a signal, whose
# action is looked at less and less often.
. "$(dirname "$0")/lib.sh"

cat >"$directory/idle.py" <<'END'
import sys
blocks = [bytes(1000) for i in range(20000)]
print("ready", flush=True)
open(sys.argv[1]).readline()
END
mkfifo "$directory/end"
exec 3<>"$directory/end"

# Prints the sum of both profiler threads; nothing if they do not exist.
switches() {
	cat /proc/"$process"/task/*/status 2>/dev/null | awk '
		/^Name:/ { ours = /heapsample/; threads += ours }
		/ctxt_switches:/ && ours { sum += $2 }
		END { if (threads == 2) print sum }'
}

# Two seconds without one; a loaded machine may have kept them from going to sleep before.
has_slept() {
	before=$(switches)
	sleep 2
	[ -n "$before" ] && [ "$before" = "$(switches)" ]
}

for setting in HEAPSAMPLE_INTERVAL=4k "HEAPSAMPLE_TIME_INTERVAL=1h HEAPSAMPLE_INTERVAL=4k" \
	"HEAPSAMPLE_SIGNAL=USR2 HEAPSAMPLE_INTERVAL=4k"; do
	# shellcheck disable=SC2086 # a list of settings
	start_profiled "idle.${#setting}" $setting PYTHONMALLOC=malloc -- \
		"$python" "$directory/idle.py" "$directory/end"
	wait_until grep -q ready "$out.stdout" || fail "it does not get ready"
	has_slept || has_slept || has_slept || has_slept || has_slept ||
		fail "$setting: switches of context: $before, $(switches)"
	echo >&3
	wait "$process"
	status=$?
	background=
	expect_status 0
	expect_profiles 1
done
finish
