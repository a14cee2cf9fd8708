/* SPDX-License-Identifier: BSD-2-Clause */
/* The arena's blocks: sizes, contents, bad pointers, what free blocks hold. */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arena_testing.h"

static void test_every_size_is_aligned_and_large_enough(void)
{
	size_t before = hs_arena_used();

	for (size_t bytes = 0; bytes < 2 * MIB; bytes += bytes < 3000 ? 1 : bytes / 7 + 1) {
		unsigned char *block = hs_arena_alloc(bytes);

		CHECK(block != NULL && (uintptr_t)block % 16 == 0);
		CHECK(hs_arena_owns(block) && hs_arena_owns(block + bytes));
		CHECK(hs_arena_usable_size(block) >= bytes);
		/* Four classes per octave: at most a quarter is waste. */
		CHECK(hs_arena_usable_size(block) <= bytes + bytes / 4 + 48);
		memset(block, 0xa5, hs_arena_usable_size(block));
		hs_arena_free(block);
	}
	CHECK_INT(hs_arena_used(), before);
}

/* Of a large block the header and what was asked for, in whole pages; and nothing is left of it. */
static void test_large_blocks_count_by_pages(void)
{
	for (size_t bytes = 256 * KIB; bytes <= 16 * MIB; bytes *= 2) {
		size_t before = hs_arena_used();
		unsigned char *block = hs_arena_alloc(bytes), *aligned;

		CHECK_INT(hs_arena_used() - before, bytes + 4096);
		CHECK_INT(hs_arena_usable_size(block), bytes + 4096 - 16);
		memset(block, 0x5a, hs_arena_usable_size(block));
		aligned = hs_arena_aligned_alloc(4096, bytes);
		CHECK(hs_arena_usable_size(aligned) >= bytes);
		CHECK_INT(hs_arena_used() - before, 2 * bytes + 2 * 4096);
		hs_arena_free(block);
		/* In the same place, with another size. */
		CHECK(hs_arena_zalloc(bytes + bytes / 8) == block);
		CHECK(is_filled(block, 0, hs_arena_usable_size(block)));
		CHECK_INT(hs_arena_used() - before, 2 * bytes + bytes / 8 + 2 * 4096);
		hs_arena_free_from_host(block);
		hs_arena_free(aligned);
		CHECK_INT(hs_arena_used(), before);
	}
}

static void test_blocks_are_apart(void)
{
	enum { COUNT = 400 };
	unsigned char *blocks[COUNT];

	for (int i = 0; i < COUNT; i++) {
		blocks[i] = hs_arena_alloc((size_t)i * 37);
		memset(blocks[i], i, hs_arena_usable_size(blocks[i]));
	}
	for (int i = 0; i < COUNT; i++)
		CHECK(is_filled(blocks[i], (unsigned char)i, hs_arena_usable_size(blocks[i])));
	for (int i = 0; i < COUNT; i++)
		hs_arena_free(blocks[i]);
}

static void test_zalloc_is_zero_after_reuse(void)
{
	static const size_t sizes[] = { 1, 100, 5000, 120 * KIB, 130 * KIB, 200 * KIB, 3 * MIB };

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		for (int round = 0; round < 3; round++) {
			unsigned char *block = hs_arena_zalloc(sizes[i]);

			CHECK(block != NULL);
			CHECK(is_filled(block, 0, hs_arena_usable_size(block)));
			memset(block, 0xff, hs_arena_usable_size(block));
			hs_arena_free(block);
		}
	}
}

static void test_zalloc_is_zero_where_advice_fails(void)
{
	unsigned char *block = hs_arena_alloc(MIB), *again;

	memset(block, 0xff, hs_arena_usable_size(block));
	inject(SYS_madvise, 1);
	hs_arena_free(block);
	hs_sys_fault = NULL;
	CHECK_INT(fault_count, 0);
	again = hs_arena_zalloc(MIB);
	CHECK(again == block);
	CHECK(is_filled(again, 0, hs_arena_usable_size(again)));
	hs_arena_free(again);
}

static void test_alignment(void)
{
	for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
		for (size_t bytes = 0; bytes < MIB; bytes = bytes * 3 + 1) {
			unsigned char *block = hs_arena_aligned_alloc(alignment, bytes);

			CHECK(block != NULL && (uintptr_t)block % alignment == 0);
			CHECK((uintptr_t)block % 16 == 0);
			CHECK(hs_arena_usable_size(block) >= bytes);
			memset(block, 0xff, hs_arena_usable_size(block));
			hs_arena_free(block);
			/* The same memory, now as a block of another kind. */
			block = hs_arena_zalloc(bytes + alignment);
			CHECK(is_filled(block, 0, hs_arena_usable_size(block)));
			hs_arena_free(block);
		}
	}
	CHECK(hs_arena_aligned_alloc(0, 1) == NULL);
	CHECK(hs_arena_aligned_alloc(24, 1) == NULL);
	CHECK(hs_arena_aligned_alloc(8192, 1) == NULL);
}

