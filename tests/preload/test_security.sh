#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# What another user of the machine, or the user of a privileged program, could try.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"

# Names that another user can foretell, in a directory that all may write to.
shared=$directory/shared
mkdir -m 1777 "$shared"
precious=$directory/precious

# write_shared NAME VARIABLE=VALUE...: a program that writes all files there are, to $shared.
write_shared() {
	case_name=$1
	shift
	run_profiled "$case_name" HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_OUTPUT=$shared/a.heap.pb.gz" \
		"HEAPSAMPLE_STATS=$shared/a.stats" "$@" -- "$victims/victim_process" exit
	expect_status 5
	[ "$(cat "$precious")" = kept ] || fail "$case_name: a link was followed"
	[ "$(stat -c %a "$precious")" = 644 ] || fail "$case_name: mode of what a link leads to"
}

# expect_own NAME...: regular files of ours in $shared, which nobody else may read.
expect_own() {
	for file in "$@"; do
		kind=$(stat -c '%F %a' "$shared/$file" 2>&1)
		[ "$kind" = 'regular file 600' ] || fail "$case_name: $file: $kind"
	done
}

empty_shared() {
	rm -rf "$shared"
	mkdir -m 1777 "$shared"
	rm -f "$precious"
	echo kept >"$precious"
	chmod 644 "$precious"
}

umask 0

# Nobody else may read what is written, whatever the umask.
empty_shared
write_shared modes "HEAPSAMPLE_LOGFILE=$shared/a.log" HEAPSAMPLE_LOG=info
expect_own a.heap.pb.gz a.stats a.log
write_shared stream_mode "HEAPSAMPLE_STREAM=$shared/a.stream"
expect_own a.stream

# Links at the names, and at the temporary ones: replaced, not followed.
for target in "$precious" "$directory/absent"; do
	empty_shared
	for name in a.heap.pb.gz .a.heap.pb.gz.tmp a.stats .a.stats.tmp; do
		ln -s "$target" "$shared/$name"
	done
	write_shared links
	expect_own a.heap.pb.gz a.stats
	[ ! -e "$directory/absent" ] || fail "links: made what a link leads to"
	[ "$(find "$shared" -name '.*' ! -path "$shared" | wc -l)" -eq 0 ] ||
		fail "links: left: $(ls -la "$shared")"
done
empty_shared
ln -s "$precious" "$shared/a.stream"
write_shared stream_link "HEAPSAMPLE_STREAM=$shared/a.stream"
expect_own a.stream

# A log that is a link is not appended to.
for target in "$precious" "$directory/absent"; do
	empty_shared
	ln -s "$target" "$shared/a.log"
	write_shared log_link HEAPSAMPLE_LOG=info "HEAPSAMPLE_LOGFILE=$shared/a.log"
	messages | grep -q "HEAPSAMPLE_LOGFILE=$shared/a.log cannot be opened" ||
		fail "log_link: no message: $(messages)"
	[ ! -e "$directory/absent" ] || fail "log_link: made what the link leads to"
done

# What is not a regular file stays as it is, and is not waited for.
for kind in pipe directory link; do
	empty_shared
	case $kind in
	pipe) mkfifo "$shared/a.heap.pb.gz" "$shared/a.log" ;;
	directory) mkdir "$shared/a.heap.pb.gz" "$shared/a.log" ;;
	link) mkdir "$directory/there.$kind" && ln -s "$directory/there.$kind" "$shared/a.heap.pb.gz" ;;
	esac
	before=$(stat -c '%F %i' "$shared/a.heap.pb.gz")
	write_shared "no_file_$kind" "HEAPSAMPLE_LOGFILE=$shared/a.log"
	[ "$(stat -c '%F %i' "$shared/a.heap.pb.gz")" = "$before" ] ||
		fail "no_file_$kind: was $before: $(ls -la "$shared")"
	expect_own a.stats
done

# Names that are formats.
formats=$directory/a%n%s%100000000d%x
cp "$victims/victim_process" "$formats"
run_profiled formats HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_LOG=debug HEAPSAMPLE_LABELS=thread \
	'HEAPSAMPLE_PROGRAMS=%n%s,*' 'HEAPSAMPLE_NO%n%sSUCH=%s%n' 'HEAPSAMPLE_DEPTH=%n%s%d' -- \
	"$formats" exit
expect_status 5
expect_profiles 1
messages | grep -q 'HEAPSAMPLE_DEPTH=%n%s%d is not understood' || fail "formats: $(messages)"
[ -n "$(find "$out" -name 'a%n%s%100000000d%x.*')" ] || fail "formats: $(ls "$out")"

