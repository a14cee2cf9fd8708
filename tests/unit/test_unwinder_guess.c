/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwinds from code without unwind information, and from stacks that begin or go on elsewhere. */
#include "base/arena.h"
#include "base/stats.h"
#include "check.h"
#include "unwind_fixture.h"

typedef void function(void);

/*
 * Each calls its argument.  The first seven have no unwind information: with a frame pointer,
 * without, without any frame, with a frame pointer that is none and leads to a zero, or to two, on
 * a stack of its own of which it is the first frame, and the same with a frame record of zeros and
 * by way of call_with_frame_pointer.
 */
void call_with_frame_pointer(function *f);
void call_without_frame_pointer(function *f);
void call_bare(function *f);
void call_below_a_zero(function *f);
void call_below_zeros(function *f);
void call_at_top(function *f, void *top);
void call_from_zeros(function *f, void *top);
void call_on_stack(function *f, void *top);

/*
 * The same by way of others.  These have unwind information and frame pointers: by_two calls
 * by_one, which calls call_bare; direct calls call_with_frame_pointer.  The others do so through
 * slots of a PLT, through pointers that are constant once they are relocated, and through the
 * pointer that a slot uses.
 */
void by_two(function *f);
void by_two_slots(function *f);
void by_two_constants(function *f);
void direct(function *f);
void by_slot(function *f);
void by_constant(function *f);
void by_pointer(function *f);

/* Of the slot. */
extern void (*address_of_call_with_frame_pointer)(function *f);

/* Where a slot leads before its first call, with lazy binding. */
void unresolved(function *f);

/* Has unwind information. */
void by_one(function *f);

/*
 * Ends with its call.  What follows has unwind information; it belongs to the same function, so
 * that this can return.
 */
void end_with_call(function *f);

/*
 * The same, and the call is the end of a page: of code with unwind information and no frame
 * pointer, and the other way round.
 */
void end_page_with_rows(function *f);
void end_page_with_frame_pointer(function *f);

/*
 * Its frame is larger than a page.  No row has its canonical frame address, DW_OP_breg7 4112,
 * DW_OP_nop.
 */
void call_from_large_frame(function *f);

/* Runs f on a stack that begins below top; f returns to the function begin_here. */
void run_from(function *f, void *top);
void begin_here(void);

/* The same with any return address, and no frame pointer. */
void run_to(function *f, void *top, function *back);

/* Go back from run_to(); no unwind information.  The code before them does not go on, or does. */
void behind_jump(void);
void behind_jump_by_memory(void);
void behind_short_jump(void);
void behind_near_jump(void);
void behind_return(void);
void behind_breakpoint(void);
void behind_halt(void);
void behind_undefined(void);
void behind_nothing(void);
void behind_condition(void);

#define BEHIND(name, code)                                                                         \
	"	.skip 8, 0x90\n"                                                                   \
	"	" code "\n"                                                                        \
	#name ":\n"                                                                               \
	"	mov %rbx, %rsp\n"                                                                  \
	"	pop %rbx\n"                                                                        \
	"	pop %rbp\n"                                                                        \
	"	ret\n"

/* A slot of a PLT. */
#define SLOT(name, target)                                                                         \
	#name ": .cfi_startproc\n"                                                                 \
	"	endbr64\n"                                                                         \
	"	.byte 0xf2\n" /* bnd, which clang does not know */                                 \
	"	jmp *address_of_" #target "(%rip)\n"                                               \
	"	.cfi_endproc\n"                                                                    \
	".data\n"                                                                           \
	"address_of_" #target ": .quad " #target "\n"                                              \
	".text\n"

#define WITH_FRAME_POINTER(name, callee)                                                           \
	#name ": .cfi_startproc\n"                                                                 \
	"	push %rbp\n"                                                                       \
	"	.cfi_def_cfa 7, 16\n"                                                              \
	"	.cfi_offset 6, -16\n"                                                              \
	"	mov %rsp, %rbp\n"                                                                  \
	"	.cfi_def_cfa_register 6\n"                                                         \
	"	call " #callee "\n"                                                                \
	"	pop %rbp\n"                                                                        \
	"	.cfi_def_cfa 7, 8\n"                                                               \
	"	ret\n"                                                                             \
	"	.cfi_endproc\n"

