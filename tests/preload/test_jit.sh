#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Generated code: each sample has the name of the function that was there when it was
# taken, in our reader and in pprof; and with real compilers, node's and LLVM's.
. "$(dirname "$0")/lib.sh"

# LLVM writes there, or into a directory that may be another user's.
export JITDUMPDIR="$directory"
export PPROF_TMPDIR="$directory" XDG_CONFIG_HOME="$directory" GOTOOLCHAIN=local GOFLAGS=

last_profile() {
	find "$out" -name '*.heap.pb.gz' | sort | tail -n 1
}

has_output() {
	[ "$(grep -c "$1" "$out.stdout")" -ge "$2" ]
}

# All samples of a size are in a profile by now: is_seen SIZE.  Asks for one profile a time.
is_seen() {
	count=$(profile_count)
	kill -USR2 "$process"
	wait_until has_profiles $((count + 1)) || return 1
	"$python" "$tests/check_jit.py" "$(last_profile)" "$1" 10 >/dev/null
}

# The program's step with this size is done and seen; on to the next.
next_step() {
	wait_until has_output step "$1" || fail "step $1 is not done"
	wait_until is_seen "$2" || fail "step $1 is in no profile"
	echo >&3
}

mkfifo "$directory/steps"
exec 3<>"$directory/steps"
start_profiled jit HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_SIGNAL=USR2 -- \
	"$victims/victim_jit" "$directory/steps"
map=/tmp/perf-$process.map
next_step 1 1024
next_step 2 1280
next_step 3 1536
next_step 4 1792
next_step 5 2048
next_step 6 2560
wait "$process"
status=$?
background=
rm -f "$map"
if [ "$status" -eq 77 ]; then
	echo "without victim_jit: it makes code for other machines" >&2
else
	expect_status 0
	expect_silence
	expect_profiles "$(profile_count)"
	profile=$(last_profile)
	check check_jit.py "$profile" 1024 10 first@/srv/app.js:3 'caller of first@/srv/app.js:1' run
	check check_jit.py "$profile" 1280 10 first@/srv/app.js:3 run main
	check check_jit.py "$profile" 1536 10 second@/srv/app.js:20 'caller of first@/srv/app.js:1' run
	check check_jit.py "$profile" 1792 10 Late.named@/srv/late.py:0 run main
	check check_jit.py "$profile" 2048 10 debugged run main
	check check_jit.py "$profile" 2560 10 '//anon+0x*f' run main
	# A source that is not asked for gives no name.
	yes '' | head -n 6 >&3
	run_profiled gdb HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_JIT=gdb -- \
		"$victims/victim_jit" "$directory/steps"
	expect_status 0
	rm -f "/tmp/perf-$(basename "$out"/*.heap.pb.gz | cut -d . -f 2).map"
	check check_profile.py has "$(last_profile)" //anon+
	"$python" "$tests/check_profile.py" has "$(last_profile)" Late.named >/dev/null &&
		fail "gdb: a name from the perf map"
	# The descriptor is found though the program's file is gone, or could not be read at first.
	cp "$victims/victim_jit" "$directory"
	for how in gone starved; do
		program=$victims/victim_jit
		[ "$how" = starved ] || program=$directory/victim_jit
		run_profiled "$how" HEAPSAMPLE_INTERVAL=1 -- "$program" "$how"
		expect_status 0
		rm -f "/tmp/perf-$(basename "$(last_profile)" | cut -d . -f 2).map"
		check check_jit.py "$(last_profile)" 2048 10 debugged run main
	done
	if command -v go >/dev/null; then
		go tool pprof -top -sample_index=alloc_space -unit=B "$profile" \
			>"$directory/top" 2>/dev/null
		# In the first column is what each function allocated itself.
		for function in '23040B first' '15360B second' '17920B Late.named' '20480B debugged'; do
			grep -q "^ *${function% *} .* ${function#* }\$" "$directory/top" ||
				fail "pprof does not show $function: $(cat "$directory/top")"
		done
	fi
fi

