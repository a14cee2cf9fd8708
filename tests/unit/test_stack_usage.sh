#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# A sampled call takes at most 512 bytes of the program's stack: the frames of the
# deepest path below each slow half, as gcc lays them out with the flags of the build:
#
#     entry stub > hs_slow_NAME > hs_session_record > hs_record_allocation > ...
#
# Left out are what happens once in a process's life: looking up the next allocator,
# starting threads, and the messages.
set -u

source_directory=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
build_directory=${abs_top_builddir:-$PWD}
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT

if [ -n "${HS_SANITIZER:-}" ]; then
	echo "skipped: sanitizers take stack of their own"
	exit 77
fi
command -v python3 >/dev/null || {
	echo "skipped: no python3"
	exit 77
}
echo 'int f(int a) { return a; }' >"$directory/try.c"
${CC:-gcc} -O2 -fcallgraph-info=su -c "$directory/try.c" -o "$directory/try.o" 2>/dev/null &&
	[ -f "$directory/try.ci" ] || {
	echo "skipped: no gcc with -fcallgraph-info"
	exit 77
}

for file in "$source_directory"/src/sample/*.c "$source_directory"/src/session/*.c \
	"$source_directory"/src/base/*.c "$source_directory"/preload/slow.c \
	"$source_directory"/preload/cxx_new.c; do
	name=$(echo "${file#"$source_directory"/}" | tr / _)
	${CC:-gcc} -std=gnu11 -O2 -fPIC -fvisibility=hidden -ftls-model=initial-exec \
		-fno-strict-aliasing -fno-builtin -D_GNU_SOURCE -DHEAPSAMPLE_IN_LIBRARY \
		-fcallgraph-info=su \
		-I"$source_directory/src" -I"$source_directory/include" -I"$source_directory" \
		-I"$build_directory/src" -c "$file" -o "$directory/$name.o" || exit 1
done

# The stub's 72 bytes, and the return address of the program's call.
python3 "$source_directory/tests/unit/stack_usage.py" --limit=512 --entry=80 \
	--cut=hs_next_resolve --cut=hs_next_resolve_all --cut=hs_threads_ensure --cut=hs_log \
	--cut=hs_session_disable 'hs_slow_*' "$directory"/*.ci