__asm__(".text\n"
	"call_with_frame_pointer:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	call *%rdi\n"
	"	pop %rbp\n"
	"	ret\n"

	"call_without_frame_pointer:\n"
	"	push %rbp\n"
	"	mov $1, %ebp\n"
	"	call *%rdi\n"
	"	pop %rbp\n"
	"	ret\n"

	"call_bare:\n"
	"	sub $8, %rsp\n"
	"	call *%rdi\n"
	"	add $8, %rsp\n"
	"	ret\n"

	"call_below_a_zero:\n"
	"	push %rbp\n"
	"	push $0\n"
	"	push $1\n"
	"	mov %rsp, %rbp\n"
	"	call *%rdi\n"
	"	add $16, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"

	"call_below_zeros:\n"
	"	push %rbp\n"
	"	push $0\n"
	"	push $0\n"
	"	mov %rsp, %rbp\n"
	"	call *%rdi\n"
	"	add $16, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"

	"call_at_top:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	mov %rsp, %rbx\n"
	"	mov %rsi, %rsp\n"
	"	xor %ebp, %ebp\n"
	"	call *%rdi\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"

	"call_from_zeros:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	mov %rsp, %rbx\n"
	"	mov %rsi, %rsp\n"
	"	push $0\n"
	"	push $0\n"
	"	mov %rsp, %rbp\n"
	"	call call_with_frame_pointer\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"

	"call_on_stack: .cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset 6, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register 6\n"
	"	mov %rsi, %rsp\n"
	"	call *%rdi\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa 7, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"

	"end_with_call:\n"
	"	push %rbp\n"
	"	mov $1, %ebp\n"
	"	call *%rdi\n"
	"	.cfi_startproc\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"

	"	.balign 4096\n"
	"	.skip 4096 - 8, 0xcc\n"
	"end_page_with_rows: .cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa 7, 16\n"
	"	.cfi_offset 6, -16\n"
	"	mov $1, %ebp\n"
	"	call *%rdi\n"
	"	.cfi_endproc\n"
	"	.cfi_startproc\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"

	"	.balign 4096\n"
	"	.skip 4096 - 6, 0xcc\n"
	"end_page_with_frame_pointer:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	call *%rdi\n"
	"	.cfi_startproc\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"

	"call_from_large_frame: .cfi_startproc\n"
	"	sub $4104, %rsp\n"
	"	.cfi_escape 0x0f, 4, 0x77, 0x90, 0x20, 0x96\n"
	"	call *%rdi\n"
	"	add $4104, %rsp\n"
	"	.cfi_def_cfa 7, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"

	"run_from:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	mov %rsp, %rbx\n"
	"	lea begin_here(%rip), %rax\n"
	"	mov %rsi, %rsp\n"
	"	push %rax\n"
	"	jmp *%rdi\n"

	"run_to:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	mov %rsp, %rbx\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsi, %rsp\n"
	"	push %rdx\n"
	BEHIND(behind_jump, "jmp *%rdi")
	BEHIND(behind_jump_by_memory, "jmp *0x100(%rax, %rbx, 8)")
	BEHIND(behind_short_jump, ".byte 0xeb, 0xf0")
	BEHIND(behind_near_jump, ".byte 0xe9, 0xf0, 0xff, 0xff, 0xff")
	BEHIND(behind_return, "ret")
	BEHIND(behind_breakpoint, "int3")
	BEHIND(behind_halt, "hlt")
	BEHIND(behind_undefined, "ud2")
	BEHIND(behind_nothing, "nop")
	BEHIND(behind_condition, ".byte 0x74, 0xf0")

	/* At its end the rows are of a frame of 24 bytes; behind it there is no gap. */
	"end_of_another: .cfi_startproc\n"
	"	sub $24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	"begin_here: .cfi_startproc\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"

	"unresolved: .cfi_startproc\n"
	"	endbr64\n"
	"	push $1\n"
	"	.byte 0xf2\n"
	"	jmp unresolved\n"
	"	.cfi_endproc\n"

	WITH_FRAME_POINTER(by_one, call_bare)
	WITH_FRAME_POINTER(by_two, by_one)
	SLOT(slot_of_one, by_one)
	WITH_FRAME_POINTER(by_two_slots, slot_of_one)
	".section .data.rel.ro, \"aw\", @progbits\n"
	"constant_address_of_by_one: .quad by_one\n"
	"constant_address_of_call_with_frame_pointer: .quad call_with_frame_pointer\n"
	".text\n"
	WITH_FRAME_POINTER(by_two_constants, *constant_address_of_by_one(%rip))
	WITH_FRAME_POINTER(direct, call_with_frame_pointer)
	SLOT(slot, call_with_frame_pointer)
	WITH_FRAME_POINTER(by_slot, slot)
	WITH_FRAME_POINTER(by_constant, *constant_address_of_call_with_frame_pointer(%rip))
	WITH_FRAME_POINTER(by_pointer, *address_of_call_with_frame_pointer(%rip)));

