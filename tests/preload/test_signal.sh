#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# HEAPSAMPLE_SIGNAL: a profile on demand, and what happens when the program wants the
# signal for itself.
#
# A shell cannot set the default action of signals that were ignored when it started, as nohup and a
# shell's & have it.  coreutils before 8.31 cannot either.
if [ -z "${HS_DEFAULT_ACTIONS-}" ] && env --default-signal true 2>/dev/null; then
	HS_DEFAULT_ACTIONS=1 exec env --default-signal=INT,HUP,TERM,USR2 sh "$0"
fi
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

# The signal ends a process without its handler: the README's line tells whether that is there.
is_caught() {
	grep -q '^SigCgt:.*[89a-f]..$' /proc/"$process"/status
}
start_profiled early HEAPSAMPLE_FINAL=0 HEAPSAMPLE_SIGNAL=USR2 -- "$victims/victim_service"
wait_until is_caught || fail "USR2 is not caught"
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

# So are all frees, which wake nobody.
out=$directory/freed
run_profiled freed "HEAPSAMPLE_OUTPUT=$out/%n.heap.pb.gz" HEAPSAMPLE_INTERVAL=1 \
	HEAPSAMPLE_SIGNAL=USR2 -- "$victims/victim_burst" 100000 "$out/0001.heap.pb.gz" free
expect_status 0
expect_silence
expect_profiles 2
check check_profile.py site "$out/0001.heap.pb.gz" burst 100000 2400000 0 0

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
expect_one_message 'HEAPSAMPLE_SIGNAL=USR2: victim_service has taken it over'
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
expect_one_message 'HEAPSAMPLE_SIGNAL=USR2: victim_service starts with it ignored or handled'
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

# Python then ends by the signal, for which it sets the default action.
run_profiled interrupted HEAPSAMPLE_FINAL=term HEAPSAMPLE_INTERVAL=64k -- "$python" -c '
import os, signal, time
os.kill(os.getpid(), signal.SIGINT)
time.sleep(100)'
expect_status 130
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
	# Nor a forked one that sets the default action.
	run_profiled term_forked_init HEAPSAMPLE_FINAL=term HEAPSAMPLE_INTERVAL=64k -- "$python" -c '
import ctypes, os, signal
CLONE_NEWPID = 0x20000000
if ctypes.CDLL(None).unshare(CLONE_NEWPID) == 0 and os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
    later = bytes(10000000)
    print("goes on as", os.getpid())
else:
    os.wait()'
	expect_status 0
	expect_silence
	[ "$(cat "$out.stdout")" = "goes on as 1" ] || fail "term_forked_init: $(cat "$out.stdout")"
	expect_profiles 2
	check check_profile.py least "$out"/*.1.0001.heap.pb.gz '' 10000000
fi

# A call that the signal interrupts goes on, and the handlers run on the alternate stack.  The
# kernel tells: in place of those of HEAPSAMPLE_FINAL=term libc shows the default action.
cat >"$directory/flags.c" <<'END'
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
long syscall(long number, ...);
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
	return signal(SIGINT, SIG_IGN) != SIG_DFL || signal(SIGINT, SIG_DFL) != SIG_IGN ||
	       (flags_of(SIGINT) & due) != due;
}
END
# restore HOW NUMBER: another action for the signal, then the one that it had.  HOW: with sigaction(),
# or with signal(), "child" in a child.  The signal ends the process in a handler of another one.
cat >"$directory/restore.c" <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile block;
static int number;
static void mine(int signal_number)
{
	if (signal_number == SIGALRM)
		raise(number);
}
static int changes_by_sigaction(void (*handler)(int))
{
	struct sigaction action, old, now;

	memset(&action, 0, sizeof action);
	action.sa_handler = handler;
	return sigaction(number, &action, &old) == 0 && old.sa_handler == SIG_DFL &&
	       sigaction(number, &old, &action) == 0 && action.sa_handler == handler &&
	       sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
}
static int changes_by_signal(void (*handler)(int))
{
	void (*old)(int) = signal(number, handler);

	return old == SIG_DFL && signal(number, old) == handler && signal(number, old) == SIG_DFL;
}
int main(int argc, char **argv)
{
	int (*changes)(void (*)(int)) = changes_by_signal;
	int status;

	block = malloc(100000);
	number = atoi(argv[argc - 1]);
	if (strcmp(argv[1], "sigaction") == 0)
		changes = changes_by_sigaction;
	if (strcmp(argv[1], "child") == 0 && fork() != 0)
		return wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == number ? 0 : 2;
	if (!changes(SIG_IGN) || !changes(mine))
		return 1;
	block = malloc(100000);
	signal(SIGALRM, mine);
	raise(SIGALRM);
	return 3;
}
END

# With -std=c11 signal() is System V's, whose handlers are there for one signal.
for standard in gnu11 c11; do
	[ $standard = c11 ] && define=-D_XOPEN_SOURCE=700 || define=-D_GNU_SOURCE
	${CC:-cc} -std=$standard $define -o "$directory/handlers.$standard" "$directory/flags.c" ||
		exit 99
	${CC:-cc} -std=$standard $define -O1 -fno-builtin -o "$directory/restores.$standard" \
		"$directory/restore.c" || exit 99
	run_profiled "flags.$standard" HEAPSAMPLE_SIGNAL=USR2 HEAPSAMPLE_FINAL=term -- \
		"$directory/handlers.$standard"
	expect_status 0
	expect_silence
	for number in 15 2 1; do
		for how in sigaction signal; do
			run_profiled "restore.$standard.$number.$how" HEAPSAMPLE_FINAL=term \
				HEAPSAMPLE_INTERVAL=1 -- "$directory/restores.$standard" $how $number
			expect_status $((128 + number))
			expect_profiles 1
			check check_profile.py least "$out"/*.heap.pb.gz '' 100000
		done
	done
	run_profiled "restore.$standard.child" HEAPSAMPLE_FINAL=term HEAPSAMPLE_INTERVAL=1 -- \
		"$directory/restores.$standard" child 15
	expect_status 0
	expect_profiles 2
done
finish
