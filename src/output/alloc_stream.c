/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes events as Perfetto packets, and writes them.  See alloc_stream.h. */
#include "output/alloc_stream.h"

#include <errno.h>
#include <time.h>

#include "base/arena.h"
#include "base/sys.h"
#include "output/proto/alloc_stream.pb-c.h"

/*
 * More than any packet takes with its tag and length.  The largest is an allocation's: five numbers
 * of at most 10 bytes and two of 5, their tags, and the message around them.  Below 128 the length
 * is one byte.
 */
#define PACKET_BYTES_MAX 128

/* Tag of Trace.packet: field 1, length-delimited. */
#define PACKET_TAG 0x0a

int hs_alloc_stream_init(struct hs_alloc_stream *stream)
{
	*stream = (struct hs_alloc_stream){0};
	stream->buffer = hs_arena_alloc(HS_ALLOC_STREAM_BYTES);
	return stream->buffer == NULL ? -ENOMEM : 0;
}

/* Clock ids of Perfetto's schema, see alloc_stream.proto. */
enum { CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC_COARSE = 4, CLOCK_ID_BOOTTIME = 6 };

/* Writes a packet with its tag and length.  Returns its bytes, at most PACKET_BYTES_MAX. */
static size_t pack(const Perfetto__Protos__TracePacket *packet, unsigned char *to)
{
	size_t bytes = perfetto__protos__trace_packet__pack(packet, to + 2);

	to[0] = PACKET_TAG;
	to[1] = (unsigned char)bytes;
	return 2 + bytes;
}

static int write_clocks(struct hs_alloc_stream *stream)
{
	static const clockid_t ids[] = {CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME, CLOCK_REALTIME};
	static const uint32_t numbers[] = {CLOCK_ID_MONOTONIC_COARSE, CLOCK_ID_BOOTTIME,
					   CLOCK_ID_REALTIME};
	enum { CLOCKS = sizeof ids / sizeof ids[0] };
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	Perfetto__Protos__ClockSnapshot__Clock clocks[CLOCKS], *list[CLOCKS];
	unsigned char bytes[PACKET_BYTES_MAX];
	size_t count;

	for (size_t i = 0; i < CLOCKS; i++) {
		perfetto__protos__clock_snapshot__clock__init(&clocks[i]);
		clocks[i].has_clock_id = clocks[i].has_timestamp = true;
		clocks[i].clock_id = numbers[i];
		clocks[i].timestamp = hs_sys_clock_ns(ids[i]);
		list[i] = &clocks[i];
	}
	snapshot.n_clocks = CLOCKS;
	snapshot.clocks = list;
	packet.clock_snapshot = &snapshot;
	count = pack(&packet, bytes);
	return hs_sys_write_all(stream->file.own.fd, bytes, count);
}

int hs_alloc_stream_open(struct hs_alloc_stream *stream, const char *path, bool is_new)
{
	int error = hs_dump_file_create(&stream->file, path, is_new);

	return error != 0 ? error : write_clocks(stream);
}

static size_t pack_allocation(Perfetto__Protos__TracePacket *packet,
			      const struct hs_stream_event *event, unsigned char *to)
{
	Perfetto__Protos__StreamingAllocation allocation =
		PERFETTO__PROTOS__STREAMING_ALLOCATION__INIT;
	struct hs_stream_event value = *event;
	size_t bytes;

	allocation.n_address = allocation.n_size = allocation.n_sample_size = 1;
	allocation.n_clock_monotonic_coarse_timestamp = allocation.n_heap_id = 1;
	allocation.n_sequence_number = 1;
	allocation.address = &value.address;
	allocation.size = &value.size;
	allocation.sample_size = &value.sample_bytes;
	allocation.clock_monotonic_coarse_timestamp = &value.time_ns;
	allocation.heap_id = &value.heap;
	allocation.sequence_number = &value.sequence;
	packet->streaming_allocation = &allocation;
	bytes = pack(packet, to);
	packet->streaming_allocation = NULL;
	return bytes;
}

static size_t pack_free(Perfetto__Protos__TracePacket *packet, const struct hs_stream_event *event,
			unsigned char *to)
{
	Perfetto__Protos__StreamingFree freed = PERFETTO__PROTOS__STREAMING_FREE__INIT;
	struct hs_stream_event value = *event;
	size_t bytes;

	freed.n_address = freed.n_heap_id = freed.n_sequence_number = 1;
	freed.address = &value.address;
	freed.heap_id = &value.heap;
	freed.sequence_number = &value.sequence;
	packet->streaming_free = &freed;
	/* Without a clock id a packet's time would be CLOCK_BOOTTIME's. */
	packet->has_timestamp = packet->has_timestamp_clock_id = true;
	packet->timestamp = event->time_ns;
	packet->timestamp_clock_id = CLOCK_ID_MONOTONIC_COARSE;
	bytes = pack(packet, to);
	packet->streaming_free = NULL;
	return bytes;
}

bool hs_alloc_stream_add(struct hs_alloc_stream *stream, const struct hs_stream_event *event)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	unsigned char *to = stream->buffer + stream->used;

	if (HS_ALLOC_STREAM_BYTES - stream->used < PACKET_BYTES_MAX)
		return false;
	if (event->after_loss) {
		packet.has_previous_packet_dropped = true;
		packet.previous_packet_dropped = 1;
	}
	stream->used += event->is_free ? pack_free(&packet, event, to)
				       : pack_allocation(&packet, event, to);
	return true;
}

int hs_alloc_stream_flush(struct hs_alloc_stream *stream)
{
	int error = hs_dump_file_write(&stream->file, stream->buffer, stream->used);

	stream->used = 0;
	return error;
}

void hs_alloc_stream_forget(struct hs_alloc_stream *stream)
{
	hs_dump_file_forget(&stream->file);
	stream->used = 0;
}