static FRAME void capture_leaf(void)
{
	capture_here();
	NO_TAIL_CALL();
}

static uint64_t return_of_caller;

static FRAME void call_from_c(void (*assembly)(function *))
{
	return_of_caller = (uintptr_t)__builtin_return_address(0);
	assembly(capture_leaf);
	NO_TAIL_CALL();
}

static void test_no_information(void)
{
	uint64_t errors = hs_stats_get(unwind_no_info);

	begin();
	call_from_c(call_with_frame_pointer);
	unwind();
	CHECK(frames[1].address - (uintptr_t)call_with_frame_pointer < 16);
	CHECK_INT(frames[3].address + 1, return_of_caller);
	CHECK(is_complete());
	CHECK_INT(hs_stats_get(unwind_no_info), errors);

	call_from_c(call_without_frame_pointer);
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK(frames[1].address - (uintptr_t)call_without_frame_pointer < 16);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	CHECK_INT(hs_stats_get(unwind_no_info), errors + 1);
	end();
}

/* The stack cannot be unwound past the leaf's caller. */
static void check_no_information(void (*called)(function *), void (*last)(function *))
{
	uint64_t errors = hs_stats_get(unwind_no_info);

	begin();
	call_from_c(called);
	for (unsigned cut = 0; cut < 2; cut++) {
		capture.captured.stack_cut = cut;
		unwind();
		CHECK_INT(frame_count, 3);
		CHECK(frames[1].address - (uintptr_t)last < 16);
		CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
		CHECK_INT(hs_stats_get(unwind_no_info), errors + 1 + cut);
	}
	end();
}

/* What the frame pointer leads to is not the frame's caller, but the caller of one further out. */
static void test_frame_pointer_of_another(void)
{
	check_no_information(by_two, call_bare);
	check_no_information(by_two_slots, call_bare);
	check_no_information(by_two_constants, call_bare);
}

/* It is not the return address at a stack's end. */
static void test_zero_where_a_return_address_would_be(void)
{
	check_no_information(call_below_a_zero, call_below_a_zero);
	check_no_information(call_below_zeros, call_below_zeros);
}

static void test_frame_pointer_of_its_own(void)
{
	void (*const functions[])(function *) = {direct, by_slot, by_constant, by_pointer};

	begin();
	for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
		call_from_c(functions[i]);
		unwind();
		CHECK(frames[1].address - (uintptr_t)call_with_frame_pointer < 16);
		CHECK(frames[2].address - (uintptr_t)functions[i] < 16);
		CHECK_INT(frames[4].address + 1, return_of_caller);
		CHECK(is_complete());
	}
	end();
}

/* The pages that are read are older than the call. */
static void test_slot_before_its_first_call(void)
{
	begin();
	call_from_c(by_slot);
	address_of_call_with_frame_pointer = unresolved;
	unwind();
	address_of_call_with_frame_pointer = call_with_frame_pointer;
	CHECK(frames[2].address - (uintptr_t)by_slot < 16);
	CHECK(is_complete());
	end();
}

/* A pointer that leads to a function with unwind information by now did not when it was called. */
static void test_pointer_that_has_changed(void)
{
	begin();
	call_from_c(by_pointer);
	address_of_call_with_frame_pointer = by_one;
	unwind();
	address_of_call_with_frame_pointer = call_with_frame_pointer;
	CHECK(frames[1].address - (uintptr_t)call_with_frame_pointer < 16);
	CHECK(frames[2].address - (uintptr_t)by_pointer < 16);
	CHECK_INT(frames[4].address + 1, return_of_caller);
	CHECK(is_complete());
	end();
}

/* The frame before is known by its unwind information: only that of a guess ends the stack. */
static void test_nowhere_behind_a_guess(void)
{
	uint64_t errors = hs_stats_get(unwind_no_mapping);

	begin();
	call_from_c(direct);
	unwind();
	for (size_t at = 0; at + 8 <= capture.captured.stack_bytes; at += 8) {
		uint64_t *word = (uint64_t *)(void *)(capture.bytes + at);

		if (*word == frames[3].address + 1)
			*word = 0x1234;
	}
	unwind();
	CHECK_INT(frame_count, 5);
	CHECK(frames[2].address - (uintptr_t)direct < 16);
	CHECK_INT(frames[3].address, 0x1234 - 1);
	CHECK_INT(frames[3].mapping, HS_MAPPING_UNKNOWN);
	CHECK_INT(hs_stats_get(unwind_no_mapping), errors + 1);
	end();
}

