/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwinds through code that is special, new, replaced or gone. */
#include <dlfcn.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/libraries.h"
#include "base/stats.h"
#include "check.h"
#include "unwind/frame_guess.h"
#include "unwind_fixture.h"

/*
 * inner(f): push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret
 * outer(inner, f): the same around a call of inner(f)
 */
static const unsigned char machine_code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3,
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3,
};
#define INNER_RETURN 6
#define OUTER 8
#define OUTER_RETURN 20

static unsigned char *code;

static FRAME void capture_leaf(void)
{
	capture_here();
	NO_TAIL_CALL();
}

/* Makes the page executable code; fd: its file, -1 = none. */
static void map_code(unsigned char *page, int fd)
{
	int flags = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0) | (page != NULL ? MAP_FIXED : 0);

	code = mmap(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, flags, fd, 0);
	CHECK(code != MAP_FAILED);
	memcpy(code, machine_code, sizeof machine_code);
}

static FRAME void call_machine_code(void)
{
	void (*outer)(void *, void (*)(void));
	unsigned char *address = code + OUTER;

	memcpy(&outer, &address, sizeof outer);
	outer(code, capture_leaf);
	NO_TAIL_CALL();
}

/*
 * Maps code and calls it.  Among the return addresses that were seen, that of its caller must not
 * have the place of one of its own.
 */
static void call_code_apart(void)
{
	static struct hs_seen_returns seen;
	uint64_t *places[3];

	do {
		map_code(NULL, -1); /* the one before stays, so that this is elsewhere */
		call_machine_code();
		unwind();
		CHECK(is_complete());
		for (int i = 0; i < 3; i++)
			places[i] = hs_seen_returns_place(&seen, frames[i + 1].address + 1);
	} while (places[2] == places[0] || places[2] == places[1]);
	change_maps();
}

static void make_no_call(void)
{
	memset(code + OUTER, 0x90, OUTER_RETURN - OUTER);
}

static void test_code_without_unwind_tables(void)
{
	uint64_t asked;

	begin();
	/* The code is newer than the index, which is then read again. */
	map_code(NULL, -1);
	call_machine_code();
	asked = hs_stats_get(unwind_rows_fallback);
	unwind();
	CHECK_INT(hs_stats_get(unwind_rows_fallback), asked);
	CHECK(is_complete());
	CHECK(frame_count >= 6);
	CHECK_INT(frames[1].address, (uintptr_t)code + INNER_RETURN - 1);
	CHECK_INT(frames[2].address, (uintptr_t)code + OUTER_RETURN - 1);
	CHECK_STR(path_of(&frames[1]), "//anon");
	CHECK_INT(frames[3].mapping, frames[0].mapping);
	munmap(code, 4096);
	end();
}

static void test_code_without_a_call(void)
{
	begin();
	call_code_apart();
	/* The return address is not after a call: the chain of frame pointers is not trusted. */
	make_no_call();
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));

	/* All samples of a batch are older than what was read for it: it is not read again. */
	memcpy(code, machine_code, sizeof machine_code);
	unwind_another(DEPTH);
	CHECK_INT(frame_count, 3);
	unwind();
	CHECK(is_complete());

	/* A return address that was seen after a call is trusted until the maps change. */
	make_no_call();
	unwind();
	CHECK(is_complete());
	change_maps();
	unwind();
	CHECK_INT(frame_count, 3);
	munmap(code, 4096);
	end();
}

/* Calls the code; then the return address of its outer part is that of an entry. */
static void return_to(uintptr_t entry)
{
	call_machine_code();
	for (size_t at = 0; at + 8 <= capture.captured.stack_bytes; at += 8) {
		uint64_t *word = (uint64_t *)(void *)(capture.bytes + at);

		if (*word == (uintptr_t)code + OUTER_RETURN)
			*word = entry;
	}
}

static void check_return_to(uintptr_t entry)
{
	unwind();
	CHECK(is_complete());
	CHECK_INT(frames[1].address, (uintptr_t)code + INNER_RETURN - 1);
	CHECK_INT(frames[2].address, entry);
	CHECK_INT(frames[3].mapping, frames[0].mapping);
}

static void check_no_return(void)
{
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK_INT(frames[1].address, (uintptr_t)code + INNER_RETURN - 1);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
}

#define ENTRY 64u

