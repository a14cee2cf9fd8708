#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# HEAPSAMPLE_SIGNAL: a profile on demand, and what happens when the program wants the
# signal for itself.
. "$(dirname "$0")/lib.sh"
need "${CC:-cc}"

# Whether the service runs and has allocated.
has_allocated() {
	grep -q '^allocated$' "$out.stdout"
}

start_profiled signal HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_SIGNAL=USR2 -- "$victims/victim_service"
wait_until has_allocated || fail "the service does not run"
kill -USR2 "$process"
wait_until has_profiles 1 || fail "no profile on the signal"
kill -USR2 "$process"
wait_until has_profiles 2 || fail "no profile on the second signal"
end_profiled TERM
expect_status 0
expect_silence
expect_profiles 3
check check_profile.py has "$out"/*.0001.heap.pb.gz site_service

# The signal ends a process without its handler, which is there when the profiler's thread is.
has_thread() {
	grep -q heapsample-prod /proc/"$process"/task/*/comm 2>/dev/null
}
start_profiled early HEAPSAMPLE_FINAL=0 HEAPSAMPLE_SIGNAL=USR2 -- "$victims/victim_service"
wait_until has_thread || fail "no thread of the profiler"
kill -USR2 "$process"
wait_until has_profiles 1 || fail "no profile on an early signal"
wait_until has_allocated || fail "an early signal has ended the service"
end_profiled TERM
expect_status 0
expect_silence

# All that it did before the signal is in the profile, however far behind the profiler is.
out=$directory/burst
run_profiled burst "HEAPSAMPLE_OUTPUT=$out/%n.heap.pb.gz" HEAPSAMPLE_INTERVAL=1 \
	HEAPSAMPLE_SIGNAL=USR2 -- "$victims/victim_burst" 5000 "$out/0001.heap.pb.gz"
expect_status 0
expect_silence
expect_profiles 2
check check_profile.py site "$out/0001.heap.pb.gz" burst 5000 120000 5000 120000

run_profiled unknown HEAPSAMPLE_SIGNAL=USR9 HEAPSAMPLE_INTERVAL=1 -- \
	"$victims/victim_process" exit
expect_status 5
expect_one_message HEAPSAMPLE_SIGNAL=USR9 expected
expect_profiles 1

# The program takes it over: one line within 3 seconds, no more, and no profile of ours.
has_message() {
	[ -s "$out.stderr" ]
}
start_profiled takeover HEAPSAMPLE_INTERVAL=4k HEAPSAMPLE_SIGNAL=USR2 -- \
	"$victims/victim_service" takeover
wait_until has_message || fail "no line"
kill -USR2 "$process"
sleep 2
[ "$(profile_count)" -eq 0 ] || fail "a profile on the program's own signal"
end_profiled TERM
expect_status 0
expect_one_message 'HEAPSAMPLE_SIGNAL: victim_service has taken signal 12 over'
grep -q '^user signals: 1$' "$out.stdout" || fail "takeover: $(cat "$out.stdout")"
expect_profiles 1

# It had the signal from the start: not touched, one line.  No shell on the way there, for
# that would be a profiled program which takes the signal over.
trap '' USR2
start_profiled ignored HEAPSAMPLE_INTERVAL=4k HEAPSAMPLE_SIGNAL=USR2 -- "$victims/victim_service"
trap - USR2
wait_until has_message || fail "no line about an ignored signal"
wait_until has_allocated || fail "the service does not run"
kill -USR2 "$process"
end_profiled TERM
expect_status 0
expect_one_message 'HEAPSAMPLE_SIGNAL: signal 12 is taken already'
expect_profiles 1

# So are those that end a program, if they are ignored, as a shell does for what it starts in the
# background.
for signal in TERM INT HUP; do
	trap '' $signal
	run_profiled "ignored_$signal" HEAPSAMPLE_FINAL=term HEAPSAMPLE_INTERVAL=1 -- "$python" -c "
import os, signal
os.kill(os.getpid(), signal.SIG$signal)
print('goes on')"
	trap 'exit 1' $signal
	expect_status 0
	expect_silence
	[ "$(cat "$out.stdout")" = "goes on" ] || fail "$signal is ignored: $(cat "$out.stdout")"
	expect_profiles 1
done

# Programs that handle a signal only where it has its default action go on doing so.
run_profiled interrupt HEAPSAMPLE_FINAL=term HEAPSAMPLE_INTERVAL=64k -- "$python" -c '
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(100)
except KeyboardInterrupt:
    print("tidies up", signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)'
expect_status 0
expect_silence
[ "$(cat "$out.stdout")" = "tidies up True" ] || fail "interrupt: $(cat "$out.stdout")"
expect_profiles 1

# The kernel does not end the first process of a container by it, nor does the library.
if command -v unshare >/dev/null && unshare --pid --fork true 2>/dev/null; then
	run_profiled term_init HEAPSAMPLE_FINAL=term HEAPSAMPLE_INTERVAL=1 \
		"HEAPSAMPLE_PROGRAMS=${python##*/}" -- unshare --pid --fork "$python" -c '
import os, signal
os.kill(os.getpid(), signal.SIGTERM)
later = bytes(10000000)
print("goes on as", os.getpid())'
	expect_status 0
	expect_silence
	[ "$(cat "$out.stdout")" = "goes on as 1" ] || fail "term_init: $(cat "$out.stdout")"
	expect_profiles 1
	check check_profile.py least "$out"/*.heap.pb.gz '' 10000000
fi

# A call that the signal interrupts goes on, and the handlers run on the alternate stack.  The
# kernel tells: in place of those of HEAPSAMPLE_FINAL=term libc shows the default action.
cat >"$directory/flags.c" <<'END'
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static int flags_of(int number)
{
	struct { void *handler; unsigned long flags, restorer, mask; } action;

	return syscall(SYS_rt_sigaction, number, NULL, &action, 8) == 0 && action.handler != NULL
		       ? (int)action.flags : 0;
}
int main(void)
{
	static const int numbers[] = {SIGUSR2, SIGTERM, SIGINT, SIGHUP};
	static const int due = SA_RESTART | SA_ONSTACK;
	struct sigaction action;

	for (int i = 0; i < 4; i++) {
		if ((flags_of(numbers[i]) & due) != due ||
		    sigaction(numbers[i], NULL, &action) != 0 ||
		    (action.sa_handler == SIG_DFL && action.sa_flags == 0) != (i > 0))
			return numbers[i];
	}
	if (signal(SIGINT, SIG_IGN) != SIG_DFL || signal(SIGINT, SIG_DFL) != SIG_IGN ||
	    flags_of(SIGINT) != 0)
		return 1;
	return 0;
}
END
${CC:-cc} -D_GNU_SOURCE -o "$directory/handlers" "$directory/flags.c" || exit 99
run_profiled flags HEAPSAMPLE_SIGNAL=USR2 HEAPSAMPLE_FINAL=term -- "$directory/handlers"
expect_status 0
expect_silence
finish