# A program that is executed has no descriptor of ours.
run_profiled descriptors HEAPSAMPLE_INTERVAL=1 "HEAPSAMPLE_STREAM=$directory/s.%p" \
	"HEAPSAMPLE_LOGFILE=$directory/d.log" HEAPSAMPLE_LOG=debug -- \
	"$python" -c 'import os, subprocess, time
def has_stream():
    return any("/s." in os.path.realpath("/proc/self/fd/" + fd) for fd in os.listdir("/proc/self/fd"))
data = [str(i) for i in range(10000)]
# It is opened when there is something to write, a second after the first sample at the latest.
# Seen once: as it is moved up, another look may see neither of its two descriptors.
end = time.monotonic() + 10
is_seen = has_stream()
while not is_seen and time.monotonic() < end:
    time.sleep(0.01)
    is_seen = has_stream()
print(is_seen, flush=True)
# What is executed is not profiled: a stream that it opens itself may have the same name.
del os.environ["LD_PRELOAD"]
subprocess.call(["ls", "-l", "/proc/self/fd"], close_fds=False)
os.execvp("ls", ["ls", "-l", "/proc/self/fd"])'
expect_status 0
[ "$(head -n 1 "$out.stdout")" = True ] || fail "descriptors: the stream is not open"
! grep -e "$directory/s\." -e "$directory/d\." "$out.stdout" >&2 || fail "descriptors: inherited"

# The program's descriptors do not shift: its next is the lowest one once the profiler rests, with
# libunwind loaded by then.
next_descriptor='import os, sys, time
def has_libunwind():
    return "libunwind" in open("/proc/self/maps").read()
def next_descriptor():
    fd = os.open("/dev/null", os.O_RDONLY)
    os.close(fd)
    return fd
end = time.monotonic() + 10
while len(sys.argv) > 1 and time.monotonic() < end and \
        (not has_libunwind() or next_descriptor() != int(sys.argv[1])):
    time.sleep(0.05)
print(next_descriptor())'
lowest=$("$python" -c "$next_descriptor")
run_profiled lowest HEAPSAMPLE_INTERVAL=1 -- "$python" -c "$next_descriptor" "$lowest"
expect_status 0
[ "$(cat "$out.stdout")" = "$lowest" ] || fail "lowest: $(cat "$out.stdout"), not $lowest"

# Nothing that can be written to and executed, and no more that can be executed than the
# library and libunwind.  Copies of stacks are not in a core dump.
run_profiled mappings HEAPSAMPLE_INTERVAL=1 -- \
	"$python" -c 'import time
data = [str(i) for i in range(10000)]
time.sleep(0.5)
print(open("/proc/self/smaps").read())'
expect_status 0
grep -E '^[0-9a-f]+-[0-9a-f]+ .*[r-]wx' "$out.stdout" >&2 && fail "mappings: writable and executable"
foreign=$(grep -E '^[0-9a-f]+-[0-9a-f]+ ..x' "$out.stdout" | grep -v -e '\.so' -e '\[v' -e "$python" |
	grep -v "$(readlink -f "$python")")
[ -z "$foreign" ] || fail "mappings: executable: $foreign"
grep -q 'libunwind' "$out.stdout" || fail "mappings: too early, the worker was not there"
# [vvar] is not in one either, and cannot be written to.
awk '/^[0-9a-f]+-[0-9a-f]+ / { is_ours = $2 ~ /^rw/ } /^VmFlags:.* dd/ && is_ours { found = 1 }
	END { exit !found }' "$out.stdout" || fail "mappings: the ring would be in a core dump"
# Nor, in gcore's, the addresses that are only reserved.
awk '/^[0-9a-f]+-[0-9a-f]+ / { is_reserved = $2 ~ /^---/ } /^Size:/ { kib = $2 }
	/^VmFlags:/ && is_reserved && kib > 262144 { ours++; bad += !/ dd/ }
	END { exit !ours || bad }' "$out.stdout" || fail "mappings: gcore would write what is reserved"
# Where every mapping may have huge pages, ours has none: it is used here and there.
if [ -d /sys/kernel/mm/transparent_hugepage ]; then
	awk '/^VmFlags:.* dd/ && !/ io / { ours++; bad += !/ nh/ } END { exit !ours || bad }' \
		"$out.stdout" || fail "mappings: huge pages in the profiler's memory"
fi