/* A return address was replaced: by the beginning of code, after padding, or by a wrong one. */
static void test_return_to_an_entry(void)
{
	begin();
	map_code(NULL, -1);
	return_to((uintptr_t)code + ENTRY);
	memset(code + sizeof machine_code, 0xcc, ENTRY - sizeof machine_code);
	check_return_to((uintptr_t)code + ENTRY);
	code[ENTRY - 1] = 0x90;
	check_no_return();
	munmap(code, 4096);
	end();
}

/* What OpenJDK's interpreter pushes before it jumps: up to version 21, and since. */
static const struct {
	size_t length;
	unsigned char code[20];
} pushed_entries[] = {
	{12, {0x48, 0x8b, 0x65, 0xf0, 0x48, 0xc7, 0x45, 0xf0}},
	{17, {0x48, 0x8b, 0x4d, 0xf0, 0x48, 0x8d, 0x64, 0xcd, 0, 0x48, 0xc7, 0x45, 0xf0}},
};

/* The first of them, in a file, behind no call. */
void like_a_pushed_entry(void);
__asm__(".text\n"
	"	.skip 8, 0x90\n"
	"like_a_pushed_entry:\n"
	"	mov -16(%rbp), %rsp\n"
	"	movq $0, -16(%rbp)\n"
	"	ret\n");

static void test_return_to_a_pushed_entry(void)
{
	begin();
	map_code(NULL, -1);
	return_to((uintptr_t)code + ENTRY);
	for (size_t i = 0; i < 2; i++) {
		memcpy(code + ENTRY, pushed_entries[i].code, sizeof pushed_entries[i].code);
		check_return_to((uintptr_t)code + ENTRY);
		for (size_t at = 0; at < pushed_entries[i].length; at++) {
			code[ENTRY + at] ^= 1;
			check_no_return();
			code[ENTRY + at] ^= 1;
		}
	}
	return_to((uintptr_t)like_a_pushed_entry);
	CHECK(memcmp((void *)(uintptr_t)like_a_pushed_entry, pushed_entries[0].code, 12) == 0);
	check_no_return();
	munmap(code, 4096);
	end();
}

/* A JIT compiler's code is unmapped before the last samples are unwound. */
static void test_code_that_is_gone(void)
{
	begin();
	map_code(NULL, -1);
	call_machine_code();
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	munmap(code, 4096);
	unwind();
	CHECK(is_complete());
	CHECK_INT(frames[1].address, (uintptr_t)code + INNER_RETURN - 1);
	CHECK_INT(frames[2].address, (uintptr_t)code + OUTER_RETURN - 1);
	CHECK_INT(frames[3].mapping, frames[0].mapping);
	end();
}

static void test_replaced_code(void)
{
	int fd = memfd_create("other code", MFD_CLOEXEC);
	uint32_t before;

	CHECK_INT(ftruncate(fd, 4096), 0);
	begin();
	map_code(NULL, -1);
	call_machine_code();
	unwind();
	before = frames[1].mapping;
	map_code(code, fd);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	unwind();
	CHECK(frames[1].mapping != before);
	CHECK_STR(path_of(&frames[1]), "/memfd:other code");
	munmap(code, 4096);
	close(fd);
	end();
}

/* The stack is from before a close that did not wait for it: the code may not be the stack's. */
static void test_code_replaced_by_a_close(void)
{
	int fd = memfd_create("other code", MFD_CLOEXEC);
	uint64_t late = hs_stats_get(unwind_late);

	CHECK_INT(ftruncate(fd, 4096), 0);
	begin();
	map_code(NULL, -1);
	call_machine_code();
	unwind();
	CHECK(is_complete());
	hs_close_goes_on();
	map_code(code, fd);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK_INT(frames[1].address, (uintptr_t)code + INNER_RETURN - 1);
	CHECK_INT(frames[1].mapping, HS_MAPPING_UNKNOWN);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	CHECK_INT(hs_stats_get(unwind_late), late + 1);
	atomic_store(&hs_library_closes, 0);
	atomic_store(&hs_library_closes_unwaited, 0);
	munmap(code, 4096);
	close(fd);
	end();
}

/* The frame of this function is found by its frame pointer. */
static FRAME uint64_t frame_pointer_frame(size_t bytes)
{
	volatile char *room = __builtin_alloca(bytes);

	room[0] = 1;
	capture_leaf();
	NO_TAIL_CALL();
	return (uint64_t)room[0];
}

