/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of allocations and frees as they happen: a Perfetto trace, one packet per event
 * (proto/alloc_stream.proto), the first one a clock snapshot.
 *
 * Only whole packets are handed to the kernel, in order, so a file that is cut anywhere is
 * readable up to its last whole packet.  Between two writes events wait in a buffer of fixed
 * size.
 *
 * Threads: the producer.  Memory: the buffer, of the arena.  Descriptors: one while open,
 * with a high number, out of the way of a program that chooses its own.
 */
#ifndef HS_OUTPUT_ALLOC_STREAM_H
#define HS_OUTPUT_ALLOC_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/dump_file.h"

/* The buffer. */
#define HS_ALLOC_STREAM_BYTES ((size_t)64 << 10)

struct hs_stream_event {
	bool is_free;          /* size and sample_bytes are not used then */
	bool after_loss;       /* events that should have come before are missing */
	uint32_t heap;         /* sample/heap_id.h */
	uint64_t address;
	uint64_t size;         /* requested bytes */
	uint64_t sample_bytes; /* bytes that the sample stands for */
	uint64_t time_ns;      /* CLOCK_MONOTONIC_COARSE */
	uint64_t sequence;
};

struct hs_alloc_stream {
	struct hs_dump_file file; /* .fd is -1 while it is closed */
	unsigned char *buffer;
	size_t used;
};

/* Make the buffer; no file is open then.  0 or -ENOMEM. */
int hs_alloc_stream_init(struct hs_alloc_stream *stream);

/*
 * Create the file and write its clock snapshot.  A regular file of that name is replaced.
 * 0 or -errno: -EEXIST where there is something else of that name.
 */
int hs_alloc_stream_open(struct hs_alloc_stream *stream, const char *path);

/* Put an event into the buffer.  False if there is no room: flush, then try again. */
bool hs_alloc_stream_add(struct hs_alloc_stream *stream, const struct hs_stream_event *event);

/*
 * Write what is in the buffer, which is empty then in any case.  0 or -errno: -EBADF if the
 * program has closed the descriptor, or it is another file's now.
 */
int hs_alloc_stream_flush(struct hs_alloc_stream *stream);

/* Let go of the file and forget what is in the buffer: in a forked child both are the parent's. */
void hs_alloc_stream_forget(struct hs_alloc_stream *stream);

#endif
