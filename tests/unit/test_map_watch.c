/* SPDX-License-Identifier: BSD-2-Clause */
#include "unwind/map_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/libraries.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "sample/sequence.h"
#include "unwind/memory_cache.h"
#include "unwind/unwinder.h"

#define PAGE ((size_t)4096)

static struct hs_map_watch watch;

static void begin(void)
{
	atomic_store(&hs_library_closes, 0);
	watch = (struct hs_map_watch){.table = hs_mapping_table_create()};
	CHECK(watch.table != NULL);
}

static void end(void)
{
	hs_mapping_table_destroy(watch.table);
}

static uint64_t reads(void)
{
	return hs_stats_get(map_reads);
}

/* A page of code from a file of its own, at address if that is not NULL. */
static unsigned char *map_file(void *address, char letter)
{
	char path[] = "/tmp/test_map_watch.XXXXXX", page[PAGE];
	int fd = mkstemp(path);
	void *mapped;

	memset(page, letter, sizeof page);
	CHECK(fd >= 0 && write(fd, page, sizeof page) == (ssize_t)sizeof page);
	mapped = mmap(address, PAGE, PROT_READ | PROT_EXEC,
		      MAP_PRIVATE | (address != NULL ? MAP_FIXED : 0), fd, 0);
	CHECK(mapped != MAP_FAILED);
	unlink(path);
	close(fd);
	return mapped;
}

static void follow_number(uint64_t number, hs_closes closes)
{
	struct hs_captured captured = {
		.closes = closes,
		.closes_unwaited = hs_closes_unwaited(),
		.number = number,
	};

	hs_map_watch_follow(&watch, &captured);
}

/* For a stack that was taken at `closes`, after the present closes that did not wait. */
static void follow(hs_closes closes)
{
	follow_number(0, closes);
}

static uint32_t find(const void *address)
{
	return hs_map_watch_find(&watch, (uintptr_t)address);
}

static void test_miss(void)
{
	unsigned char *code;
	uint32_t id;

	begin();
	CHECK(find((const void *)(uintptr_t)&test_miss) != HS_MAPPING_NONE);
	code = map_file(NULL, 'a');
	id = find(code);
	CHECK(id != HS_MAPPING_NONE);
	CHECK_INT(find(code + PAGE - 1), id);
	munmap(code, PAGE);
	end();
}

/* An address in no mapping does not keep the worker busy; but an opened library is noticed. */
static void test_misses_in_vain(void)
{
	static unsigned char data[1];
	uint64_t before;

	begin();
	CHECK_INT(find(data), HS_MAPPING_NONE);
	before = reads();
	for (int i = 0; i < 2000; i++)
		CHECK_INT(find(data), HS_MAPPING_NONE);
	CHECK(reads() > before && reads() - before < 200);
	before = reads();
	watch.refresh_again_ns = UINT64_MAX;
	CHECK_INT(find(data), HS_MAPPING_NONE);
	CHECK_INT(reads(), before);
	atomic_fetch_add(&hs_library_opens, 1);
	CHECK_INT(find(data), HS_MAPPING_NONE);
	CHECK_INT(reads(), before + 1);
	end();
}

/* A look-up that was not in vain does not count: a compiler may map new code again and again. */
static void test_found_misses(void)
{
	unsigned char *code;

	begin();
	for (int i = 0; i < 20; i++) {
		code = map_file(NULL, 'a');
		watch.refresh_again_ns = UINT64_MAX;
		CHECK(find(code) != HS_MAPPING_NONE);
	}
	end();
}

static bool maps_are_readable = true;

static long refuse_open(long number)
{
	return number == SYS_openat && !maps_are_readable ? -EACCES : 0;
}

static void refuse_maps(bool refuse)
{
	maps_are_readable = !refuse;
	atomic_store(&hs_sys_fault, refuse ? refuse_open : NULL);
}

