/* SPDX-License-Identifier: BSD-2-Clause */
/* The arena's range: its size, failures, the budget, the bootstrap part, parts taken for good. */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "arena_testing.h"
#include "base/arena_internal.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static void before_init(void)
{
	CHECK(hs_arena_alloc(1) == NULL);
	CHECK(hs_arena_zalloc(0) == NULL);
	CHECK(hs_arena_bootstrap_alloc(1) == NULL);
	CHECK(hs_arena_reserve(1) == NULL);
	CHECK(!hs_arena_owns(NULL));
	CHECK(!hs_arena_owns(&fault_number));
	hs_arena_free(&fault_number);
	hs_arena_free_from_host(NULL);
	CHECK_INT(hs_arena_usable_size(&fault_number), 0);
	CHECK_INT(hs_arena_used(), 0);
}

static void range_follows_budget(void)
{
	CHECK_INT(hs_arena_init(100 * MIB), 0);
	CHECK_INT(hs_arena_range.bytes, 400 * MIB);
	CHECK_INT(hs_arena_budget(), 100 * MIB);
	hs_arena_set_budget(50 * MIB);
	CHECK_INT(hs_arena_budget(), 50 * MIB);
	/* The budget is never more than the range can give. */
	hs_arena_set_budget(1000 * MIB);
	CHECK_INT(hs_arena_budget(), 400 * MIB - 256 * KIB);
	/* A later budget, which the options say, counts, but the range does not grow. */
	CHECK_INT(hs_arena_init(80 * MIB), 0);
	CHECK_INT(hs_arena_range.bytes, 320 * MIB);
	CHECK_INT(hs_arena_budget(), 80 * MIB);
	CHECK_INT(hs_arena_init(1000 * MIB), 0);
	CHECK_INT(hs_arena_range.bytes, 320 * MIB);
	CHECK_INT(hs_arena_budget(), 320 * MIB - 256 * KIB);
}

static void range_has_a_least_size(void)
{
	CHECK_INT(hs_arena_init(MIB), 0);
	CHECK_INT(hs_arena_range.bytes, 256 * MIB);
}

static void range_is_halved_on_failure(void)
{
	inject(SYS_mmap, 2);
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	CHECK_INT(hs_arena_range.bytes, 64 * MIB);
	CHECK(hs_arena_alloc(MIB) != NULL);
}

static unsigned unmaps;

/* The bootstrap part cannot be made usable. */
static long fail_protect(long number)
{
	unmaps += number == SYS_munmap;
	return number == SYS_mprotect ? -EACCES : 0;
}

static void range_is_refused(void)
{
	inject(SYS_mmap, 100);
	CHECK_INT(hs_arena_init(64 * MIB), -ENOMEM);
	/* 256, 128, 64 and 32 MiB were tried. */
	CHECK_INT(fault_count, 96);
	before_init();
	hs_sys_fault = fail_protect;
	CHECK_INT(hs_arena_init(64 * MIB), -EACCES);
	hs_sys_fault = NULL;
	CHECK_INT(unmaps, 1);
	before_init();
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	CHECK(hs_arena_alloc(MIB) != NULL);
}

static void set_limit(int resource, size_t bytes)
{
	struct rlimit limit;

	getrlimit(resource, &limit);
	limit.rlim_cur = bytes;
	CHECK_INT(setrlimit(resource, &limit), 0);
}

static void limit_address_space(size_t bytes)
{
	set_limit(RLIMIT_AS, bytes);
}

static void range_under_a_limit(void)
{
	limit_address_space(4096 * MIB);
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	CHECK_INT(hs_arena_range.bytes, 128 * MIB);
}

static void range_is_a_quarter_of_the_limit(void)
{
	limit_address_space(160 * MIB);
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	CHECK_INT(hs_arena_range.bytes, 40 * MIB);
	CHECK(hs_arena_budget() < 40 * MIB);
}

