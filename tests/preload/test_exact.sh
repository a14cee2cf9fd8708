#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Interval 1 is exact: per call site, the four values are what the program knows that it
# allocated, through each function, in four threads; nothing in use when all is freed.
. "$(dirname "$0")/lib.sh"

c_sites='site_malloc site_malloc_zero site_calloc site_realloc_null site_realloc_source
site_realloc_grow site_realloc_shrink site_realloc_in_place site_reallocarray
site_posix_memalign site_aligned_alloc site_memalign site_valloc site_pvalloc site_strdup
site_strndup site_survivor'
cxx_sites='site_plain site_array site_nothrow site_array_nothrow site_aligned
site_array_aligned site_aligned_nothrow site_array_aligned_nothrow site_vector'

# exact VICTIM keep|free SITE...; with $setting too, if that is not empty.  VICTIM: as built, or of
# $directory.  $failing: "fails" if the allocator's failures are as documented.
setting= failing=fails
exact() {
	victim=$1 mode=$2 program=$victims/$1
	[ -x "$program" ] || program=$directory/$victim
	shift 2
	# shellcheck disable=SC2086 # one word or none
	run_profiled "$victim.$mode" HEAPSAMPLE_INTERVAL=1 $setting -- "$program" "$mode" $failing
	expect_status 0
	expect_silence
	expect_profiles 1
	check check_exact.py "$out"/*.heap.pb.gz "$out.stdout" "$@"
}

for mode in keep free; do
	# shellcheck disable=SC2086 # lists of words
	exact victim_exact $mode $c_sites
	# shellcheck disable=SC2086
	exact victim_exact_cxx $mode $cxx_sites site_after_failure
done
# Allocators that have operator new, all forms or some, made of malloc or not.
if build liballocator.so victim_exact_allocator.cc -shared -fPIC &&
	build libcalls_malloc.so victim_exact_allocator.cc -DCALLS_MALLOC -shared -fPIC &&
	build libonly_new.so victim_exact_allocator.cc -DONLY_NEW -DCALLS_MALLOC -shared -fPIC &&
	build libonly_delete.so victim_exact_allocator.cc -DONLY_DELETE -shared -fPIC; then
	failing=
	for name in "$directory/liballocator.so" "$directory/libcalls_malloc.so" \
		"$directory/libonly_new.so" "$directory/libonly_delete.so" libjemalloc.so.2 \
		libtcmalloc.so.4 libtcmalloc_minimal_debug.so.4 libmimalloc.so.2 libtbbmalloc_proxy.so.2; do
		file=$(${CC:-cc} -print-file-name="$name")
		[ -f "$file" ] || continue
		victim=with_$(basename "${name%%.so*}")
		build "$victim" victim_exact_cxx.cc -std=gnu++17 -fsized-deallocation -pthread \
			-Wl,--no-as-needed "$file" || fail "$victim: $(cat "$directory/$victim.build")"
		for mode in keep free; do
			# shellcheck disable=SC2086 # a list of words
			exact "$victim" $mode $cxx_sites
		done
	done
	failing=fails
else
	fail "the allocators cannot be built: $(cat "$directory"/*.build)"
fi
# Faster than the profiler, and always at the same place in its tables.
for round in 1 2 3 4 5; do
	exact victim_same_address "free.$round" site_same_address
done
# A coroutine waits as well; the buffer holds a hundredth of its samples.
setting=HEAPSAMPLE_RING=64k
exact victim_same_address free.coroutine site_same_address
# A handler whose samples cannot wait does not make those of others less exact.
if build exact_handler victim_exact_handler.c; then
	run_profiled handler HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_RING=64k -- "$directory/exact_handler" 1000
	expect_status 0
	expect_silence
	times=$(cat "$out.stdout")
	check check_profile.py site "$out"/*.heap.pb.gz main "$times" $((16 * times)) 0 0
	check check_profile.py uncounted "$out"/*.heap.pb.gz interval_raises
else
	fail "exact_handler: $(cat "$directory/exact_handler.build")"
fi
# The program says that it has left nothing in use: check that it says so.
for truth in "$directory"/*.free*.stdout; do
	if grep -qv -e ', 0, 0\]' -e '^}' "$truth"; then
		fail "$truth: not everything is freed: $(cat "$truth")"
	fi
done
finish
