#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Eight threads exchange blocks in 64 cells, with interval 1, while the ring has room for
# few of their samples: nothing is in use when all is freed, and the sums are exact.  One line says so
# if samples do not wait for room.
#
# HAMMER_SECONDS: for how long, 3 if not set.
. "$(dirname "$0")/lib.sh"
need "${CC:-cc}"

run_profiled hammer HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_MAX_INTERVAL=1 HEAPSAMPLE_BLOCK=0 \
	HEAPSAMPLE_RING=64k "HEAPSAMPLE_STATS=$directory/stats.json" -- \
	"$victims/victim_hammer" "${HAMMER_SECONDS:-3}"
expect_status 0
expect_one_message 'warning: [0-9]* of [0-9]* samples have no stack, .*: see HEAPSAMPLE_RING$'
expect_profiles 1
check check_hammer.py "$out"/*.heap.pb.gz "$directory/stats.json" "$out.stdout"

# flood pool: samples of malloc's, and 1000 of a heap.  flood: then some in forked children.
cat >"$directory/flood.c" <<'END'
#include <heapsample/heapsample.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile block;
static void allocate(int count)
{
	for (int i = 0; i < count; i++) {
		block = malloc(64);
		free(block);
	}
}
int main(int argc, char **argv)
{
	int heap = argc > 1 ? heapsample_heap_register(argv[1], NULL) : 0;

	for (unsigned long i = 1; heap > 0 && i <= 1000; i++)
		heapsample_report_allocation((unsigned)heap, i, 64);
	allocate(300000);
	for (int i = 0; argc == 1 && i < 4; i++) {
		if (fork() == 0) {
			allocate(200);
			exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
END
${CC:-cc} -I"$source_directory/include" -O1 -fno-builtin -o "$directory/flood" \
	"$directory/flood.c" -ldl || exit 99
# flood NAME SAMPLES ARGUMENT-OF-run_profiled...
flood() {
	name=$1 samples=$2
	shift 2
	run_profiled "$name" HEAPSAMPLE_INTERVAL=2 HEAPSAMPLE_MAX_INTERVAL=2 HEAPSAMPLE_RING=64k "$@"
	expect_status 0
	expect_one_message "warning: [0-9]* of $samples samples have no stack"
}
flood pool 301... -- "$directory/flood" pool
# The heap's samples wait, and are not counted.
flood pool_waits 300... HEAPSAMPLE_HEAPS=pool=1 -- "$directory/flood" pool
# What the parent has said no child repeats.
flood children 300... -- "$directory/flood"
expect_profiles 5
finish