/* Of the smaller of the two limits that matter. */
static void range_is_a_quarter_of_the_smaller_limit(void)
{
	limit_address_space(800 * MIB);
	CHECK_INT(hs_arena_limit(), RLIMIT_AS);
	set_limit(RLIMIT_DATA, 160 * MIB);
	CHECK_INT(hs_arena_limit(), RLIMIT_DATA);
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	CHECK_INT(hs_arena_range.bytes, 40 * MIB);
}

/* Whether something is mapped there, accessible or not. */
static bool is_mapped(uintptr_t address)
{
	unsigned char resident;

	return mincore((void *)(address & ~(uintptr_t)4095), 4096, &resident) == 0;
}

static void range_follows_a_limit(void)
{
	unsigned char *before, *front, *block, *theirs;
	size_t taken;

	CHECK_INT(hs_arena_init(64 * MIB), 0);
	before = hs_arena_reserve(10 * MIB);
	CHECK_INT(hs_arena_commit(before, MIB), 0);
	block = hs_arena_alloc(5 * MIB);
	hs_arena_follow_limit();
	CHECK_INT(hs_arena_range.bytes, 256 * MIB);

	/* As if the limit had been there at the start: 128 MiB. */
	limit_address_space(4096 * MIB);
	hs_arena_follow_limit();
	CHECK_INT(hs_arena_range.bytes, 118 * MIB);
	CHECK_INT(hs_arena_budget(), 64 * MIB);
	theirs = (unsigned char *)hs_arena_range.start + hs_arena_range.bytes;
	CHECK(is_mapped((uintptr_t)theirs - 1) && !is_mapped((uintptr_t)theirs));
	CHECK(!is_mapped((uintptr_t)before - 1));
	CHECK(hs_arena_owns(theirs - 1) && !hs_arena_owns(theirs));

	/* Parts that exist can still grow where they are; new ones are placed below them. */
	CHECK_INT(hs_arena_commit(before + MIB, 9 * MIB), 0);
	hs_arena_unreserve(before, 10 * MIB);
	front = hs_arena_reserve(MIB);
	CHECK(front == theirs - MIB);
	CHECK_INT(hs_arena_commit(front, MIB), 0);
	memset(front, 1, MIB);

	/* A lower limit again: what is in use stays. */
	taken = hs_arena_used();
	limit_address_space(100 * MIB);
	hs_arena_follow_limit();
	CHECK(hs_arena_range.bytes <= 15 * MIB + 512 * KIB);
	hs_arena_set_budget(64 * MIB);
	CHECK(hs_arena_budget() <= 25 * MIB && hs_arena_used() == taken);
	CHECK(hs_arena_alloc(16 * MIB) == NULL);
	CHECK(hs_arena_alloc(100 * KIB) != NULL);
	limit_address_space(0);
	hs_arena_follow_limit();
	CHECK(hs_arena_reserve(MIB) == NULL);
	memset(block, 1, 5 * MIB);
	memset(before, 1, 10 * MIB);
	memset(front, 1, MIB);
}

