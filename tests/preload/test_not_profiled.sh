#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs that cannot be profiled run as if nothing was preloaded; if the library is
# loaded at all, one line says why there is no profile.
. "$(dirname "$0")/lib.sh"

no_profile() {
	expect_profiles 0
	left=$(find "$out" -type f)
	[ -z "$left" ] || fail "$(basename "$out"): left behind: $left"
}

run_profiled own_malloc HEAPSAMPLE_INTERVAL=1 -- "$victims/victim_own_malloc"
expect_status 6
[ "$(cat "$out.stdout")" = 100000 ] || fail "own malloc: $(cat "$out.stdout")"
expect_one_message 'interposed'
no_profile

# An allocator that is preloaded before the library.
cat >"$directory/allocator.c" <<'END'
#include <stddef.h>
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void __libc_free(void *block);
void *malloc(size_t bytes) { return __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return __libc_calloc(count, bytes); }
void *realloc(void *block, size_t bytes) { return __libc_realloc(block, bytes); }
void free(void *block) { __libc_free(block); }
END
${CC:-cc} -shared -fPIC -fno-builtin -o "$directory/allocator.so" "$directory/allocator.c" || exit 99
PRELOAD=$directory/allocator.so
run_profiled first HEAPSAMPLE_INTERVAL=1 -- "$victims/victim_process" exit
expect_status 5
expect_one_message 'interposed'
no_profile
run_profiled checked HEAPSAMPLE=check -- "$victims/victim_process" exit
expect_status 5
expect_one_message 'check: malloc is not interposed'
PRELOAD=

# The library itself, opened by the program.
cat >"$directory/opens.c" <<'END'
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	if (argc != 2 || dlopen(argv[1], RTLD_NOW) == NULL)
		return 1;
	free(malloc(1000));
	return 5;
}
END
${CC:-cc} -o "$directory/opens" "$directory/opens.c" -ldl || exit 99
run_profiled opened HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_PROGRAMS=opens -- \
	env -u LD_PRELOAD "$directory/opens" "$library"
expect_status 5
expect_one_message 'interposed'
no_profile

if build victim_static victim_process.c -static -pthread; then
	run_profiled static HEAPSAMPLE_INTERVAL=1 -- "$directory/victim_static" exit
	expect_status 5
	expect_silence
	no_profile
else
	echo "without static programs" >&2
fi

# The loader prints its own line.
if build victim_child32 victim_process.c -m32 -pthread; then
	run_profiled child32 HEAPSAMPLE_INTERVAL=1 -- "$directory/victim_child32" exit
	expect_status 5
	no_profile
else
	echo "without 32-bit programs" >&2
fi

export LSAN_OPTIONS=detect_leaks=0 # the program leaves blocks in use
for sanitizer in thread leak; do
	if build "victim_$sanitizer" victim_process.c -fsanitize=$sanitizer -pthread &&
		"$directory/victim_$sanitizer" return; then
		run_profiled $sanitizer HEAPSAMPLE_INTERVAL=1 -- "$directory/victim_$sanitizer" return
		expect_status 0
		expect_one_message interposed
		no_profile
		run_profiled off_$sanitizer HEAPSAMPLE=0 -- "$directory/victim_$sanitizer" return
		expect_status 0
		expect_silence
	else
		echo "without -fsanitize=$sanitizer" >&2
	fi
done

# Valgrind's tools that replace malloc report nothing of the profiler, which stays off.
if valgrind --version >"$directory/valgrind" 2>&1; then
	for tool in memcheck helgrind; do
		run_profiled $tool HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_PROGRAMS=victim_process -- \
			valgrind -q --tool=$tool --error-exitcode=9 "$victims/victim_process" return
		expect_status 0
		expect_one_message interposed
		no_profile
	done
else
	echo "without valgrind" >&2
fi

# AddressSanitizer wants to be the first library, and ends the program by itself if it is
# not, unless told that all is well.  Then its allocator serves the program: either that
# is profiled, or a line says why not.
if build victim_asan victim_process.c -fsanitize=address -pthread &&
	ASAN_OPTIONS=detect_leaks=0 "$directory/victim_asan" return; then
	run_profiled asan_first HEAPSAMPLE_INTERVAL=1 ASAN_OPTIONS=detect_leaks=0 -- \
		"$directory/victim_asan" return
	[ "$status" -lt 128 ] || fail "AddressSanitizer: status $status: $(cat "$out.stderr")"
	run_profiled asan HEAPSAMPLE_INTERVAL=1 \
		ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 -- \
		"$directory/victim_asan" return
	expect_status 0
	if [ -s "$out.stderr" ]; then
		expect_one_message interposed
		no_profile
	else
		expect_profiles 1
		check check_profile.py site "$out"/*.heap.pb.gz parent 100 100000 100 100000
	fi
else
	echo "without AddressSanitizer" >&2
fi
finish
