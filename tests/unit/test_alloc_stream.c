/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stream's packets, byte by byte and as Perfetto's schema says, and its file, in a
 * scratch directory of the test's own.
 */
#include "output/alloc_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/sys.h"
#include "check.h"
#include "output/proto/alloc_stream.pb-c.h"

static char scratch[64];
static struct hs_alloc_stream stream;

static const struct hs_stream_event allocation = {
	.heap = 1,
	.address = 0x7f0000001230,
	.size = 300,
	.sample_bytes = 524288,
	.time_ns = 1000000000,
	.sequence = 129,
};
static const struct hs_stream_event release = {
	.is_free = true,
	.heap = 1,
	.address = 0x7f0000001230,
	.time_ns = 1000000001,
	.sequence = 130,
};

static void packets_are_as_the_schema_says(void)
{
	static const unsigned char want[] = {
		0x0a, 29,                                             /* Trace.packet */
		0xd2, 0x04, 26,                                       /* .streaming_allocation */
		0x08, 0xb0, 0xa4, 0x80, 0x80, 0x80, 0xe0, 0x1f,       /* .address = 1 */
		0x10, 0xac, 0x02,                                     /* .size = 2 */
		0x18, 0x80, 0x80, 0x20,                               /* .sample_size = 3 */
		0x20, 0x80, 0x94, 0xeb, 0xdc, 0x03,                   /* .clock_mono... = 4 */
		0x28, 0x01,                                           /* .heap_id = 5 */
		0x30, 0x81, 0x01,                                     /* .sequence_number = 6 */
		0x0a, 25,
		0x40, 0x81, 0x94, 0xeb, 0xdc, 0x03,                   /* .timestamp = 8 */
		0xd0, 0x03, 4,                                        /* .timestamp_clock_id = 58 */
		0xda, 0x04, 13,                                       /* .streaming_free = 75 */
		0x08, 0xb0, 0xa4, 0x80, 0x80, 0x80, 0xe0, 0x1f,       /* .address = 1 */
		0x10, 0x01,                                           /* .heap_id = 2 */
		0x18, 0x82, 0x01,                                     /* .sequence_number = 3 */
	};

	CHECK(hs_alloc_stream_add(&stream, &allocation));
	CHECK(hs_alloc_stream_add(&stream, &release));
	CHECK_INT(stream.used, sizeof want);
	for (size_t i = 0; i < sizeof want && i < stream.used; i++)
		CHECK_INT(stream.buffer[i], want[i]);
	stream.used = 0;
}

/* The largest packet has a length of one byte, and fits into the room kept for a packet. */
static void the_largest_numbers_fit(void)
{
	struct hs_stream_event event = {
		.after_loss = true,
		.heap = UINT32_MAX,
		.address = UINT64_MAX,
		.size = UINT64_MAX,
		.sample_bytes = UINT64_MAX,
		.time_ns = UINT64_MAX,
		.sequence = UINT64_MAX,
	};
	Perfetto__Protos__Trace *trace;

	while (hs_alloc_stream_add(&stream, &event))
		CHECK(stream.used <= HS_ALLOC_STREAM_BYTES);
	stream.used = 0;
	for (int i = 0; i < 2; i++, event.is_free = true)
		CHECK(hs_alloc_stream_add(&stream, &event));
	trace = perfetto__protos__trace__unpack(NULL, stream.used, stream.buffer);
	CHECK(trace != NULL && trace->n_packet == 2);
	if (trace == NULL || trace->n_packet != 2)
		return;
	CHECK_INT(trace->packet[0]->previous_packet_dropped, 1);
	CHECK(trace->packet[0]->streaming_allocation->sequence_number[0] == UINT64_MAX);
	CHECK(trace->packet[1]->timestamp == UINT64_MAX);
	CHECK(trace->packet[1]->streaming_free->sequence_number[0] == UINT64_MAX);
	perfetto__protos__trace__free_unpacked(trace, NULL);
	stream.used = 0;
}

static size_t file_bytes(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 ? (size_t)file.st_size : 0;
}

/* Fills the buffer.  Returns how many events it holds. */
static size_t fill(void)
{
	size_t count = 0;

	while (hs_alloc_stream_add(&stream, &allocation))
		count++;
	return count;
}