/* Parts that can grow are cut too; others are left whole. */
static void parts_follow_a_limit(void)
{
	unsigned char *part, *small, *theirs;

	CHECK_INT(hs_arena_init(64 * MIB), 0);
	part = hs_arena_reserve(100 * MIB);
	small = hs_arena_reserve(4 * MIB);
	CHECK_INT(hs_arena_commit(part, 2 * MIB), 0);
	limit_address_space(160 * MIB);
	/* 40 MiB would have been reserved: a quarter of that is left for the part to grow. */
	hs_arena_follow_limit();
	CHECK(!hs_arena_owns(part) && !hs_arena_owns(small + 4 * MIB));
	CHECK(is_mapped((uintptr_t)part + 12 * MIB - 1) && !is_mapped((uintptr_t)part + 12 * MIB));
	CHECK(!is_mapped((uintptr_t)part + 100 * MIB - 1));
	CHECK_INT(hs_arena_most(), 40 * MIB - 256 * KIB);
	CHECK_INT(hs_arena_commit(part + 2 * MIB, 11 * MIB), -ENOMEM);
	CHECK_INT(hs_arena_commit(part + 50 * MIB, 4096), -ENOMEM);
	CHECK_INT(hs_arena_commit(part + 2 * MIB, 10 * MIB), 0);
	CHECK_INT(hs_arena_commit(part + 12 * MIB, 4096), -ENOMEM);
	/* What the program has mapped behind a part is not made writable. */
	theirs = mmap(part + 12 * MIB, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		      0);
	CHECK(theirs == part + 12 * MIB);
	CHECK_INT(hs_arena_commit(part + 12 * MIB, 4096), -ENOMEM);
	munmap(theirs, 4096);
	memset(part, 1, 12 * MIB);
	CHECK_INT(hs_arena_commit(small, 4 * MIB), 0);
	memset(small, 1, 4 * MIB);
	hs_arena_unreserve(part, 100 * MIB);
	CHECK_INT(hs_arena_commit(part + 12 * MIB, 4096), -ENOMEM);
	CHECK(hs_arena_alloc(5 * MIB) != NULL);
	/* What is already usable stays. */
	limit_address_space(0);
	hs_arena_follow_limit();
	memset(part, 1, 12 * MIB);
	memset(small, 1, 4 * MIB);
}

/* A part is given back after the range was cut below it: blocks may be at its place by then. */
static void range_ends_in_front_of_a_part(void)
{
	void *part, *block;

	inject(SYS_mmap, 2);
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	CHECK_INT(hs_arena_range.bytes, 64 * MIB);
	CHECK(hs_arena_reserve(40 * MIB) != NULL);
	part = hs_arena_reserve(4 * MIB);
	CHECK(hs_arena_alloc(12 * MIB) != NULL);
	limit_address_space(160 * MIB);
	hs_arena_follow_limit();
	CHECK_INT(hs_arena_range.bytes, 20 * MIB);
	hs_arena_unreserve(part, 4 * MIB);
	for (unsigned i = 0; i < 40; i++) {
		block = hs_arena_alloc(200 * KIB);
		CHECK(block != NULL && hs_arena_usable_size(block) >= 200 * KIB);
	}
}

/* The thread that holds the lock may have been killed. */
static void nobody_gives_the_lock_back(void)
{
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	hs_lock_acquire(&hs_arena.lock);
	limit_address_space(100 * MIB);
	hs_arena_follow_limit();
	CHECK_INT(hs_arena_range.bytes, 256 * MIB);
}

static void test_range(void)
{
	in_child(before_init);
	in_child(range_follows_budget);
	in_child(range_has_a_least_size);
	in_child(range_is_halved_on_failure);
	in_child(range_is_refused);
	if (!IS_SANITIZED) {
		in_child(range_under_a_limit);
		in_child(range_is_a_quarter_of_the_limit);
		in_child(range_is_a_quarter_of_the_smaller_limit);
		in_child(range_follows_a_limit);
		in_child(parts_follow_a_limit);
		in_child(range_ends_in_front_of_a_part);
		in_child(nobody_gives_the_lock_back);
	}
}

static void range_is_used_up(void)
{
	unsigned count = 0;
	void *last = NULL, *block;

	/* The range is as large as the budget here, so free blocks of the wrong size matter. */
	inject(SYS_mmap, 3);
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	CHECK_INT(hs_arena_range.bytes, 32 * MIB);
	for (; (block = hs_arena_alloc(900 * KIB)) != NULL; count++)
		last = block;
	CHECK(count >= 30);
	CHECK(hs_arena_reserve(2 * MIB) == NULL);
	/* The last step is shorter than others. */
	CHECK(hs_arena_reserve(20 * KIB) != NULL);
	while (hs_arena_alloc(10 * KIB) != NULL)
		;
	CHECK_INT(atomic_load(&hs_arena.heap_end), hs_arena.reserved_start);
	hs_arena_free(last);
	block = hs_arena_alloc(600 * KIB);
	CHECK(block == last);
	/* It counts for what it holds now. */
	CHECK_INT(hs_arena_usable_size(block), 604 * KIB - 16);
	CHECK(hs_arena_alloc(600 * KIB) == NULL);
}