/* While a library is closed, one reading of the maps is enough for all stacks taken before it. */
static void test_many_while_closing(void)
{
	uint64_t before, number = 100;
	hs_closes closes;

	begin();
	CHECK(find((const void *)(uintptr_t)&test_miss) != HS_MAPPING_NONE);
	hs_close_begins();
	closes = hs_closes_now();
	atomic_store(&hs_sequence.next, number);
	before = reads();
	follow_number(50, closes);
	CHECK_INT(reads(), before + 1);
	for (uint64_t older = 51; older < number; older++)
		follow_number(older, closes);
	CHECK_INT(reads(), before + 1);
	follow_number(number, closes);
	CHECK_INT(reads(), before + 2);
	/* A reading that failed does not count. */
	atomic_store(&hs_sequence.next, number + 2);
	refuse_maps(true);
	follow_number(number, closes);
	refuse_maps(false);
	before = reads();
	follow_number(number + 1, closes);
	CHECK_INT(reads(), before + 1);
	hs_close_ends(false);
	end();
}

/* Maps code, finds it (*id), and replaces it by another file's code. */
static unsigned char *replace_found(uint32_t *id)
{
	unsigned char *code = map_file(NULL, 'a');

	*id = find(code);
	return map_file(code, 'b');
}

static void test_newer_stack(void)
{
	unsigned char *code;
	uint64_t before;
	uint32_t id;

	begin();
	code = replace_found(&id);
	watch.refresh_again_ns = UINT64_MAX;
	follow(0);
	CHECK_INT(find(code), id);
	hs_close_begins();
	hs_close_ends(true);
	follow(hs_closes_now());
	CHECK(find(code) != HS_MAPPING_NONE && find(code) != id);
	CHECK(hs_map_watch_is_of_stack(&watch, find(code)));
	before = reads();
	follow(hs_closes_now());
	CHECK_INT(reads(), before);
	munmap(code, PAGE);
	end();
}

/*
 * Code that was mapped and unmapped by hand, without dlopen() and dlclose(), has left its addresses
 * to a library: a look-up finds it, but it is not there any more.
 */
static void test_newer_library(void)
{
	unsigned char *code;
	uint64_t before;
	uint32_t id;

	begin();
	code = replace_found(&id);
	watch.has_code_by_hand = false;
	watch.refresh_again_ns = 0;
	atomic_fetch_add(&hs_library_opens, 1);
	follow(0);
	CHECK(find(code) != HS_MAPPING_NONE && find(code) != id);
	before = reads();
	watch.has_code_by_hand = false;
	watch.refresh_again_ns = 0;
	follow(0);
	CHECK_INT(reads(), before);
	/* A program that opens all the time does not keep the worker busy. */
	watch.refresh_again_ns = UINT64_MAX;
	atomic_fetch_add(&hs_library_opens, 1);
	follow(0);
	CHECK_INT(reads(), before);
	munmap(code, PAGE);
	end();
}

/* The same without a library: nothing reports the end of code that the program has mapped. */
static void test_code_mapped_by_hand(void)
{
	unsigned char *code;
	uint64_t before;
	uint32_t id;

	begin();
	CHECK(find((const void *)(uintptr_t)&test_miss) != HS_MAPPING_NONE);
	before = reads();
	watch.refresh_again_ns = 0;
	follow(0);
	CHECK_INT(reads(), before);
	code = replace_found(&id);
	watch.refresh_again_ns = 0;
	follow(0);
	CHECK(find(code) != HS_MAPPING_NONE && find(code) != id);
	before = reads();
	watch.refresh_again_ns = UINT64_MAX;
	follow(0);
	CHECK_INT(reads(), before);
	munmap(code, PAGE);
	end();
}

