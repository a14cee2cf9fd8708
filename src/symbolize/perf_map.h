/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /tmp/perf-PID.map: the text file in which JIT compilers say what they have compiled.
 *
 * A line is "START SIZE NAME": two hexadecimal numbers and the rest of the line
 * (tools/perf/Documentation/jit-interface.txt of the kernel).  OpenJDK and Erlang write 0x
 * before the numbers, against that text; perf reads them all the same.  Most compilers only
 * append: the file is read as far as it has whole lines, and on from there when it has grown.
 * Others write all that there is into it, in place, each time they are asked (OpenJDK): one that
 * has been replaced, or written anew as far as that is seen, is read from its beginning.
 *
 * Anyone may put a file there, so it is used only if it is a regular file that belongs to
 * the effective user; else one line says so.  One that was last written before this process began
 * is an earlier process's of the same id, and is left alone.
 *
 * Threads: the producer.  Memory: the arena (a buffer; what is read goes into the map).
 */
#ifndef HS_SYMBOLIZE_PERF_MAP_H
#define HS_SYMBOLIZE_PERF_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/jit_map.h"

/* The longest line that is understood, with its newline; and the size of one read. */
#define HS_PERF_MAP_LINE_BYTES 65536

/* So much of what was read last is compared before the file is read on: some lines. */
#define HS_PERF_MAP_END_BYTES 1024

/* All zero: nothing read yet, of a process that began long ago. */
struct hs_perf_map {
	int64_t begun_ns; /* the wall clock when the process began, or its parent */
	char *buffer;
	uint64_t device;
	uint64_t inode;
	uint64_t bytes;      /* with modified_ns: what stat(2) said before the last reading */
	int64_t modified_ns; /* since 1970 */
	uint64_t offset;     /* up to here the file has been read */
	uint32_t end_bytes;
	char end[HS_PERF_MAP_END_BYTES]; /* what stood before the offset */
	bool more;                       /* behind the offset, when reading ended */
	bool in_line;                    /* offset is inside of a line that is too long */
	bool refused;                    /* a file was not used, and the line is written */
};

void hs_perf_map_fini(struct hs_perf_map *perf);

/*
 * Reads on, most_bytes at most, if the file has changed; otherwise costs a stat(2).  In a forked
 * child it is another file.  Counted: jit_skipped.
 * Returns whether there is more to read.
 */
bool hs_perf_map_read(struct hs_perf_map *perf, struct hs_jit_map *map, uint64_t most_bytes);

#endif
