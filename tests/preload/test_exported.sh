#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The library as the loader sees it: the symbols it exports, the libraries it needs, its
# thread-local storage, and that it binds at load and relocates no code.
. "$(dirname "$0")/lib.sh"
need nm

out=$directory/library
nm -D --defined-only "$library" | awk '{ print $NF }' | LC_ALL=C sort >"$out.exported"
grep -v '^#' "$tests/exported.txt" | diff - "$out.exported" >&2 || fail "other symbols are exported"
grep -q '@' "$out.exported" && fail "symbols with a version are not interposed"

# Functions by which the archives that are linked into it would end the program.
nm -D --undefined-only "$library" | grep -w -e abort -e __assert_fail >&2 &&
	fail "the library can end the program"

# Functions that a program may have in libc's place, with a lock: see src/base/sys.h.
nm -D --undefined-only "$library" | sed 's/@.*//' | awk '{ print $NF }' |
	grep -x -e clock_gettime -e gettimeofday -e time -e nanosleep -e usleep -e sleep -e sched_yield \
		-e open -e open64 -e openat -e openat64 -e read -e pread -e pread64 -e write -e close \
		-e stat -e stat64 -e fstat -e fstat64 -e fcntl -e fcntl64 -e ioctl -e poll -e getpid -e kill \
		-e 'pthread_mutex_.*' -e 'pthread_cond_.*' -e 'pthread_rwlock_.*' -e pthread_once \
		-e malloc -e calloc -e realloc -e free >&2 &&
	fail "the library calls what a program may replace"

readelf -dW "$library" >"$out.dynamic"
case $(getconf GNU_LIBC_VERSION) in
'glibc 2.'[12]? | 'glibc 2.3'[0-3]) libc='libc\.so\.6\|libdl\.so\.2\|libpthread\.so\.0' ;;
*) libc='libc\.so\.6' ;;
esac
needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$out.dynamic" | grep -v -e "^\($libc\)\$" -e '^ld-linux')
[ -z "$needed" ] || fail "libraries that every program would have to load: $needed"
grep -q TEXTREL "$out.dynamic" && fail "TEXTREL"
grep -q -e BIND_NOW -e 'FLAGS_1.*NOW' "$out.dynamic" || fail "not bound at load"
grep -q -e RPATH -e RUNPATH "$out.dynamic" && fail "a path to search libraries in"
grep -q VERDEF "$out.dynamic" && fail "the library has versions"

# Thread-local storage of the initial-exec kind, of at most 256 bytes.
tls_bytes=$(readelf -lW "$library" | awk '$1 == "TLS" { print $6 }')
[ -n "$tls_bytes" ] || fail "no thread-local storage"
[ $((${tls_bytes:-0})) -le 256 ] || fail "$((tls_bytes)) bytes of thread-local storage"
readelf -rW "$library" >"$out.relocations"
grep -q R_X86_64_TPOFF64 "$out.relocations" || fail "no initial-exec relocation"
grep -q -e R_X86_64_DTP -e R_X86_64_TLSDESC "$out.relocations" && fail "TLS that calls the loader"

# What it loads itself is told to packagers' tools.
readelf -nW "$library" | grep -qw FDO || fail "no note of what it loads"
grep -aq '"soname":\["libunwind-[a-z0-9_]*\.so\.8"\]' "$library" || fail "libunwind is not in the note"

readelf -lW "$library" | awk '$1 == "GNU_STACK" { print $7 }' | grep -q E && fail "executable stack"
readelf -lW "$library" | awk '$1 == "LOAD" && /RWE/ { bad = 1 } END { exit bad }' ||
	fail "memory that is both written and executed"
finish