static void test_realloc(void)
{
	unsigned char *block = hs_arena_realloc(NULL, 10);
	size_t bytes = 10, before;

	memset(block, 0x11, bytes);
	while (bytes < 4 * MIB) {
		block = hs_arena_realloc(block, bytes * 3);
		CHECK(block != NULL && is_filled(block, 0x11, bytes));
		bytes *= 3;
		memset(block, 0x11, bytes);
	}
	before = hs_arena_used();
	CHECK(hs_arena_realloc(block, 2 * BUDGET) == NULL);
	CHECK_INT(hs_arena_used(), before);
	CHECK(is_filled(block, 0x11, bytes));
	block = hs_arena_realloc(block, 1000);
	CHECK(is_filled(block, 0x11, 1000));
	CHECK(hs_arena_used() < before - 3 * MIB);
	CHECK(hs_arena_realloc(block, 1001) == block);
	block = hs_arena_realloc(block, 0);
	CHECK(block != NULL && hs_arena_usable_size(block) < 1000);
	hs_arena_free(block);

	block = hs_arena_aligned_alloc(1024, 100);
	memset(block, 0x22, 100);
	block = hs_arena_realloc(block, 100000);
	CHECK(is_filled(block, 0x22, 100));
	hs_arena_free(block);
}

static void test_impossible_sizes(void)
{
	CHECK(hs_arena_alloc(SIZE_MAX) == NULL);
	CHECK(hs_arena_alloc(SIZE_MAX - 15) == NULL);
	CHECK(hs_arena_zalloc((size_t)1 << 47) == NULL);
	CHECK(hs_arena_aligned_alloc(4096, SIZE_MAX - 100) == NULL);
	CHECK(hs_arena_alloc(hs_arena_range.bytes) == NULL);
	CHECK(hs_arena_bootstrap_alloc(SIZE_MAX) == NULL);
	CHECK(hs_arena_reserve(SIZE_MAX) == NULL);
	CHECK(hs_arena_reserve(0) == NULL);
}

static void test_bad_pointers_are_ignored(void)
{
	size_t before = hs_arena_used();
	unsigned char *block = hs_arena_alloc(1000), *other;
	unsigned char *far = (unsigned char *)hs_arena_range.start + hs_arena_range.bytes - 16;
	int local;

	/* A copy of a header at another place is not a header. */
	memcpy(block + 64, block - 16, 16);
	void *const bad[] = { block + 1, block + 16, block + 80, &local, far,
			      (void *)hs_arena_range.start, (void *)(hs_arena_range.start + 16) };

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		hs_arena_free(bad[i]);
		hs_arena_free_from_host(bad[i]);
		CHECK_INT(hs_arena_usable_size(bad[i]), 0);
		CHECK(hs_arena_realloc(bad[i], 10) == NULL);
	}
	hs_arena_free(block);
	hs_arena_free(block);
	hs_arena_free_from_host(block);
	CHECK_INT(hs_arena_used(), before);
	block = hs_arena_alloc(1000);
	other = hs_arena_alloc(1000);
	CHECK(block != other);
	hs_arena_free(other);
	hs_arena_free_from_host(block);
	hs_arena_free_from_host(block);
	hs_arena_free(block);
	hs_arena_free(hs_arena_alloc(1));
	CHECK_INT(hs_arena_used(), before);
}

static void test_free_from_host_is_drained(void)
{
	size_t before = hs_arena_used();
	void *small = hs_arena_alloc(100), *large = hs_arena_alloc(MIB);

	hs_arena_free_from_host(small);
	hs_arena_free_from_host(large);
	CHECK(hs_arena_used() >= before + MIB);
	CHECK_INT(hs_arena_usable_size(small), 0);
	hs_arena_free(hs_arena_alloc(10));
	CHECK_INT(hs_arena_used(), before);
	CHECK(hs_arena_alloc(MIB) == large);
	hs_arena_free(large);
}

static void test_errno_is_preserved(void)
{
	errno = 1234;
	CHECK(hs_arena_alloc(2 * BUDGET) == NULL);
	hs_arena_free(hs_arena_alloc(MIB));
	CHECK_INT(errno, 1234);
}

static void test_freed_large_blocks_hold_no_pages(void)
{
	unsigned char *block = hs_arena_alloc(8 * MIB), seen[8 * 256 + 1];
	uintptr_t first = ((uintptr_t)block + 4095) & ~(uintptr_t)4095;
	unsigned resident = 0;

	memset(block, 1, 8 * MIB);
	hs_arena_free(block);
	CHECK_INT(mincore((void *)first, 8 * MIB - 8192, seen), 0);
	for (size_t i = 0; i < (8 * MIB - 8192) / 4096; i++)
		resident += seen[i] & 1;
	CHECK_INT(resident, 0);
}

int main(void)
{
	CHECK_INT(hs_arena_init(BUDGET), 0);
	RUN(test_every_size_is_aligned_and_large_enough);
	RUN(test_large_blocks_count_by_pages);
	RUN(test_blocks_are_apart);
	RUN(test_zalloc_is_zero_after_reuse);
	RUN(test_zalloc_is_zero_where_advice_fails);
	RUN(test_alignment);
	RUN(test_realloc);
	RUN(test_impossible_sizes);
	RUN(test_bad_pointers_are_ignored);
	RUN(test_free_from_host_is_drained);
	RUN(test_errno_is_preserved);
	RUN(test_freed_large_blocks_hold_no_pages);
	return CHECK_RESULT();
}