/* A frame record that leads to itself is not followed again. */
static void test_frame_record_in_a_circle(void)
{
	begin();
	call_from_c(call_with_frame_pointer);
	unwind();
	for (size_t at = 0; at + 16 <= capture.captured.stack_bytes; at += 8) {
		uint64_t *record = (uint64_t *)(void *)(capture.bytes + at);

		if (record[1] == frames[2].address + 1) {
			record[0] = capture.captured.regs.sp + at;
			record[1] = frames[1].address + 1;
		}
	}
	unwind();
	CHECK_INT(frame_count, 4);
	CHECK(frames[2].address == frames[1].address);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	end();
}

/* The return address has unwind information, but the stack does not begin there. */
static void test_information_after_the_call(void)
{
	check_no_information(end_with_call, end_with_call);
}

/* Code that cannot be read may be a call: where it returns to the stack does not begin either. */
static void check_end_of_page(void (*last)(function *), int protection)
{
	uintptr_t next_page = ((uintptr_t)last | 4095) + 1;

	CHECK_INT(mprotect((void *)(next_page - 4096), 4096, protection), 0);
	begin();
	CHECK_INT(hs_mapping_table_is_readable(table, next_page - 4096, 4096),
		  (protection & PROT_READ) != 0);
	call_from_c(last);
	unwind();
	CHECK_INT(frames[1].address + 1, next_page);
	CHECK_INT(frames[3].address + 1, return_of_caller);
	CHECK(is_complete());
	end();
}

static void test_information_after_unreadable_code(void)
{
	check_end_of_page(end_page_with_rows, PROT_EXEC);
	check_end_of_page(end_page_with_rows, PROT_READ | PROT_EXEC);
	check_end_of_page(end_page_with_frame_pointer, PROT_EXEC);
	check_end_of_page(end_page_with_frame_pointer, PROT_READ | PROT_EXEC);
}

/* What the first function returns to is not in the function before that. */
static void test_first_frame_behind_a_function(void)
{
	unsigned char *stack;

	begin();
	stack = new_stack(PROT_READ | PROT_WRITE);
	run_from(capture_leaf, stack + NEW_STACK_BYTES - 256);
	for (int cut = 0; cut < 2; cut++) {
		capture.captured.stack_cut = cut;
		unwind();
		CHECK_INT(frame_count, 2);
		CHECK_INT(frames[1].address, (uintptr_t)begin_here);
		CHECK(is_complete());
	}
	munmap(stack, NEW_STACK_BYTES);
	end();
}

/* The stack ends with the frame that has gone to f and is to return to `back`, or with an error. */
static void check_behind(function *back, bool is_end)
{
	unsigned char *stack = new_stack(PROT_READ | PROT_WRITE);

	run_to(capture_leaf, stack + NEW_STACK_BYTES - 256, back);
	for (int cut = 0; cut < 2; cut++) {
		capture.captured.stack_cut = cut;
		unwind();
		CHECK_INT(frame_count, is_end ? 2 : 3);
		CHECK_INT(frames[1].address, (uintptr_t)back - !is_end);
		CHECK(is_end ? is_complete() : ends_with(HS_PSEUDO_UNWIND_ERROR));
	}
	munmap(stack, NEW_STACK_BYTES);
}

/* As of coroutines of Boost.Context.  The code behind a call, or that goes on, is in a function. */
static void test_first_frame_without_information(void)
{
	function *const ends[] = {
		behind_jump,       behind_jump_by_memory, behind_short_jump, behind_near_jump,
		behind_return,     behind_breakpoint,     behind_halt,       behind_undefined,
	};

	begin();
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		check_behind(ends[i], true);
	check_behind(behind_nothing, false);
	check_behind(behind_condition, false);
	end();
}

/* Generated code may push any address before it jumps. */
static void test_first_frame_in_generated_code(void)
{
	/* As behind_return. */
	static const unsigned char machine_code[] = {
		0xc3, 0x48, 0x89, 0xdc, 0x5b, 0x5d, 0xc3,
	};
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *address = code + 8;
	function *back;

	CHECK(code != MAP_FAILED);
	memcpy(address - 1, machine_code, sizeof machine_code);
	memcpy(&back, &address, sizeof back);
	begin();
	check_behind(back, false);
	munmap(code, 4096);
	end();
}

static void test_stack_of_its_own(void)
{
	unsigned char *stack;
	uint64_t errors = hs_stats_get(unwind_no_info);

	begin();
	stack = new_stack(PROT_READ | PROT_WRITE);
	call_at_top(capture_leaf, stack + NEW_STACK_BYTES);
	unwind();
	CHECK_INT(frame_count, 2);
	CHECK(frames[1].address - (uintptr_t)call_at_top < 32);
	CHECK(is_complete());
	CHECK_INT(hs_stats_get(unwind_no_info), errors);
	/* This is the end of the copy, not of the stack. */
	capture.captured.stack_cut = true;
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK(!is_complete());

	munmap(stack, NEW_STACK_BYTES);
	end();
}

