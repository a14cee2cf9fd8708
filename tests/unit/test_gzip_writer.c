/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The gzip writer: zlib inflates what was written; failures of the file and
 * of memory are reported and leave nothing behind.
 */
#include "output/gzip_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/sys.h"
#include "check.h"
#include "output/dump_file.h"

#define BUDGET ((size_t)16 << 20)
#define INPUT_BYTES ((size_t)3 << 20)

static unsigned char input[INPUT_BYTES];

/* Half noise, half text: it fills the output buffer many times. */
static void fill_input(void)
{
	uint32_t state = 1;

	for (size_t i = 0; i < INPUT_BYTES; i++) {
		state = state * 1664525 + 1013904223;
		input[i] =
			i / 4096 % 2 ? (unsigned char)(state >> 24) : (unsigned char)('a' + i % 7);
	}
}

static int scratch_file(void)
{
	int fd = memfd_create("gzip", MFD_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static const struct hs_dump_file *file_of(int fd)
{
	static struct hs_dump_file file;

	CHECK_INT(hs_descriptor_note(&file.own, fd, NULL), 0);
	return &file;
}

/* Writes bytes in pieces; returns the first error. */
static int compress_into(int fd, const unsigned char *bytes, size_t count, size_t piece)
{
	struct hs_gzip_writer *writer = NULL;
	int error = hs_gzip_writer_open(file_of(fd), &writer);

	for (size_t at = 0; error == 0 && at < count; at += piece)
		error = hs_gzip_writer_write(writer, bytes + at,
					     piece < count - at ? piece : count - at);
	if (error == 0)
		error = hs_gzip_writer_finish(writer);
	hs_gzip_writer_close(writer);
	return error;
}

static size_t file_bytes(int fd, unsigned char *buffer, size_t capacity)
{
	ssize_t got = pread(fd, buffer, capacity, 0);

	CHECK(got >= 0);
	return got > 0 ? (size_t)got : 0;
}

/* Whether the file is exactly one gzip stream of bytes. */
static void check_inflates(int fd, const unsigned char *bytes, size_t count)
{
	static unsigned char packed[INPUT_BYTES + 65536];
	static unsigned char unpacked[INPUT_BYTES + 1];
	z_stream stream = {.next_in = packed, .next_out = unpacked, .avail_out = sizeof unpacked};

	stream.avail_in = (uInt)file_bytes(fd, packed, sizeof packed);
	CHECK_INT(inflateInit2(&stream, 15 + 16), Z_OK);
	CHECK_INT(inflate(&stream, Z_FINISH), Z_STREAM_END);
	CHECK_INT(stream.avail_in, 0);
	CHECK_INT(stream.total_out, count);
	CHECK(memcmp(unpacked, bytes, count) == 0);
	inflateEnd(&stream);
}

static void inflates_to_the_input(void)
{
	static const size_t pieces[] = {1, 17, 65536, INPUT_BYTES};

	for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
		size_t count = pieces[i] == 1 ? 100000 : INPUT_BYTES;
		int fd = scratch_file();

		CHECK_INT(compress_into(fd, input, count, pieces[i]), 0);
		check_inflates(fd, input, count);
		close(fd);
	}
}

/* Among them such whose end does not fit into what is left of the output's buffer. */
static void any_length_is_ended(void)
{
	for (size_t count = 380000; count < 400000; count += 1009) {
		int fd = scratch_file();

		CHECK_INT(compress_into(fd, input, count, count), 0);
		check_inflates(fd, input, count);
		close(fd);
	}
}

static void empty_input_is_a_stream(void)
{
	int fd = scratch_file();

	CHECK_INT(compress_into(fd, input, 0, 1), 0);
	check_inflates(fd, input, 0);
	close(fd);
}

static void header_has_no_time_or_name(void)
{
	unsigned char header[10];
	int fd = scratch_file();

	CHECK_INT(compress_into(fd, input, 1000, 1000), 0);
	CHECK_INT(file_bytes(fd, header, sizeof header), sizeof header);
	CHECK(memcmp(header, "\x1f\x8b\x08\0\0\0\0\0", 8) == 0);
	close(fd);
}

static void equal_input_gives_equal_bytes(void)
{
	static unsigned char outputs[2][INPUT_BYTES];
	size_t lengths[2];

	for (int i = 0; i < 2; i++) {
		int fd = scratch_file();
		CHECK_INT(compress_into(fd, input, INPUT_BYTES, i == 0 ? 999 : 65536), 0);
		lengths[i] = file_bytes(fd, outputs[i], INPUT_BYTES);
		close(fd);
	}
	CHECK_INT(lengths[0], lengths[1]);
	CHECK(memcmp(outputs[0], outputs[1], lengths[0]) == 0);
}

static int writes_before_fault, faults_left = INT_MAX;
static long fault_value;
static int writes_seen;

static long fail_write(long number)
{
	if (number != SYS_write)
		return 0;
	writes_seen++;
	if (writes_before_fault > 0) {
		writes_before_fault--;
		return 0;
	}
	return faults_left-- > 0 ? fault_value : 0;
}

static void full_disk_is_reported(void)
{
	size_t before = hs_arena_used();
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_INT(compress_into(fd, input, 100, 100), -ENOSPC);
	CHECK_INT(compress_into(fd, input, INPUT_BYTES, 65536), -ENOSPC);
	close(fd);

	fd = scratch_file();
	fault_value = -ENOSPC;
	atomic_store(&hs_sys_fault, fail_write);
	for (int after = 0; after < 3; after++) {
		writes_before_fault = after;
		CHECK_INT(compress_into(fd, input, INPUT_BYTES, 65536), -ENOSPC);
	}
	atomic_store(&hs_sys_fault, NULL);
	close(fd);
	CHECK_INT(hs_arena_used(), before);
}

static void failure_lasts(void)
{
	struct hs_gzip_writer *writer = NULL;
	int fd = scratch_file();
	int seen;

	CHECK_INT(hs_gzip_writer_open(file_of(fd), &writer), 0);
	fault_value = -ENOSPC;
	writes_before_fault = 0;
	faults_left = 1;
	seen = writes_seen;
	atomic_store(&hs_sys_fault, fail_write);
	CHECK_INT(hs_gzip_writer_write(writer, input, INPUT_BYTES), -ENOSPC);
	CHECK_INT(hs_gzip_writer_write(writer, input, INPUT_BYTES), -ENOSPC);
	CHECK_INT(hs_gzip_writer_finish(writer), -ENOSPC);
	atomic_store(&hs_sys_fault, NULL);
	CHECK_INT(writes_seen, seen + 1);
	faults_left = INT_MAX;
	hs_gzip_writer_close(writer);
	close(fd);
}

static long interrupt_every_other_write(long number)
{
	static bool interrupt;

	if (number != SYS_write)
		return 0;
	interrupt = !interrupt;
	return interrupt ? -EINTR : 0;
}

static void interrupted_writes_go_on(void)
{
	int fd = scratch_file();

	atomic_store(&hs_sys_fault, interrupt_every_other_write);
	CHECK_INT(compress_into(fd, input, INPUT_BYTES, 4096), 0);
	atomic_store(&hs_sys_fault, NULL);
	check_inflates(fd, input, INPUT_BYTES);
	close(fd);
}

static void writes_are_buffered(void)
{
	int fd = scratch_file();
	off_t bytes;

	writes_seen = 0;
	writes_before_fault = 1 << 30;
	atomic_store(&hs_sys_fault, fail_write);
	CHECK_INT(compress_into(fd, input, INPUT_BYTES, 100), 0);
	atomic_store(&hs_sys_fault, NULL);
	bytes = lseek(fd, 0, SEEK_END);
	CHECK_INT(writes_seen, (bytes + 65535) / 65536);
	close(fd);
}

/* With any budget the result is success, or -ENOMEM with nothing left behind. */
static void used_up_memory_is_reported(void)
{
	size_t before = hs_arena_used();
	int failures = 0;
	int fd = scratch_file();

	for (size_t budget = 0; budget < 1 << 20; budget += 8192) {
		struct hs_gzip_writer *writer = NULL;
		int error;

		hs_arena_set_budget(before + budget);
		error = hs_gzip_writer_open(file_of(fd), &writer);
		CHECK(error == 0 || error == -ENOMEM);
		CHECK(error == 0 || writer == NULL);
		failures += error != 0;
		hs_gzip_writer_close(writer);
		CHECK_INT(hs_arena_used(), before);
	}
	hs_arena_set_budget(BUDGET);
	CHECK(failures > 8);
	CHECK(failures < 64); /* 512 KiB are enough */
	close(fd);
}

/* The program closes our descriptor and opens a file of its own: nothing is written to that. */
static void another_file_is_not_written_to(void)
{
	struct hs_gzip_writer *writer = NULL;
	int fd = scratch_file(), other = scratch_file();

	CHECK_INT(hs_gzip_writer_open(file_of(fd), &writer), 0);
	CHECK_INT(hs_gzip_writer_write(writer, input, INPUT_BYTES / 2), 0);
	CHECK_INT(dup2(other, fd), fd);
	CHECK_INT(hs_gzip_writer_write(writer, input, INPUT_BYTES), -EBADF);
	CHECK_INT(hs_gzip_writer_finish(writer), -EBADF);
	hs_gzip_writer_close(writer);
	CHECK_INT(lseek(other, 0, SEEK_END), 0);

	/* At the end neither. */
	close(fd);
	fd = scratch_file();
	CHECK_INT(hs_gzip_writer_open(file_of(fd), &writer), 0);
	CHECK_INT(hs_gzip_writer_write(writer, input, 100), 0);
	CHECK_INT(dup2(other, fd), fd);
	CHECK_INT(hs_gzip_writer_finish(writer), -EBADF);
	hs_gzip_writer_close(writer);
	CHECK_INT(lseek(other, 0, SEEK_END), 0);
	close(fd);
	close(other);
}

int main(void)
{
	CHECK_INT(hs_arena_init(BUDGET), 0);
	fill_input();
	RUN(inflates_to_the_input);
	RUN(any_length_is_ended);
	RUN(empty_input_is_a_stream);
	RUN(header_has_no_time_or_name);
	RUN(equal_input_gives_equal_bytes);
	RUN(full_disk_is_reported);
	RUN(failure_lasts);
	RUN(interrupted_writes_go_on);
	RUN(writes_are_buffered);
	RUN(used_up_memory_is_reported);
	RUN(another_file_is_not_written_to);
	return CHECK_RESULT();
}