/* A JIT compiler writes into its code, and unmaps it in the end, before stacks are unwound. */
static void test_generated_code_is_gone(void)
{
	unsigned char *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
	static unsigned char data[1];
	uint64_t before, number = 100;
	uint32_t id;

	CHECK(code != MAP_FAILED);
	begin();
	follow_number(1, 0);
	id = find(code);
	CHECK(id != HS_MAPPING_NONE);
	mprotect(code, PAGE, PROT_READ | PROT_WRITE);
	atomic_store(&hs_sequence.next, number);
	CHECK_INT(find(data), HS_MAPPING_NONE);
	before = reads();
	/* Captured before the maps were read. */
	for (uint64_t older = 2; older < number; older++) {
		follow_number(older, 0);
		CHECK_INT(find(code), id);
	}
	CHECK_INT(reads(), before);
	/* It may be executable again, or other code, by now. */
	follow_number(number, 0);
	CHECK_INT(find(code), id);
	CHECK_INT(reads(), before + 1);
	/* Another thing is there. */
	munmap(code, PAGE);
	map_file(code, 'a');
	atomic_fetch_add(&hs_library_opens, 1);
	watch.refresh_again_ns = 0;
	follow_number(number, 0);
	CHECK(find(code) != id);
	munmap(code, PAGE);
	atomic_store(&hs_sequence.next, 1);
	end();
}

static void test_while_closing(void)
{
	unsigned char *code;
	uint64_t before;
	uint32_t id;

	begin();
	code = map_file(NULL, 'a');
	id = find(code);
	hs_close_begins();
	hs_close_begins();
	hs_close_ends(false);
	map_file(code, 'b');
	follow(hs_closes_now());
	CHECK(find(code) != id);
	CHECK(hs_map_watch_is_of_stack(&watch, find(code)));
	before = reads();
	follow(hs_closes_now());
	CHECK_INT(reads(), before + 1);
	hs_close_ends(false);
	CHECK_INT(hs_closes_now(), 0);
	munmap(code, PAGE);
	end();
}

/* After a close that did not wait for a stack: code that is new since then is not the stack's. */
static void check_older_stack(bool waited)
{
	unsigned char *old, *new;
	uint32_t unwaited = hs_closes_unwaited();
	hs_closes before;

	begin();
	before = hs_closes_now();
	old = map_file(NULL, 'a');
	CHECK(find(old) != HS_MAPPING_NONE);
	hs_close_begins();
	if (!waited)
		hs_close_goes_on();
	hs_close_ends(true);
	new = map_file(NULL, 'b');
	follow(hs_closes_now());
	CHECK(hs_map_watch_is_of_stack(&watch, find(new)));
	hs_map_watch_follow(&watch,
			    &(struct hs_captured){.closes = before, .closes_unwaited = unwaited});
	CHECK(hs_map_watch_is_of_stack(&watch, find(old)));
	CHECK_INT(hs_map_watch_is_of_stack(&watch, find(new)), waited);
	/* Code that was removed and mapped again is new. */
	munmap(old, PAGE);
	CHECK_INT(hs_mapping_table_refresh(watch.table), 0);
	CHECK_INT(hs_map_watch_is_of_stack(&watch, find(map_file(old, 'c'))), waited);
	munmap(old, PAGE);
	munmap(new, PAGE);
	end();
}

static void test_older_stack(void)
{
	check_older_stack(true);
	check_older_stack(false);
}

/* If the maps cannot be read no name is given, rather than another library's. */
static void test_unreadable_after_close(void)
{
	uint32_t id;

	begin();
	id = find((const void *)(uintptr_t)&test_miss);
	hs_close_begins();
	hs_close_ends(true);
	refuse_maps(true);
	follow(hs_closes_now());
	CHECK(!hs_map_watch_is_of_stack(&watch, id));
	refuse_maps(false);
	follow(hs_closes_now());
	CHECK(hs_map_watch_is_of_stack(&watch, id));
	end();
}

static void test_made_up(void)
{
	const void *code = (const void *)(uintptr_t)&test_made_up;
	uint64_t made_up = hs_stats_get(maps_made_up);
	uint32_t id;

	begin();
	refuse_maps(true);
	id = find(code);
	CHECK_STR(hs_mapping_table_get(watch.table, id)->path, "[unreadable maps]");
	CHECK_INT(find((const void *)1), id);
	CHECK(hs_mapping_table_is_made_up(watch.table));
	CHECK(hs_stats_get(maps_made_up) > made_up);
	CHECK(!hs_mapping_table_is_readable(watch.table, (uintptr_t)code, 1));
	refuse_maps(false);
	CHECK(find(code) != id && find(code) != HS_MAPPING_NONE);
	CHECK(!hs_mapping_table_is_made_up(watch.table));
	/* What was made up is no former code. */
	CHECK_INT(find((const void *)1), HS_MAPPING_NONE);
	end();
}