/* The last one: where the stack is known to end, or at the end of a chain of records. */
static void test_record_of_zeros(void)
{
	unsigned char *stack;

	begin();
	stack = new_stack(PROT_READ | PROT_WRITE);
	call_from_zeros(capture_leaf, stack + NEW_STACK_BYTES);
	for (int cut = 0; cut < 2; cut++) {
		capture.captured.stack_cut = cut;
		unwind();
		CHECK_INT(frame_count, 3);
		CHECK(frames[2].address - (uintptr_t)call_from_zeros < 32);
		CHECK(is_complete());
	}
	call_from_zeros(capture_leaf, stack + NEW_STACK_BYTES - 1024);
	unwind();
	CHECK_INT(frame_count, 4);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	munmap(stack, NEW_STACK_BYTES);
	end();
}

/* The frames before the switch are on a stack that was not copied. */
static void test_switch_to_another_stack(void)
{
	uint64_t errors = hs_stats_get(unwind_bad_frame);
	uint64_t asked = hs_stats_get(unwind_rows_fallback);
	unsigned char *stack;

	begin();
	stack = new_stack(PROT_READ | PROT_WRITE);
	call_on_stack(capture_leaf, stack + NEW_STACK_BYTES);
	/* As for the sampler, which does not know the end of this stack. */
	capture.captured.stack_cut = true;
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK(frames[1].address - (uintptr_t)call_on_stack < 32);
	CHECK(ends_with(HS_PSEUDO_TRUNCATED));
	CHECK_INT(hs_stats_get(unwind_rows_fallback), asked);

	/* It does: the frame pointer is wrong. */
	capture.captured.stack_cut = false;
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	CHECK_INT(hs_stats_get(unwind_bad_frame), errors + 1);
	munmap(stack, NEW_STACK_BYTES);
	end();
}

static void call_capture(void)
{
	call_from_large_frame(capture_leaf);
	NO_TAIL_CALL();
}

/* Stacks may be executable, as generated code is; what they hold now is not what they held. */
static void test_executable_stack(void)
{
	unsigned char *stack;

	begin();
	stack = new_stack(PROT_READ | PROT_WRITE | PROT_EXEC);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	call_on_stack(call_capture, stack + NEW_STACK_BYTES);
	unwind();
	CHECK(frames[2].address - (uintptr_t)call_capture < 32);
	capture.captured.stack_bytes = 4096;
	capture.captured.stack_cut = true;
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK(frames[1].address - (uintptr_t)call_from_large_frame < 32);
	CHECK(ends_with(HS_PSEUDO_TRUNCATED));
	munmap(stack, NEW_STACK_BYTES);
	end();
}

/* As _start: a frame pointer of 0 at the end of the stack.  Elsewhere it may be anything. */
static void test_first_frame_of_the_program(void)
{
	unsigned char *stack;

	begin();
	stack = new_stack(PROT_READ | PROT_WRITE);
	call_at_top(capture_leaf, stack + NEW_STACK_BYTES - 16);
	unwind();
	CHECK_INT(frame_count, 2);
	CHECK(frames[1].address - (uintptr_t)call_at_top < 32);
	CHECK(is_complete());
	call_at_top(capture_leaf, stack + NEW_STACK_BYTES - 1024);
	unwind();
	CHECK_INT(frame_count, 3);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	munmap(stack, NEW_STACK_BYTES);
	end();
}

int main(void)
{
	if (hs_arena_init((size_t)256 << 20) < 0)
		return 99;
	RUN(test_no_information);
	RUN(test_frame_pointer_of_another);
	RUN(test_zero_where_a_return_address_would_be);
	RUN(test_frame_pointer_of_its_own);
	RUN(test_slot_before_its_first_call);
	RUN(test_pointer_that_has_changed);
	RUN(test_nowhere_behind_a_guess);
	RUN(test_frame_record_in_a_circle);
	RUN(test_information_after_the_call);
	RUN(test_information_after_unreadable_code);
	RUN(test_first_frame_behind_a_function);
	RUN(test_first_frame_without_information);
	RUN(test_first_frame_in_generated_code);
	RUN(test_stack_of_its_own);
	RUN(test_record_of_zeros);
	RUN(test_switch_to_another_stack);
	RUN(test_executable_stack);
	RUN(test_first_frame_of_the_program);
	free(capture.bytes);
	return CHECK_RESULT();
}