/* Two frame records that point at each other. */
static void test_loop(void)
{
	uint64_t words[32] = {0};
	uint64_t start = 0x7000000000;
	uint64_t errors = hs_stats_get(unwind_bad_frame);
	volatile size_t bytes = 100; /* a constant would make the frame one without alloca */

	begin();
	frame_pointer_frame(bytes);
	unwind();
	words[8] = start + 2 * 8;
	words[9] = frames[1].address + 1;
	words[2] = start + 8 * 8;
	words[3] = frames[1].address + 1;
	capture.captured = (struct hs_captured){
		.regs = {.pc = words[9], .sp = start, .bp = start + 8 * 8},
		.stack = words,
		.stack_bytes = sizeof words,
	};
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	CHECK_INT(hs_stats_get(unwind_bad_frame), errors + 1);
	end();
}

static jmp_buf after_capture;
static uint64_t return_of_last_call;

/* Captures the caller's registers, as at the entry of an interposed function. */
static FRAME __attribute__((noreturn)) void capture_caller(void)
{
	const uint64_t *frame = __builtin_frame_address(0);
	struct hs_captured *captured = &capture.captured;
	size_t skipped;

	capture_here();
	skipped = (uintptr_t)(frame + 2) - captured->regs.sp;
	captured->regs.pc = (uintptr_t)__builtin_return_address(0);
	captured->regs.sp += skipped;
	captured->stack = capture.bytes + skipped;
	captured->stack_bytes -= skipped;
	memcpy(&captured->regs.bp, capture.bytes + skipped - 16, 8);
	longjmp(after_capture, 1);
}

/* Ends with a call, so the return address is in the next function. */
static FRAME void end_with_call(void)
{
	return_of_last_call = (uintptr_t)__builtin_return_address(0);
	capture_caller();
}

static void test_return_address_past_the_function(void)
{
	begin();
	if (setjmp(after_capture) == 0)
		end_with_call();
	unwind();
	CHECK(is_complete());
	CHECK_INT(frames[1].address + 1, return_of_last_call);
	end();
}

static void *capture_and_allocate(void *opaque, unsigned count, unsigned bytes)
{
	(void)opaque;
	capture_here();
	return calloc(count, bytes);
}

static void free_memory(void *opaque, void *memory)
{
	(void)opaque;
	free(memory);
}

/* Captures in a call by a library, and closes the library.  False if it stays loaded. */
static bool capture_in_closed_library(void)
{
	void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
	z_stream stream = {.zalloc = capture_and_allocate, .zfree = free_memory};
	__typeof__(inflateInit_) *inflate_init;
	__typeof__(inflateEnd) *inflate_end;
	void *address;

	if (library == NULL)
		return false;
	address = dlsym(library, "inflateInit_");
	memcpy(&inflate_init, &address, sizeof address);
	address = dlsym(library, "inflateEnd");
	memcpy(&inflate_end, &address, sizeof address);
	CHECK_INT(inflate_init(&stream, ZLIB_VERSION, (int)sizeof stream), Z_OK);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	unwind();
	CHECK(is_complete());
	inflate_end(&stream);
	dlclose(library);
	library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (library != NULL)
		dlclose(library);
	return library == NULL;
}

static void test_closed_library(void)
{
	uint32_t library;

	begin();
	if (capture_in_closed_library()) {
		library = frames[1].mapping;
		/* The index is as before but no page is cached: the tables cannot be read. */
		CHECK(strstr(hs_mapping_table_get(table, library)->path, "libz") != NULL);
		hs_unwinder_destroy(unwinder);
		unwinder = hs_unwinder_create(table, NULL);
		CHECK_INT(hs_unwinder_load_engine(unwinder), 0);
		CHECK_INT(hs_mapping_table_refresh(table), 0);
		unwind();
		CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
		CHECK_INT(frames[1].mapping, HS_MAPPING_UNKNOWN);
		CHECK(strstr(hs_mapping_table_get(table, library)->path, "libz") != NULL);
	} else {
		printf("skipped: libz.so.1 cannot be loaded and closed\n");
	}
	end();
}

int main(void)
{
	if (hs_arena_init((size_t)256 << 20) < 0)
		return 99;
	RUN(test_code_without_unwind_tables);
	RUN(test_code_without_a_call);
	RUN(test_return_to_an_entry);
	RUN(test_return_to_a_pushed_entry);
	RUN(test_code_that_is_gone);
	RUN(test_replaced_code);
	RUN(test_code_replaced_by_a_close);
	RUN(test_loop);
	RUN(test_return_address_past_the_function);
	RUN(test_closed_library);
	free(capture.bytes);
	return CHECK_RESULT();
}
