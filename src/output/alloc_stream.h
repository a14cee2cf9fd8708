/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes allocations and frees into a file as they happen: a Perfetto trace with one packet per
 * event (proto/alloc_stream.proto), and a clock snapshot as its first packet.
 *
 * Events are buffered.  Only whole packets are handed to the kernel, in order, so a file that is
 * cut anywhere is readable up to its last whole packet.
 *
 * Called on: the producer.  Allocates: the buffer, from the arena.  Blocks: on writes.
 * Descriptors: one while open, with a high number, out of the way of a program that chooses its
 * own.
 */
#ifndef HS_OUTPUT_ALLOC_STREAM_H
#define HS_OUTPUT_ALLOC_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/dump_file.h"

/* The size of the buffer. */
#define HS_ALLOC_STREAM_BYTES ((size_t)64 << 10)

struct hs_stream_event {
	bool is_free;    /* then size and sample_bytes are not used */
	bool after_loss; /* events between the one before and this one are missing */
	uint32_t heap;   /* sample/heap_id.h */
	uint64_t address;
	uint64_t size;         /* requested bytes */
	uint64_t sample_bytes; /* bytes that the sample stands for */
	uint64_t time_ns;      /* CLOCK_MONOTONIC_COARSE */
	uint64_t sequence;     /* the event's number */
};

struct hs_alloc_stream {
	struct hs_dump_file file;
	unsigned char *buffer;
	size_t used; /* bytes of the buffer */
};

/* Makes the buffer; no file is open yet.  0 or -ENOMEM. */
int hs_alloc_stream_init(struct hs_alloc_stream *stream);

/*
 * Creates the file and writes its clock snapshot.  Replaces a regular file of that name, unless it
 * is to be new.  0 or -errno; -EEXIST: the name is taken.  To be followed by
 * hs_dump_file_close_other().
 */
int hs_alloc_stream_open(struct hs_alloc_stream *stream, const char *path, bool is_new);

/* Puts an event into the buffer.  False if there is no room: flush, then try again. */
bool hs_alloc_stream_add(struct hs_alloc_stream *stream, const struct hs_stream_event *event);

/*
 * Writes the buffer, and empties it whether that succeeds or not.  0 or -errno; -EBADF: the program
 * has closed the descriptor, and may have opened its own under that number.
 */
int hs_alloc_stream_flush(struct hs_alloc_stream *stream);

/* In a forked child: closes the file and empties the buffer.  Both are the parent's to write. */
void hs_alloc_stream_forget(struct hs_alloc_stream *stream);

#endif