static void a_full_buffer_is_flushed(void)
{
	size_t before, count;

	CHECK_INT(hs_alloc_stream_open(&stream, "full", false), 0);
	before = file_bytes("full");
	CHECK(before > 0);
	count = fill();
	CHECK(count > 1000 && stream.used <= HS_ALLOC_STREAM_BYTES);
	CHECK_INT(file_bytes("full"), before);
	CHECK_INT(hs_alloc_stream_flush(&stream), 0);
	CHECK_INT(stream.used, 0);
	CHECK_INT(file_bytes("full"), before + 31 * count);
	CHECK_INT(fill(), count);
	CHECK_INT(hs_alloc_stream_flush(&stream), 0);
	CHECK_INT(file_bytes("full"), before + 2 * 31 * count);
	hs_alloc_stream_forget(&stream);
	unlink("full");
}

static void the_file_begins_with_clocks(void)
{
	unsigned char bytes[256];
	uint64_t before = hs_sys_clock_ns(CLOCK_MONOTONIC_COARSE);
	uint64_t booted = hs_sys_clock_ns(CLOCK_BOOTTIME), wall = hs_sys_clock_ns(CLOCK_REALTIME);
	Perfetto__Protos__ClockSnapshot *clocks;
	Perfetto__Protos__Trace *trace;
	ssize_t got;
	int fd;

	CHECK_INT(hs_alloc_stream_open(&stream, "clocks", false), 0);
	fd = open("clocks", O_RDONLY);
	got = read(fd, bytes, sizeof bytes);
	close(fd);
	trace = perfetto__protos__trace__unpack(NULL, got > 0 ? (size_t)got : 0, bytes);
	CHECK(trace != NULL && trace->n_packet == 1 && trace->packet[0]->clock_snapshot != NULL);
	if (trace == NULL || trace->n_packet != 1 || trace->packet[0]->clock_snapshot == NULL)
		return;
	clocks = trace->packet[0]->clock_snapshot;
	CHECK_INT(clocks->n_clocks, 3);
	CHECK_INT(clocks->clocks[0]->clock_id, 4);
	CHECK(clocks->clocks[0]->timestamp >= before);
	CHECK(clocks->clocks[0]->timestamp <= hs_sys_clock_ns(CLOCK_MONOTONIC_COARSE));
	CHECK_INT(clocks->clocks[1]->clock_id, 6);
	CHECK(clocks->clocks[1]->timestamp >= booted);
	CHECK(clocks->clocks[1]->timestamp <= hs_sys_clock_ns(CLOCK_BOOTTIME));
	CHECK_INT(clocks->clocks[2]->clock_id, 1);
	/* Unless it is set back meanwhile. */
	CHECK(clocks->clocks[2]->timestamp > wall / 2);
	perfetto__protos__trace__free_unpacked(trace, NULL);
	hs_alloc_stream_forget(&stream);
	unlink("clocks");
}

static long no_space(long number)
{
	return number == SYS_write ? -ENOSPC : 0;
}

static void failed_writes_are_told(void)
{
	CHECK_INT(hs_alloc_stream_open(&stream, "failed", false), 0);
	CHECK(hs_alloc_stream_add(&stream, &allocation));
	atomic_store(&hs_sys_fault, no_space);
	CHECK_INT(hs_alloc_stream_flush(&stream), -ENOSPC);
	CHECK_INT(stream.used, 0);
	hs_alloc_stream_forget(&stream);
	CHECK_INT(hs_alloc_stream_open(&stream, "failed", false), -ENOSPC);
	atomic_store(&hs_sys_fault, NULL);
	hs_alloc_stream_forget(&stream);
	unlink("failed");
}

/* The program has closed all descriptors, and a file of its own has got ours. */
static void another_file_is_not_written_to(void)
{
	int other;

	CHECK_INT(hs_alloc_stream_open(&stream, "ours", false), 0);
	CHECK(hs_alloc_stream_add(&stream, &allocation));
	other = open("other", O_WRONLY | O_CREAT, 0600);
	CHECK_INT(dup2(other, stream.file.own.fd), stream.file.own.fd);
	CHECK_INT(hs_alloc_stream_flush(&stream), -EBADF);
	CHECK_INT(file_bytes("other"), 0);
	CHECK_INT(close(stream.file.own.fd), 0);
	CHECK_INT(hs_alloc_stream_flush(&stream), -EBADF);
	/* A file is forgotten: a descriptor that is not ours stays open, and no event is left. */
	CHECK_INT(dup2(other, stream.file.own.fd), stream.file.own.fd);
	other = stream.file.own.fd;
	CHECK(hs_alloc_stream_add(&stream, &allocation));
	hs_alloc_stream_forget(&stream);
	CHECK_INT(stream.used, 0);
	CHECK(!stream.file.own.is_open);
	CHECK_INT(close(other), 0);
	unlink("ours");
	unlink("other");
}