# How the library is linked.
segments=$(readelf -lW "$library")
dynamic=$(readelf -dW "$library")
echo "$segments" | grep -q 'GNU_RELRO' || fail "no relro"
echo "$segments" | grep -q 'GNU_STACK .* RW ' || fail "an executable stack: $segments"
echo "$segments" | grep -E '(LOAD|RELRO) .* (RWE|W E)' && fail "writable and executable segments"
echo "$dynamic" | grep -q 'BIND_NOW' || fail "bound lazily"
! echo "$dynamic" | grep -e TEXTREL -e RPATH -e RUNPATH || fail "relocations in the text, or a path"
# A stack protector where files of others are read, and not where samples are taken.
if command -v objdump >/dev/null && readelf -SW "$library" | grep -q symtab; then
	for function in hs_perf_map_read hs_elf_image_read_by_headers hs_dump_name_expand; do
		objdump -d --disassemble=$function "$library" | grep -q '%fs:0x28' ||
			fail "$function: no stack protector"
	done
	for function in malloc free hs_record_allocation hs_ring_reserve; do
		! objdump -d --disassemble=$function "$library" | grep -q '%fs:0x28' ||
			fail "$function: a stack protector where it costs"
	done
fi

open_to_all
# A privileged program, which is linked with the library, for the loader would not preload it.
build privileged victim_process.c -Wl,--no-as-needed "$library" \
	"-Wl,-rpath,$(dirname "$library")" -lpthread || {
	cat "$directory/privileged.build" >&2
	fail "privileged: cannot be built"
}
privileged() {
	(
		cd "$directory/inside" || exit
		env "HEAPSAMPLE=$1" HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_LOG=debug HEAPSAMPLE_BAD=1 \
			"HEAPSAMPLE_LOGFILE=$directory/inside/log" \
			"HEAPSAMPLE_STATS=$directory/inside/stats" "$python" -c '
import os, sys
if len(sys.argv) > 3:
    os.setresuid(0, int(sys.argv[3]), 0)
os.execv(sys.argv[1], sys.argv[1:3])' "$directory/privileged" exit ${2:+"$2"}
	) >"$out.stdout" 2>"$out.stderr"
	status=$?
}
out=$directory/privileged.out
mkdir -m 777 "$directory/inside"
privileged 1
expect_status 5
[ -n "$(find "$directory/inside" -name '*.pb.gz')" ] || fail "privileged: not profiled when it is not"
if [ "$(id -u)" -eq 0 ]; then
	for mode in 1 check; do
		rm -rf "$directory/inside"
		mkdir -m 777 "$directory/inside"
		privileged $mode 65534
		expect_status 5
		left=$(ls -A "$directory/inside")
		[ -z "$left" ] || fail "privileged: wrote $left"
		expect_silence
	done

	# What it executes, with all its rights, does not find settings of its user either.
	cat >"$directory/helper.c" <<'END'
#include <unistd.h>

int main(void)
{
	uid_t user = geteuid();

	return setresuid(user, user, user) == 0 ? execlp("env", "env", NULL) : 1;
}
END
	# Nor if a library whose constructor runs before ours has made a copy of the environment.
	cat >"$directory/setter.c" <<'END'
#include <stdlib.h>

__attribute__((constructor)) static void set(void)
{
	setenv("SET_BY_LIBRARY", "1", 1);
}
END
	${CC:-cc} -shared -fPIC -o "$directory/libsetter.so" "$directory/setter.c" ||
		fail "setter: cannot be built"
	for before in "" "$directory/libsetter.so"; do
		# shellcheck disable=SC2086 # none or one
		${CC:-cc} -D_GNU_SOURCE -o "$directory/privileged" "$directory/helper.c" \
			-Wl,--no-as-needed "$library" $before \
			"-Wl,-rpath,$(dirname "$library")" "-Wl,-rpath,$directory" ||
			fail "helper: cannot be built"
		privileged 1 65534
		expect_status 0
		grep HEAPSAMPLE "$out.stdout" >&2 && fail "helper: was given settings"
		grep -q '^PATH=' "$out.stdout" ||
			fail "helper: was not given the rest: $(cat "$out.stdout")"
		[ -z "$before" ] || grep -q '^SET_BY_LIBRARY=' "$out.stdout" ||
			fail "helper: the library's constructor did not run: $(cat "$out.stdout")"
	done

	# Nor do the profiler's threads keep capabilities that the program gives up.
	run_profiled capset HEAPSAMPLE_INTERVAL=1 -- "$python" -c 'import ctypes, glob, struct
result = ctypes.CDLL(None).capset(struct.pack("Ii", 0x20080522, 0), bytes(24))
tasks = []
for path in glob.glob("/proc/self/task/*/status"):
    try:
        tasks.append(open(path).read().split("CapEff:")[1].split()[0])
    except OSError:
        pass # it has just ended
print(result, len(tasks) > 2, *set(tasks))'
	expect_status 0
	[ "$(cat "$out.stdout")" = "0 True 0000000000000000" ] || fail "capset: $(cat "$out.stdout")"
else
	echo "not root: no privileged program was run"
fi
finish
