#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The documented errors of the functions that allocate, what they must leave alone, and calls
# before and after everything else.
. "$(dirname "$0")/lib.sh"
. "$tests/hostile.sh"

kind malloc
for mode in fail nothing errno floating-point refuse-threads bypass; do
	hostile $mode 1 -- "$victims/victim_hostile_calls" $mode
done
build unaligned victim_hostile_unaligned.c || fail "the program cannot be built"
if "$directory/unaligned" >/dev/null 2>&1; then
	hostile unaligned 1 -- "$directory/unaligned"
else
	skip_case unaligned "libc needs an aligned stack"
fi

kind C++
for mode in fail handle throw throw-from-handler thread-local; do
	hostile new.$mode 1 -- "$victims/victim_hostile_new" $mode
	hostile new.$mode.off 0 HEAPSAMPLE=0 -- "$victims/victim_hostile_new" $mode
done
# They end with abort(): no profile is promised.
for mode in terminate noexcept; do
	hostile new.$mode any -- "$victims/victim_hostile_new" $mode
done
for sized in '' no-; do
	build own_new.$sized victim_hostile_own_new.cc -std=gnu++17 -f${sized}sized-deallocation ||
		fail "the program cannot be built: $(cat "$directory/own_new.$sized.build")"
	hostile own_new.${sized}sized 1 -- "$directory/own_new.$sized"
	hostile own_new.${sized}sized.off 0 HEAPSAMPLE=0 -- "$directory/own_new.$sized"
done
# Forms of a library that comes after the profiler, but before the C++ library.
for forms in ALL ARRAYS; do
	build lib$forms.so victim_hostile_own_new.cc -DLIBRARY -D$forms -std=gnu++17 -shared -fPIC &&
		build with_$forms victim_hostile_own_new.cc -DPROGRAM -std=gnu++17 "-L$directory" \
			-Wl,--no-as-needed -l$forms "-Wl,-rpath,$directory" ||
		fail "the program cannot be built: $(cat "$directory"/*$forms*.build)"
	hostile library_new.$forms 1 -- "$directory/with_$forms"
	hostile library_new.$forms.off 0 HEAPSAMPLE=0 -- "$directory/with_$forms"
done
# The C++ library is in the scope of the opened library only.
build hostile_opens victim_hostile_opens.c -ldl &&
	build hostile_new.so victim_hostile_new.cc -DLIBRARY -shared -fPIC -std=gnu++17 -lpthread || {
	cat "$directory"/*.build >&2
	fail "the library cannot be built"
}
for mode in fail handle throw; do
	hostile opened.$mode 1 -- "$directory/hostile_opens" "$directory/hostile_new.so" $mode
done
# There are only some forms in the program's own scope: of a library that has C++'s in it, and of
# two whose blocks are their own.
if build libforms.so victim_hostile_plugin.cc -DFORMS -shared -fPIC -fno-exceptions \
	-nodefaultlibs -lc &&
	build libscalars.so victim_hostile_plugin.cc -DFORMS -DSCALARS -shared -fPIC -fno-exceptions \
		-std=gnu++17 -nodefaultlibs -lc &&
	build libstatic.so victim_hostile_plugin.cc -DSTATIC -shared -fPIC -static-libstdc++ &&
	build plugin.so victim_hostile_plugin.cc -shared -fPIC -std=gnu++17; then
	for forms in forms scalars static; do
		build opens_with_$forms victim_hostile_opens.c -Wl,--no-as-needed "-L$directory" \
			-l$forms "-Wl,-rpath,$directory" -ldl || fail "the program cannot be built"
		for mode in scalar array nothrow sort aligned; do
			# Take a block of malloc's to the library's delete.
			[ $forms.$mode != forms.sort ] && [ $forms.$mode != forms.nothrow ] || continue
			set -- "$directory/opens_with_$forms" "$directory/plugin.so" $mode
			hostile $forms.$mode 1 -- "$@"
			hostile $forms.$mode.off 0 HEAPSAMPLE=0 -- "$@"
		done
	done
else
	skip_case forms "cannot be built: $(cat "$directory"/*.build)"
fi

kind early
for first in 0 1 3 6 9; do
	if "$victims/victim_hostile_early" $first >/dev/null 2>&1; then
		hostile first-call-$first 1 -- "$victims/victim_hostile_early" $first
	else
		skip_case first-call-$first "libc allocates nothing in an IFUNC's resolver"
	fi
done
finish_cases
