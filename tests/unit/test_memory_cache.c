/* SPDX-License-Identifier: BSD-2-Clause */
#include "unwind/memory_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/libraries.h"
#include "base/sys.h"
#include "check.h"
#include "unwind/eh_frame_hdr.h"
#include "unwind/pc_lookup.h"
#include "unwind/unwinder.h"

#define PAGE ((size_t)4096)
/* More than the cache holds. */
#define PAGES ((size_t)3000)

static struct hs_mapping_table *table;
static struct hs_memory_cache *cache;
static unsigned char *pages;

static void begin(void)
{
	pages = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	CHECK(pages != MAP_FAILED);
	for (size_t i = 0; i < PAGES * PAGE; i += 8)
		memcpy(pages + i, &i, sizeof i);
	CHECK_INT(mprotect(pages, PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	table = hs_mapping_table_create();
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	cache = hs_memory_cache_create(table);
	CHECK(cache != NULL);
}

static void end(void)
{
	munmap(pages, (PAGES + 1) * PAGE);
	hs_memory_cache_destroy(cache);
	hs_mapping_table_destroy(table);
}

static void check_read(size_t offset)
{
	uint64_t got = 0, want;

	memcpy(&want, pages + offset, sizeof want);
	CHECK_INT(hs_memory_cache_read(cache, (uintptr_t)pages + offset, &got, sizeof got), 0);
	CHECK_INT(got, want);
}

static void test_reads(void)
{
	unsigned seed = 7;

	begin();
	for (int i = 0; i < 50000; i++)
		check_read((size_t)rand_r(&seed) % (PAGES * PAGE - 8));
	/* Reads close together, so that pages are found again, and reads across page ends. */
	for (size_t offset = 5 * PAGE - 100; offset < 5 * PAGE + 100; offset++)
		check_read(offset);
	end();
}

static void test_refused(void)
{
	uint64_t word;

	begin();
	CHECK_INT(hs_memory_cache_read(cache, (uintptr_t)&word, &word, 8), -EFAULT);
	CHECK_INT(hs_memory_cache_read(cache, (uintptr_t)pages + PAGES * PAGE, &word, 8), -EFAULT);
	CHECK_INT(hs_memory_cache_read(cache, (uintptr_t)pages + PAGES * PAGE - 7, &word, 8),
		  -EFAULT);
	CHECK_INT(hs_memory_cache_read(cache, 0, &word, 8), -EFAULT);
	CHECK_INT(hs_memory_cache_read(cache, UINT64_MAX - 3, &word, 8), -EFAULT);
	/* Readable by the table, but gone. */
	munmap(pages + PAGE, PAGE);
	CHECK_INT(hs_memory_cache_read(cache, (uintptr_t)pages + PAGE, &word, 8), -EFAULT);
	CHECK_INT(hs_memory_cache_read(cache, (uintptr_t)pages + PAGE - 4, &word, 8), -EFAULT);
	end();
}

/* A JIT compiler writes into its pages without a change in the maps. */
static void test_changing_memory(void)
{
	uint64_t changed = 0x1234567890;

	begin();
	check_read(64);
	memcpy(pages + 64, &changed, sizeof changed);
	hs_memory_cache_forget_changing(cache);
	check_read(64);
	/* Or when the maps were read again. */
	memset(pages + 64, 77, sizeof changed);
	hs_memory_cache_drop_stale(cache);
	check_read(64);
	end();
}

/* One that writes by another mapping of the same memory, as .NET's. */
static void test_changing_file_in_memory(void)
{
	uint64_t written = 0x1234567890, got = 0;
	int fd = memfd_create("doublemapper", 0);
	unsigned char *code, *writable;

	CHECK_INT(ftruncate(fd, PAGE), 0);
	code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	writable = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(code != MAP_FAILED && writable != MAP_FAILED);
	begin();
	CHECK_INT(hs_memory_cache_read(cache, (uintptr_t)code + 64, &got, sizeof got), 0);
	CHECK_INT(got, 0);
	memcpy(writable + 64, &written, sizeof written);
	hs_memory_cache_forget_changing(cache);
	CHECK_INT(hs_memory_cache_read(cache, (uintptr_t)code + 64, &got, sizeof got), 0);
	CHECK_INT(got, written);
	munmap(code, PAGE);
	munmap(writable, PAGE);
	close(fd);
	end();
}

static unsigned char *library; /* until it is closed */
static int library_fd;

/* While its page is read.  Another page of code comes in its place. */
static long close_library(long number)
{
	void *other;

	if (number == SYS_process_vm_readv && library != NULL) {
		other = mmap(library, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			     library_fd, PAGE);
		CHECK(other == library);
		library = NULL;
		hs_close_begins();
		hs_close_ends(true);
	}
	return 0;
}

/* What was read may be of what has come in its place; and another page had the room before. */
static void test_library_closed_meanwhile(void)
{
	uintptr_t address;
	uint64_t word;

	library_fd = open("/proc/self/exe", O_RDONLY);
	library = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, library_fd, 0);
	address = (uintptr_t)library;
	begin();
	CHECK(hs_mapping_table_is_readable(table, address, PAGE));
	for (size_t i = 0; i < PAGES; i++)
		check_read(i * PAGE);
	hs_sys_fault = close_library;
	CHECK_INT(hs_memory_cache_read(cache, address, &word, sizeof word), -EFAULT);
	hs_sys_fault = NULL;
	CHECK(library == NULL);
	for (size_t i = PAGES; i-- > 0;)
		check_read(i * PAGE);
	munmap((void *)address, PAGE);
	close(library_fd);
	end();
}

/* What was at an address before is forgotten when the maps have changed. */
static void test_forgotten_with_the_maps(void)
{
	static struct hs_pc_lookup lookup;
	struct hs_captured captured = {.closes = hs_closes_now(),
				       .closes_unwaited = hs_closes_unwaited()};
	int fd = open("/proc/self/exe", O_RDONLY);
	void *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	unsigned char bytes[16];

	begin();
	CHECK_INT(hs_pc_lookup_init(&lookup, table, NULL), 0);
	for (int i = 0; i < 2; i++) {
		hs_pc_lookup_begin(&lookup, &captured);
		CHECK_INT(hs_memory_cache_read(lookup.memory, (uintptr_t)code, bytes, 16), 0);
		CHECK(memcmp(bytes, code, sizeof bytes) == 0);
		CHECK(mmap(code, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, PAGE) ==
		      code);
		CHECK_INT(hs_mapping_table_refresh(table), 0);
	}
	hs_pc_lookup_fini(&lookup);
	munmap(code, PAGE);
	close(fd);
	end();
}

static void test_eh_frame_hdr(void)
{
	static const unsigned char good[12] = { 1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 5, 0, 0, 0 };
	unsigned char header[12];
	struct hs_search_table found;

	CHECK(hs_eh_frame_hdr_parse(good, sizeof good, 12 + 5 * 8, &found));
	CHECK_INT(found.entries, 12);
	CHECK_INT(found.count, 5);
	CHECK(!hs_eh_frame_hdr_parse(good, sizeof good, 12 + 5 * 8 - 1, &found));
	CHECK(!hs_eh_frame_hdr_parse(good, 11, 12 + 5 * 8, &found));
	CHECK(!hs_eh_frame_hdr_parse(good, 3, 3, &found));
	for (unsigned i = 0; i < 4; i++) {
		memcpy(header, good, sizeof header);
		header[i] = 0xff;
		CHECK(!hs_eh_frame_hdr_parse(header, sizeof header, 1000, &found));
	}
	memcpy(header, good, sizeof header);
	header[8] = 0;
	CHECK(!hs_eh_frame_hdr_parse(header, sizeof header, 1000, &found));
	memset(header + 8, 0xff, 4);
	CHECK(!hs_eh_frame_hdr_parse(header, sizeof header, 1000, &found));
}

int main(void)
{
	if (hs_arena_init((size_t)256 << 20) < 0)
		return 99;
	RUN(test_reads);
	RUN(test_refused);
	RUN(test_changing_memory);
	RUN(test_changing_file_in_memory);
	RUN(test_library_closed_meanwhile);
	RUN(test_forgotten_with_the_maps);
	RUN(test_eh_frame_hdr);
	return CHECK_RESULT();
}
