#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Libraries that are opened and closed while threads allocate in them, at one address one
# after the other: each sample has the name of the library that was there.  And the hooks of
# dlopen() and dlclose() change nothing for the program.
. "$(dirname "$0")/lib.sh"

TURNS=1000

need "${CC:-cc}"

for letter in a b c; do
	case $letter in a) size=40 ;; b) size=80 ;; c) size=120 ;; esac
	build "lib$letter.so" victim_unload_library.c -shared -fPIC -DN="$letter" -DSIZE="$size" ||
		fail "lib$letter.so is not built: $(cat "$directory/lib$letter.so.build")"
done
build unload victim_unload.c -rdynamic -pthread -ldl ||
	fail "unload is not built: $(cat "$directory/unload.build")"
run_profiled turns HEAPSAMPLE_INTERVAL=1 -- \
	"$directory/unload" $TURNS "$directory/liba.so" "$directory/libb.so" "$directory/libc.so"
expect_status 0
expect_silence
expect_profiles 1
check check_profile.py lossless "$out"/*.heap.pb.gz
check check_unload.py "$out"/*.heap.pb.gz "$out.stdout" $TURNS

# A library that is rebuilt into the same file, without a build id, is another one: it has its
# own names and unwind tables, and the one before has none of its names.
build a.so victim_unload_library.c -shared -fPIC -DN=a -DSIZE=40 -Wl,--build-id=none &&
	build b.so victim_unload_library.c -shared -fPIC -DN=b -DSIZE=80 -Wl,--build-id=none -O0 ||
	fail "a.so or b.so is not built: $(cat "$directory"/[ab].so.build)"
build rewritten victim_rewritten.c -rdynamic -ldl ||
	fail "rewritten is not built: $(cat "$directory/rewritten.build")"
run_profiled again HEAPSAMPLE_INTERVAL=1 -- \
	"$directory/rewritten" "$directory/same.so" "$directory/a.so" "$directory/b.so"
expect_status 0
expect_silence
expect_profiles 1
check check_rewritten.py "$out"/*.heap.pb.gz same.so

# The same of a library that goes by a dlclose() which is not seen: the next dlopen() is.
build same_a.so victim_unload_library.c -shared -fPIC -DN=a -DSIZE=40 &&
	build same_b.so victim_unload_library.c -shared -fPIC -DN=b -DSIZE=40 ||
	fail "same_a.so or same_b.so is not built: $(cat "$directory"/same_?.so.build)"
build uncounted victim_uncounted.c -rdynamic -ldl ||
	fail "uncounted is not built: $(cat "$directory/uncounted.build")"
run_profiled unseen HEAPSAMPLE_INTERVAL=1 -- \
	"$directory/uncounted" "$directory/same_a.so" "$directory/same_b.so"
if [ "$status" -eq 77 ]; then
	echo "without an uncounted close: the second library is elsewhere" >&2
else
	expect_status 0
	expect_silence
	check check_uncounted.py "$out"/*.heap.pb.gz
fi

# The RUNPATH of the library that calls dlopen(), not ours, finds the library.  What fails leaves its
# message to dlerror().
mkdir "$directory/inner"
cat >"$directory/inner.c" <<'END'
int inner(void);
int inner(void) { return 42; }
END
cat >"$directory/outer.c" <<'END'
#include <dlfcn.h>
#include <stddef.h>
int outer(void);
int outer(void)
{
	void *base = dlopen("libinner.so", RTLD_NOW), *other;
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	int (*inner)(void);

	if (base == NULL)
		return 1;
	*(void **)&inner = dlsym(base, "inner");
	if (inner() != 42 || dlclose(base) != 0)
		return 2;
	other = dlmopen(LM_ID_NEWLM, "libinner.so", RTLD_NOW);
	if (other == NULL)
		return 3;
	if (dlopen("libnowhere.so", RTLD_NOW) != NULL || dlerror() == NULL)
		return 4;
	/* The program is linked with it, so it stays and is not closed again. */
	if (libc == NULL || dlclose(libc) != 0 || dlclose(libc) == 0)
		return 5;
	return dlerror() != NULL ? 0 : 6;
}
END
cat >"$directory/runpath.c" <<'END'
int outer(void);
int main(void) { return outer(); }
END
compile() {
	output=$1
	shift
	${CC:-cc} -D_GNU_SOURCE -Wl,--enable-new-dtags -o "$directory/$output" "$@" ||
		fail "$output is not built"
}
compile inner/libinner.so -shared -fPIC "$directory/inner.c"
# shellcheck disable=SC2016 # the loader expands it
compile libouter.so -shared -fPIC "$directory/outer.c" -Wl,-rpath,'$ORIGIN/inner' -ldl
compile runpath "$directory/runpath.c" "$directory/libouter.so"
"$directory/runpath" || fail "without the library: $?"
run_profiled found HEAPSAMPLE_INTERVAL=1 -- "$directory/runpath"
expect_status 0
expect_silence
finish