static void room_is_kept(void)
{
	void *last = NULL, *block;

	inject(SYS_mmap, 3);
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	CHECK_INT(hs_arena_range.bytes, 32 * MIB);
	hs_arena_keep_room(8 * MIB);
	while ((block = hs_arena_alloc(900 * KIB)) != NULL)
		last = block;
	CHECK(hs_arena_used() > 20 * MIB && hs_arena_used() <= 24 * MIB);
	CHECK(hs_arena_reserve(2 * MIB) == NULL);
	hs_arena_free(last);
	CHECK(hs_arena_alloc(900 * KIB) == last);
	hs_arena_keep_room(0);
	CHECK(hs_arena_alloc(5 * MIB) != NULL && hs_arena_reserve(2 * MIB) != NULL);
}

/* Of what a limit leaves others have a half. */
static void room_is_shared_under_a_limit(void)
{
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	hs_arena_keep_room(250 * MIB);
	CHECK(hs_arena_alloc(10 * MIB) == NULL);
	limit_address_space(160 * MIB);
	hs_arena_follow_limit();
	CHECK(hs_arena_alloc(10 * MIB) != NULL && hs_arena_alloc(10 * MIB) == NULL);
	hs_arena_keep_room(0);
	CHECK(hs_arena_alloc(10 * MIB) != NULL);
}

static void test_room(void)
{
	in_child(room_is_kept);
	if (!IS_SANITIZED)
		in_child(room_is_shared_under_a_limit);
}

static void test_larger_blocks_serve_when_the_range_is_used_up(void)
{
	in_child(range_is_used_up);
}

static void test_budget(void)
{
	size_t before = hs_arena_used(), count = 0;
	void *blocks[64];

	while (count < 64 && (blocks[count] = hs_arena_alloc(MIB)) != NULL)
		count++;
	CHECK(count >= 40 && count < 64);
	CHECK(hs_arena_used() <= BUDGET);
	CHECK(hs_arena_used() > BUDGET - 2 * MIB);
	/* Free large blocks do not count as in use until they are taken again. */
	hs_arena_free(blocks[--count]);
	CHECK(hs_arena_used() <= BUDGET - MIB);
	blocks[count] = hs_arena_alloc(MIB);
	CHECK(blocks[count] != NULL);
	hs_arena_free(blocks[count]);
	hs_arena_set_budget(hs_arena_used());
	CHECK(hs_arena_alloc(MIB) == NULL);
	CHECK(hs_arena_alloc(1) == NULL);
	hs_arena_set_budget(hs_arena_used() / 2);
	CHECK(hs_arena_alloc(1) == NULL);
	hs_arena_set_budget(BUDGET);
	CHECK((blocks[count] = hs_arena_alloc(MIB)) != NULL);
	count++;
	while (count > 0)
		hs_arena_free(blocks[--count]);
	CHECK_INT(hs_arena_used(), before);
}

static void test_growth_refused_by_the_kernel(void)
{
	size_t before = hs_arena_used();

	inject(SYS_mprotect, 1);
	CHECK(hs_arena_alloc(20 * MIB) == NULL);
	hs_sys_fault = NULL;
	CHECK_INT(fault_count, 0);
	CHECK_INT(hs_arena_used(), before);
	hs_arena_free(hs_arena_alloc(20 * MIB));
}