static void check_byte(struct hs_memory_cache *cache, const unsigned char *code, char letter)
{
	char got = 0;

	CHECK_INT(hs_memory_cache_read(cache, (uintptr_t)code, &got, 1), 0);
	CHECK_INT(got, letter);
}

/* A page stays in the cache over a refresh if its file is still there; no other file is read. */
static void test_pages(void)
{
	struct hs_memory_cache *cache;
	unsigned char *kept, *gone, *unread;
	char got;

	begin();
	kept = map_file(NULL, 'k');
	gone = map_file(NULL, 'g');
	unread = map_file(NULL, 'u');
	CHECK_INT(hs_mapping_table_refresh(watch.table), 0);
	cache = hs_memory_cache_create(watch.table);
	check_byte(cache, kept, 'k');
	check_byte(cache, gone, 'g');
	map_file(gone, 'x');
	map_file(unread, 'y');
	hs_close_begins();
	hs_close_ends(true);
	/* One page is in the cache from before the close; one is not, and is another file's now. */
	check_byte(cache, gone, 'g');
	CHECK_INT(hs_memory_cache_read(cache, (uintptr_t)unread, &got, 1), -EFAULT);
	CHECK_INT(hs_mapping_table_closes(watch.table), 1);
	hs_memory_cache_drop_stale(cache);
	check_byte(cache, gone, 'x');
	check_byte(cache, unread, 'y');
	munmap(kept, PAGE);
	check_byte(cache, kept, 'k');
	hs_memory_cache_destroy(cache);
	munmap(gone, PAGE);
	munmap(unread, PAGE);
	end();
}

static void test_after_fork(void)
{
	atomic_store(&hs_library_closes, 0);
	hs_close_begins();
	hs_close_begins();
	hs_close_begins();
	hs_close_ends(true);
	hs_closes_after_fork(1);
	CHECK(hs_closes_under_way(hs_closes_now()));
	/* Another thread's close may have unloaded something. */
	CHECK_INT(hs_closes_over(hs_closes_now()), 2);
	hs_close_ends(true);
	CHECK(!hs_closes_under_way(hs_closes_now()));
	CHECK_INT(hs_closes_over(hs_closes_now()), 3);
	hs_closes_after_fork(0);
	CHECK_INT(hs_closes_now(), 3);
	hs_close_begins();
	hs_closes_after_fork(0);
	CHECK(!hs_closes_under_way(hs_closes_now()));
	/* A destructor closes a library whose destructor forks. */
	hs_closes_after_fork(2);
	hs_close_ends(true);
	CHECK(hs_closes_under_way(hs_closes_now()));
	hs_close_ends(true);
	CHECK(!hs_closes_under_way(hs_closes_now()));
	/* The count wraps without touching the other. */
	atomic_store(&hs_library_closes, UINT32_MAX);
	hs_close_begins();
	hs_close_ends(true);
	CHECK_INT(hs_closes_now(), 0);
}

int main(void)
{
	if (hs_arena_init((size_t)64 << 20) < 0)
		return 99;
	RUN(test_miss);
	RUN(test_misses_in_vain);
	RUN(test_found_misses);
	RUN(test_newer_stack);
	RUN(test_newer_library);
	RUN(test_code_mapped_by_hand);
	RUN(test_generated_code_is_gone);
	RUN(test_many_while_closing);
	RUN(test_while_closing);
	RUN(test_older_stack);
	RUN(test_unreadable_after_close);
	RUN(test_made_up);
	RUN(test_pages);
	RUN(test_after_fork);
	return CHECK_RESULT();
}
