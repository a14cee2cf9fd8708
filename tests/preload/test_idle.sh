#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# While a program samples nothing, its profiler sleeps: no switch of context in two seconds,
# with an interval of 4k, with profiles at distant times, with a stream, and with profiles on a
# signal, whose action is looked at less and less often.  So it does while exit() waits, after the
# last profile.
. "$(dirname "$0")/lib.sh"

need "${CC:-cc}"

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

# Two seconds without one, within sixteen: a loaded machine may have kept them from going to sleep,
# and the producer looks for frees and the signal's action 1, 3, 7 and 15 seconds after the last.
has_slept() {
	for _ in 1 2 3 4 5 6 7 8; do
		before=$(switches)
		sleep 2
		[ -n "$before" ] && [ "$before" = "$(switches)" ] && return
	done
	return 1
}

for setting in HEAPSAMPLE_INTERVAL=4k "HEAPSAMPLE_TIME_INTERVAL=1h HEAPSAMPLE_INTERVAL=4k" \
	"HEAPSAMPLE_SIGNAL=USR2 HEAPSAMPLE_INTERVAL=4k" \
	"HEAPSAMPLE_STREAM=$directory/%e.stream HEAPSAMPLE_INTERVAL=4k"; do
	# An interval that a loaded machine has raised would be lowered again, by a step each second.
	# shellcheck disable=SC2086 # a list of settings
	start_profiled "idle.${#setting}" $setting HEAPSAMPLE_MAX_INTERVAL=4k \
		PYTHONMALLOC=malloc -- "$python" "$directory/idle.py" "$directory/end"
	wait_until grep -q ready "$out.stdout" || fail "it does not get ready"
	has_slept || fail "$setting: switches of context: $before, $(switches)"
	echo >&3
	wait "$process"
	status=$?
	background=
	expect_status 0
	case $setting in
	HEAPSAMPLE_STREAM*) [ -s "$(echo "$directory"/*.stream)" ] || fail "no stream" ;;
	*) expect_profiles 1 ;;
	esac
done

# Its standard output is a full pipe, which exit() waits for when it writes the last line.
cat >"$directory/exits.c" <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int pipe = argc == 2 ? open(argv[1], O_RDWR | O_NONBLOCK) : -1;
	void *volatile block;
	for (int i = 0; i < 100; i++)
		block = malloc(100000);
	(void)block;
	while (write(pipe, "", 1) == 1)
		;
	if (fcntl(pipe, F_SETFL, 0) != 0 || dup2(pipe, STDOUT_FILENO) != STDOUT_FILENO)
		return 1;
	fputs("last line", stdout);
	return 0;
}
END
${CC:-cc} -O1 -fno-builtin -o "$directory/exits" "$directory/exits.c" || fail "exits is not built"
mkfifo "$directory/full"
exec 4<>"$directory/full"
for setting in "HEAPSAMPLE_TIME_INTERVAL=1" "HEAPSAMPLE_OOM=99" \
	"HEAPSAMPLE_STREAM=$directory/stream"; do
	start_profiled "exits.${#setting}" "$setting" -- "$directory/exits" "$directory/full"
	has_slept || fail "$setting: switches of context in exit(): $before, $(switches)"
	head -c 65536 "$directory/full" >/dev/null
	wait "$process"
	status=$?
	background=
	expect_status 0
	head -c 9 "$directory/full" | grep -q 'last line' || fail "$setting: no last line"
done
finish
