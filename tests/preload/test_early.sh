#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Functions that are looked up late, may not exist or are not the first: an operator new that is
# called before the library's constructor, jemalloc's own family without jemalloc, a malloc that
# comes before ours.
. "$(dirname "$0")/lib.sh"

# -fPIC: an undefined weak symbol is left to the dynamic linker.
if build libearly.so victim_early_new.cc -DLIBRARY -shared -fPIC &&
	build victim_early victim_early_new.cc "-L$directory" -learly "-Wl,-rpath,$directory" &&
	build libforms.so victim_early_forms.c -DLIBRARY -shared -fPIC &&
	build victim_forms victim_early_forms.c -foptimize-sibling-calls -rdynamic \
		"-L$directory" -lforms "-Wl,-rpath,$directory" -ldl &&
	build victim_weak victim_weak_mallocx.c -fPIC -ldl &&
	build libfirst.so victim_first_malloc.cc -DLIBRARY -shared -fPIC -ldl &&
	build victim_first victim_first_malloc.cc -fPIC; then
	:
else
	cat "$directory"/*.build >&2
	fail "the programs cannot be built"
	finish
fi

[ "$("$directory/victim_early")" = ok ] || fail "early: the program fails by itself"
run_profiled early HEAPSAMPLE_INTERVAL=1 -- "$directory/victim_early"
expect_status 0
expect_silence
[ "$(cat "$out.stdout")" = ok ] || fail "early: it prints '$(cat "$out.stdout")'"
expect_profiles 1

# What it calls first stays callable while all functions are looked up again.
[ "$("$directory/victim_forms")" = ok ] || fail "forms: the program fails by itself"
for setting in HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE=0; do
	run_profiled forms.$setting $setting -- "$directory/victim_forms"
	expect_status 0
	expect_silence
	[ "$(cat "$out.stdout")" = ok ] || fail "forms: it prints '$(cat "$out.stdout")'"
done

[ "$("$directory/victim_weak")" = none ] || fail "weak: the program fails by itself"
run_profiled weak HEAPSAMPLE_INTERVAL=1 -- "$directory/victim_weak"
expect_status 0
expect_silence
[ "$(cat "$out.stdout")" = found ] || fail "weak: it prints '$(cat "$out.stdout")'"
expect_profiles 1
# 100, 100, 2 of 500, 1000 and 64 bytes.
check check_profile.py site "$out"/*.heap.pb.gz mallocx 6 2264 0 0
check check_profile.py site "$out"/*.heap.pb.gz rallocx 1 50000 0 0

# operator new uses the malloc that the program has.
[ "$(LD_PRELOAD=$directory/libfirst.so "$directory/victim_first")" = "1000 1000" ] ||
	fail "first: the program fails by itself"
PRELOAD=$directory/libfirst.so
run_profiled first HEAPSAMPLE_INTERVAL=1 -- "$directory/victim_first"
expect_status 0
expect_silence
[ "$(cat "$out.stdout")" = "1000 1000" ] || fail "first: of 1000 each, '$(cat "$out.stdout")'"
expect_profiles 1
check check_profile.py site "$out"/*.heap.pb.gz first 1000 100000 0 0
finish