static void what_has_the_name_is_replaced_or_refused(void)
{
	struct stat null, status;
	int fd = open("old", O_WRONLY | O_CREAT, 0644);

	CHECK_INT(link("old", "same"), 0);
	CHECK_INT(write(fd, "content", 7), 7);
	close(fd);
	CHECK_INT(hs_alloc_stream_open(&stream, "old", false), 0);
	CHECK_INT(fstat(stream.file.own.fd, &status), 0);
	CHECK_INT(status.st_mode & 07777, 0600);
	hs_alloc_stream_forget(&stream);
	CHECK_INT(file_bytes("same"), 7);
	CHECK(file_bytes("old") > 7);
	unlink("old");
	unlink("same");
	CHECK_INT(mkfifo("fifo", 0600), 0);
	CHECK_INT(hs_alloc_stream_open(&stream, "fifo", false), -EEXIST);
	unlink("fifo");
	CHECK_INT(symlink("/dev/null", "null"), 0);
	CHECK_INT(hs_alloc_stream_open(&stream, "null", false), -EEXIST);
	CHECK(lstat("null", &null) == 0 && S_ISLNK(null.st_mode));
	unlink("null");
	/* A profile would replace it too. */
	CHECK_INT(symlink("missing", "dangling"), 0);
	CHECK_INT(hs_alloc_stream_open(&stream, "dangling", false), 0);
	hs_alloc_stream_forget(&stream);
	CHECK(lstat("dangling", &null) == 0 && S_ISREG(null.st_mode));
	unlink("dangling");
	CHECK_INT(hs_alloc_stream_open(&stream, scratch, false), -EEXIST);
	CHECK_INT(hs_alloc_stream_open(&stream, "no/such", false), -ENOENT);
	CHECK(!stream.file.own.is_open);
}

/* Shells and daemons choose low numbers for their own files: ours must be a high one. */
static void the_descriptor_is_out_of_the_way(void)
{
	struct rlimit all, few;
	int next = open("/dev/null", O_RDONLY);

	close(next);
	getrlimit(RLIMIT_NOFILE, &all);
	CHECK_INT(hs_alloc_stream_open(&stream, "high", false), 0);
	hs_dump_file_close_other(&stream.file);
	CHECK(all.rlim_cur < 256 || stream.file.own.fd >= 200);
	/* Nor so high that the kernel's table of descriptors is large. */
	CHECK(stream.file.own.fd < 1024);
	CHECK_INT(fcntl(stream.file.own.fd, F_GETFD), FD_CLOEXEC);
	CHECK_INT(open("/dev/null", O_RDONLY), next);
	close(next);
	hs_alloc_stream_forget(&stream);
	few = all;
	few.rlim_cur = all.rlim_cur < 256 ? all.rlim_cur : 256;
	setrlimit(RLIMIT_NOFILE, &few);
	CHECK_INT(hs_alloc_stream_open(&stream, "high", false), 0);
	CHECK(few.rlim_cur < 256 || stream.file.own.fd >= 200);
	hs_alloc_stream_forget(&stream);
	few.rlim_cur = (rlim_t)next + 1;
	setrlimit(RLIMIT_NOFILE, &few);
	CHECK_INT(hs_alloc_stream_open(&stream, "high", false), 0);
	CHECK_INT(stream.file.own.fd, next);
	hs_alloc_stream_forget(&stream);
	setrlimit(RLIMIT_NOFILE, &all);
	unlink("high");
}

static void no_memory_is_told(void)
{
	struct hs_alloc_stream other;
	size_t budget = hs_arena_budget();

	hs_arena_set_budget(hs_arena_used());
	CHECK_INT(hs_alloc_stream_init(&other), -ENOMEM);
	hs_arena_set_budget(budget);
}

int main(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(scratch, sizeof scratch, "%s/hs_alloc_stream.XXXXXX",
		 base != NULL && strlen(base) < 32 ? base : "/tmp");
	if (mkdtemp(scratch) == NULL || chdir(scratch) != 0)
		SKIP("no scratch directory");
	CHECK_INT(hs_arena_init(64 << 20), 0);
	CHECK_INT(hs_alloc_stream_init(&stream), 0);
	RUN(packets_are_as_the_schema_says);
	RUN(the_largest_numbers_fit);
	RUN(a_full_buffer_is_flushed);
	RUN(the_file_begins_with_clocks);
	RUN(failed_writes_are_told);
	RUN(another_file_is_not_written_to);
	RUN(what_has_the_name_is_replaced_or_refused);
	RUN(the_descriptor_is_out_of_the_way);
	RUN(no_memory_is_told);
	CHECK_INT(rmdir(scratch), 0);
	return CHECK_RESULT();
}
