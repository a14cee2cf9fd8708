/* SPDX-License-Identifier: BSD-2-Clause */
/* Which packets of a stream say that events before them are missing.  In a scratch directory. */
#include <fcntl.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/options.h"
#include "base/stats.h"
#include "check.h"
#include "output/proto/alloc_stream.pb-c.h"
#include "profile/commit_order.h"
#include "sample/heap.h"
#include "sample/sequence.h"
#include "sample_testing.h"
#include "session/profiles.h"
#include "session/session_state.h"

enum { EVENTS_MOST = 32 };

static char scratch[64];
static struct {
	uint64_t number;
	bool after_loss;
} wanted[EVENTS_MOST];
static size_t wanted_count;

static void add(bool after_loss)
{
	const struct hs_heap_event event = {
		.kind = HS_HEAP_EVENT_ALLOCATION,
		.heap = HS_HEAP_MALLOC,
		.size = 8,
		.weight = HS_WEIGHT_ONE,
	};
	uint64_t number = atomic_fetch_add(&hs_sequence.next, 1);

	CHECK(wanted_count < EVENTS_MOST);
	wanted[wanted_count].number = number;
	wanted[wanted_count++].after_loss = after_loss;
	hs_stream_add(number, &event);
}

/* Writes what was added, which must be all that a file has after its clocks. */
static void expect_file(const char *path)
{
	unsigned char bytes[4096];
	Perfetto__Protos__Trace *trace;
	ssize_t got;
	int fd;

	hs_stream_flush();
	fd = open(path, O_RDONLY);
	got = read(fd, bytes, sizeof bytes);
	close(fd);
	unlink(path);
	trace = perfetto__protos__trace__unpack(NULL, got > 0 ? (size_t)got : 0, bytes);
	CHECK(trace != NULL && trace->n_packet == 1 + wanted_count);
	for (size_t i = 0; trace != NULL && i < wanted_count && i + 1 < trace->n_packet; i++) {
		const Perfetto__Protos__TracePacket *packet = trace->packet[i + 1];

		CHECK_INT(packet->streaming_allocation->sequence_number[0], wanted[i].number);
		CHECK_INT(packet->previous_packet_dropped, wanted[i].after_loss);
	}
	perfetto__protos__trace__free_unpacked(trace, NULL);
	wanted_count = 0;
}

static void only_the_next_packet_tells_of_a_loss(void)
{
	add(false);
	add(false);
	hs_heap_add(HS_HEAP_MALLOC, lost_ring, 1);
	add(true);
	add(false);
	hs_heap_add(HS_HEAP_MALLOC, lost_live_set, 2);
	add(true);
	add(false);
	hs_stats_add(sequence_gaps, 1);
	add(true);
	add(false);
	hs_heap_add(HS_HEAP_MALLOC, lost_ring, 1);
	hs_heap_add(HS_HEAP_MALLOC, lost_live_set, 1);
	add(true);
	add(false);
	expect_file("a");
}

/* Numbers that other threads of the parent's had taken are not lost. */
static void a_child_tells_of_its_own_losses(void)
{
	hs_stats_add(sequence_gaps, 1);
	hs_stream_after_fork();
	hs_stats_add(sequence_gaps, 1);
	add(false);
	hs_stats_add(sequence_gaps, 1);
	add(true);
	add(false);
	hs_heap_add(HS_HEAP_MALLOC, lost_live_set, 1);
	add(true);
	expect_file("a");
	hs_stream_after_fork();
	hs_heap_add(HS_HEAP_MALLOC, lost_ring, 1);
	add(true);
	add(false);
	expect_file("a");
}

int main(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(scratch, sizeof scratch, "%s/hs_stream_losses.XXXXXX",
		 base != NULL && strlen(base) < 32 ? base : "/tmp");
	if (mkdtemp(scratch) == NULL || chdir(scratch) != 0)
		SKIP("no scratch directory");
	CHECK_INT(hs_arena_init(64 << 20), 0);
	snprintf(hs_options.stream, sizeof hs_options.stream, "a");
	CHECK_INT(live_init(1 << 10, 1 << 10), 0);
	CHECK_INT(hs_stream_init(), 0);
	hs_lock_acquire(&hs_session.producer_batch);
	RUN(only_the_next_packet_tells_of_a_loss);
	RUN(a_child_tells_of_its_own_losses);
	CHECK_INT(rmdir(scratch), 0);
	return CHECK_RESULT();
}
