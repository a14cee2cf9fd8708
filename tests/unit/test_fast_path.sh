#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# What malloc and free cost where nothing is sampled: so many instructions, accesses to memory
# and cache lines, in the library as it was built.
set -u

source_directory=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
library=${abs_top_builddir:-$PWD}/.libs/libheapsample.so

if [ -n "${HS_SANITIZER:-}" ]; then
	echo "skipped: sanitizers add instructions"
	exit 77
fi
for program in objdump python3; do
	command -v "$program" >/dev/null || {
		echo "skipped: no $program"
		exit 77
	}
done
readelf -p .comment "$library" | grep -q GCC || {
	echo "skipped: not built by gcc, for which the numbers are"
	exit 77
}
case " $CFLAGS " in
*" -O2 "*) ;;
*)
	echo "skipped: built with CFLAGS=$CFLAGS; the numbers are for -O2"
	exit 77
	;;
esac
# As some distributions build their packages.
case " $CFLAGS " in
*" -fno-omit-frame-pointer "* | *" -fstack-protector-"* | *" -flto"*)
	echo "skipped: built with CFLAGS=$CFLAGS, which add instructions"
	exit 77
	;;
esac
python3 "$source_directory/tests/unit/fast_path.py" "$library" \
	malloc=7,4 free=11,6 calloc=10,4 realloc=17,9