# Buffers allocated from compiled JavaScript.
if command -v node >/dev/null; then
	cat >"$directory/buffers.js" <<-'END'
	'use strict';
	const kept = [];
	function allocateBuffer(i) {
		return Buffer.allocUnsafeSlow(16384 + i % 7);
	}
	function keepSome(i) {
		const buffer = allocateBuffer(i);
		if (i % 100 === 0)
			kept.push(buffer);
	}
	const work = { rounds(n) { for (let i = 0; i < n; i++) keepSome(i); } };
	for (let round = 0; round < 20; round++)
		work.rounds(1000);
	console.log(kept.length, process.pid);
	END
	unset NODE_EXTRA_CA_CERTS NODE_OPTIONS
	# node_profile NAME FLAG...
	node_profile() {
		name=$1
		shift
		run_profiled "$name" HEAPSAMPLE_INTERVAL=256k HEAPSAMPLE_RING=16m -- \
			node --perf-basic-prof --no-logfile-per-isolate \
			"--logfile=$directory/v8.log" "$@" "$directory/buffers.js"
		expect_status 0
		rm -f "/tmp/perf-$(cut -d' ' -f2 "$out.stdout").map"
		expect_profiles 1
		profile=$(last_profile)
	}
	# Buffers of 328 MB in all.  Each function is compiled when it is first called; in the
	# second run the hot ones are, and are inlined into their callers.
	baseline=--always-sparkplug
	node --v8-options | grep -q -e "$baseline" || baseline=
	# shellcheck disable=SC2086 # nothing, before node 16
	node_profile baseline $baseline --no-opt
	for function in allocateBuffer keepSome rounds; do
		check check_profile.py least "$profile" "$function" 250000000
	done
	node_profile optimized
	check check_profile.py least "$profile" rounds 150000000
else
	echo "without node" >&2
fi

# The stacks of OpenJDK's interpreter are complete.  Methods are not compiled, so that none has
# another use for the frame pointer.
cat >"$directory/Deflate.java" <<-'END'
import java.util.zip.Deflater;
public class Deflate {
	static int deflate(byte[] text) {
		Deflater deflater = new Deflater();
		deflater.setInput(text);
		deflater.finish();
		int length = deflater.deflate(new byte[2000]);
		deflater.end();
		return length;
	}
	public static void main(String[] arguments) {
		int sum = 0;
		for (int i = 0; i < 200; i++)
			sum += deflate(new byte[1000 + i]);
		System.out.println(sum);
	}
}
END
if java -Xint -version 2>&1 | grep -q 'Server VM' &&
	javac -d "$directory" "$directory/Deflate.java" 2>&1; then
	run_profiled java HEAPSAMPLE_INTERVAL=16k HEAPSAMPLE_RING=16m -- \
		java -Xint -Xmx64m -cp "$directory" Deflate
	expect_status 0
	expect_profiles 1
	profile=$(last_profile)
	check check_profile.py least "$profile" Java_java_util_zip_Deflater_init 40000000
	check check_profile.py uncounted "$profile" \
		unwind_no_info unwind_no_mapping unwind_bad_frame
else
	echo "without OpenJDK" >&2
fi

# LLVM tells debuggers: its objects are relocatable ones.  A clang and an lli of one release.  lli
# withdraws them as soon as main() has returned: it is to last longer than the profiler's naps.
cat >"$directory/kept.c" <<-'END'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static void keep_block(void **to)
{
	*to = malloc(1000);
}
__attribute__((noinline)) static void keep_blocks(void **to, int count)
{
	for (int i = 0; i < count; i++)
		keep_block(&to[i]);
}
int main(void)
{
	static void *blocks[5000];
	for (int i = 0; i < 5000; i += 100) {
		keep_blocks(&blocks[i], 100);
		usleep(10000);
	}
	return blocks[4999] == NULL;
}
END
if clang -O1 -fno-omit-frame-pointer -S -emit-llvm -o "$directory/kept.ll" "$directory/kept.c" \
	2>"$directory/clang.stderr" && lli --jit-kind=mcjit "$directory/kept.ll" 2>&1; then
	run_profiled llvm HEAPSAMPLE_INTERVAL=16k -- lli --jit-kind=mcjit "$directory/kept.ll"
	expect_status 0
	expect_silence
	expect_profiles 1
	profile=$(last_profile)
	for function in keep_block keep_blocks; do
		check check_profile.py least "$profile" "$function" 2500000
	done
else
	echo "without clang and lli of one release" >&2
fi
finish