static void test_reserve_and_commit(void)
{
	size_t before = hs_arena_used();
	unsigned char *part = hs_arena_reserve(10 * MIB + 1), *other = hs_arena_reserve(MIB);

	CHECK(part != NULL && (uintptr_t)part % 4096 == 0);
	CHECK(other + MIB <= part || part + 10 * MIB + 4096 <= other);
	CHECK_INT(hs_arena_used(), before);
	CHECK_INT(hs_arena_commit(part, 0), 0);
	CHECK_INT(hs_arena_commit(part, MIB), 0);
	CHECK_INT(hs_arena_commit(part + MIB, 100), 0);
	CHECK_INT(hs_arena_used(), before + MIB + 4096);
	CHECK(is_filled(part, 0, MIB + 4096));
	memset(part, 1, MIB + 4096);

	CHECK_INT(hs_arena_commit(part + 1, 4096), -EINVAL);
	CHECK_INT(hs_arena_commit((void *)(hs_arena_range.start + MIB), 4096), -EINVAL);
	CHECK_INT(hs_arena_commit(&before, 4096), -EINVAL);
	CHECK_INT(hs_arena_commit(part, SIZE_MAX - 4095), -EINVAL);
	inject(SYS_mprotect, 1);
	CHECK_INT(hs_arena_commit(part + 2 * MIB, 4096), -ENOMEM);
	hs_sys_fault = NULL;
	hs_arena_set_budget(hs_arena_used() + 8192);
	CHECK_INT(hs_arena_commit(part + 2 * MIB, 12288), -ENOMEM);
	CHECK_INT(hs_arena_used(), before + MIB + 4096);
	CHECK_INT(hs_arena_commit(part + 2 * MIB, 8192), 0);
	CHECK(hs_arena_alloc(1) == NULL);
	hs_arena_set_budget(BUDGET);

	/* Only the part reserved last can be given back. */
	hs_arena_unreserve(part, 10 * MIB + 1);
	CHECK(hs_arena_reserve(4096) == other - 4096);
	hs_arena_unreserve(other - 4096, 4096);
	CHECK(hs_arena_reserve(5) == other - 4096);

	/* A part is not a block. */
	hs_arena_free(part + 16);
	hs_arena_free_from_host(part + 16);
	CHECK_INT(hs_arena_usable_size(part + 16), 0);
}

static void bootstrap_part(void)
{
	unsigned char *first, *last = NULL, *block;
	size_t total = 0;

	CHECK_INT(hs_arena_init(BUDGET), 0);
	first = hs_arena_bootstrap_alloc(0);
	CHECK(first != NULL && (uintptr_t)first % 16 == 0);
	CHECK_INT(hs_arena_usable_size(first), 16);
	for (; (block = hs_arena_bootstrap_alloc(1001)) != NULL; last = block) {
		CHECK(hs_arena_owns(block) && hs_arena_usable_size(block) == 1008);
		CHECK(is_filled(block, 0, 1008));
		memset(block, 0xff, 1008);
		total += 1024;
	}
	CHECK(total > 250 * KIB && total <= 256 * KIB);
	/* What is left is enough for smaller blocks. */
	CHECK(hs_arena_bootstrap_alloc(16) != NULL);
	CHECK_INT(hs_arena_used(), 0);
	hs_arena_free(last);
	hs_arena_free_from_host(last);
	CHECK_INT(hs_arena_usable_size(last), 1008);
	CHECK(hs_arena_bootstrap_alloc(1001) == NULL);
	block = hs_arena_realloc(last, 5000);
	CHECK(block != NULL && block != last && is_filled(block, 0xff, 1008));
	CHECK_INT(hs_arena_usable_size(last), 1008);
}

static void test_bootstrap_part(void)
{
	in_child(bootstrap_part);
}

int main(void)
{
	RUN(test_range);
	RUN(test_room);
	RUN(test_larger_blocks_serve_when_the_range_is_used_up);
	RUN(test_bootstrap_part);
	CHECK_INT(hs_arena_init(BUDGET), 0);
	RUN(test_budget);
	RUN(test_growth_refused_by_the_kernel);
	RUN(test_reserve_and_commit);
	return CHECK_RESULT();
}
