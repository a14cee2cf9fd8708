/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwinds through frames that are hard: assembly, expressions, switched stacks, any instruction. */
#include <libunwind.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "base/arena.h"
#include "base/stats.h"
#include "check.h"
#include "unwind_fixture.h"

#if UNW_VERSION >= UNW_VERSION_CODE(1, 4)
#define RBX_BY_CFA "3, 0x08, 16, 0x1c" /* (CFA) DW_OP_const1u 16, DW_OP_minus */
#else
#define RBX_BY_CFA "2, 0x77, 32" /* DW_OP_breg7 32: before 1.4 the CFA is not there first */
#endif

typedef void function(void);

/*
 * Each calls its argument (call_step_by_step: with a SIGTRAP after each instruction), the first
 * with an argument for it.
 *
 * call_by_rbx: the canonical frame address hangs on rbx, so it is found only if the frames
 * inside have told where rbx is.  These hide it: at an offset, by DW_CFA_def_cfa_expression
 * and DW_CFA_expression, by DW_CFA_val_expression (the complement of it is kept).
 */
void call_by_rbx(void (*f)(function *), function *argument);
void hide_at_offset(function *f);
void hide_by_expression(function *f);
void hide_by_value(function *f);
void call_step_by_step(function *f);

__asm__(".text\n"
	".type call_by_rbx, @function\n"
	"call_by_rbx: .cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset 3, -16\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa 3, 16\n"
	"	sub $160, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa 7, 16\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size call_by_rbx, . - call_by_rbx\n"

	"hide_at_offset: .cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset 3, -16\n"
	"	mov $-1, %rbx\n"
	"	call *%rdi\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"

	/* CFA: DW_OP_breg7 8, DW_OP_deref.  rbx: at RBX_BY_CFA. */
	"hide_by_expression: .cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	sub $32, %rsp\n"
	"	.cfi_adjust_cfa_offset 32\n"
	"	lea 48(%rsp), %rax\n"
	"	mov %rax, 8(%rsp)\n"
	"	mov $-1, %rbx\n"
	"	.cfi_escape 0x0f, 3, 0x77, 8, 0x06\n"
	"	.cfi_escape 0x10, 3, " RBX_BY_CFA "\n"
	"	call *%rdi\n"
	"	add $32, %rsp\n"
	"	pop %rbx\n"
	"	.cfi_def_cfa 7, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"

	/* rbx: DW_OP_breg7 0, DW_OP_deref, DW_OP_not. */
	"hide_by_value: .cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	sub $16, %rsp\n"
	"	.cfi_adjust_cfa_offset 16\n"
	"	not %rbx\n"
	"	mov %rbx, (%rsp)\n"
	"	mov $-1, %rbx\n"
	"	.cfi_escape 0x16, 3, 4, 0x77, 0, 0x06, 0x20\n"
	"	call *%rdi\n"
	"	add $16, %rsp\n"
	"	.cfi_adjust_cfa_offset -16\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"

	"call_step_by_step: .cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushf\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	orq $0x100, (%rsp)\n"
	"	popf\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	call *%rdi\n"
	"	pushf\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	andq $~0x100, (%rsp)\n"
	"	popf\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n");

static FRAME void capture_leaf(void)
{
	capture_here();
	NO_TAIL_CALL();
}

static uint64_t return_of_caller;

static FRAME void call_assembly(void (*hide)(function *))
{
	return_of_caller = (uintptr_t)__builtin_return_address(0);
	call_by_rbx(hide, capture_leaf);
	NO_TAIL_CALL();
}

static void test_register_rules(void)
{
	void (*const rules[])(function *) = {hide_at_offset, hide_by_expression, hide_by_value};

	begin();
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
		call_assembly(rules[i]);
		unwind();
		CHECK(frame_count >= 6);
		CHECK(frames[1].address - (uintptr_t)rules[i] < 64);
		CHECK(frames[2].address - (uintptr_t)call_by_rbx < 64);
		CHECK_INT(frames[4].address + 1, return_of_caller);
		CHECK(is_complete());
	}
	end();
}

/* A frame whose size is not known at compile time, and one that is also realigned. */
static FRAME char dynamic_frame(size_t bytes, bool realigned)
{
	volatile char *room = __builtin_alloca(bytes);

	if (realigned) {
		volatile char aligned[128] __attribute__((aligned(128)));
		aligned[0] = 1;
		capture_leaf();
		NO_TAIL_CALL();
		return (char)(room[0] + aligned[0]);
	}
	room[0] = 1;
	capture_leaf();
	NO_TAIL_CALL();
	return room[0];
}

/* The argument on the stack is found by way of the unaligned frame pointer (DRAP). */
static FRAME long realigned_frame(long a, long b, long c, long d, long e, long f, long on_stack)
{
	volatile char aligned[256] __attribute__((aligned(256)));

	return_of_caller = (uintptr_t)__builtin_return_address(0);
	aligned[0] = (char)(a + b + c + d + e + f + on_stack);
	capture_leaf();
	NO_TAIL_CALL();
	return aligned[0] + on_stack;
}

static FRAME void call_dynamic(size_t bytes, bool realigned)
{
	return_of_caller = (uintptr_t)__builtin_return_address(0);
	dynamic_frame(bytes, realigned);
	NO_TAIL_CALL();
}

static void test_frames_of_no_constant_size(void)
{
	begin();
	for (size_t bytes = 1; bytes < 5000; bytes += 371) {
		for (int realigned = 0; realigned < 2; realigned++) {
			call_dynamic(bytes, realigned);
			unwind();
			CHECK_INT(frames[3].address + 1, return_of_caller);
			CHECK(is_complete());
		}
		realigned_frame(1, 2, 3, 4, 5, 6, (long)bytes);
		unwind();
		CHECK_INT(frames[2].address + 1, return_of_caller);
		CHECK(is_complete());
	}
	end();
}

static ucontext_t main_context, coroutine_context;
static uint64_t start_of_coroutine; /* what its function returns to */

static void run_coroutine(unsigned char *stack, size_t bytes, function *f)
{
	CHECK_INT(getcontext(&coroutine_context), 0);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = bytes;
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, f, 0);
	start_of_coroutine = *(uint64_t *)coroutine_context.uc_mcontext.gregs[REG_RSP];
	CHECK_INT(swapcontext(&main_context, &coroutine_context), 0);
}

static void test_coroutine(void)
{
	unsigned char *stack;

	begin();
	stack = new_stack(PROT_READ | PROT_WRITE);
	run_coroutine(stack, NEW_STACK_BYTES, capture_leaf);
	/* As for the sampler, which does not know the end of this stack. */
	for (int cut = 0; cut < 2; cut++) {
		capture.captured.stack_cut = cut;
		unwind();
		CHECK_INT(frame_count, 2);
		CHECK(is_complete());
		CHECK(strstr(path_of(&frames[1]), "/libc") != NULL);
		CHECK_INT(frames[1].address, start_of_coroutine);
	}
	munmap(stack, NEW_STACK_BYTES);
	end();
}

static void on_signal(int number)
{
	(void)number;
	capture_here();
}

static void raise_in_coroutine(void)
{
	CHECK_INT(raise(SIGUSR1), 0);
}

/* The interrupted stack is in the copy: it lies above the alternate one. */
static void test_alternate_stack_below_the_interrupted(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	stack_t alternate = {.ss_size = NEW_STACK_BYTES / 2}, none = {.ss_flags = SS_DISABLE};
	unsigned char *stack;
	uint64_t truncated = hs_stats_get(stack_truncated);
	bool interrupted = false;

	begin();
	stack = new_stack(PROT_READ | PROT_WRITE);
	alternate.ss_sp = stack;
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_INT(sigaltstack(&alternate, NULL), 0);
	run_coroutine(stack + NEW_STACK_BYTES / 2, NEW_STACK_BYTES / 2, raise_in_coroutine);
	CHECK_INT(sigaltstack(&none, NULL), 0);
	unwind();
	CHECK(is_complete());
	for (size_t i = 1; i < frame_count; i++)
		interrupted |= frames[i].address - (uintptr_t)raise_in_coroutine < 64;
	CHECK(interrupted);
	CHECK_INT(hs_stats_get(stack_truncated), truncated);
	munmap(stack, NEW_STACK_BYTES);
	end();
}

/* The outer frames that all stacks have while code is stepped through. */
static uint64_t outer[DEPTH];
static size_t outer_count;
static size_t steps, steps_in_vdso;

static void on_trap(int number, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	uint64_t pc = (uint64_t)interrupted->uc_mcontext.gregs[REG_RIP];
	size_t at = 1;
	int failures = check_failures;

	(void)number, (void)info;
	capture_here();
	unwind();
	while (at < frame_count && frames[at].address != pc)
		at++;
	CHECK(at < frame_count);
	CHECK(is_complete());
	CHECK(frame_count >= at + outer_count);
	for (size_t i = 1; i < outer_count && frame_count >= outer_count; i++)
		CHECK_INT(frames[frame_count - i].address, outer[outer_count - i]);
	if (check_failures != failures)
		printf("# pc %lx in %s\n", (long)pc, path_of(&frames[at < frame_count ? at : 0]));
	steps++;
	steps_in_vdso += at < frame_count && strcmp(path_of(&frames[at]), "[vdso]") == 0;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* A signal may come between any two instructions: prologues, epilogues, leaves, the vDSO. */
static FRAME void step_through(function *f)
{
	capture_here();
	unwind();
	outer_count = frame_count;
	for (size_t i = 0; i < frame_count; i++)
		outer[i] = frames[i].address;
	call_step_by_step(f);
	NO_TAIL_CALL();
}

static void call_functions(void)
{
	int numbers[] = {3, 1, 2, 5, 4};
	struct timespec now;

	qsort(numbers, 5, sizeof numbers[0], compare);
	clock_gettime(CLOCK_MONOTONIC, &now);
	call_by_rbx(hide_at_offset, capture_leaf);
}

static void test_every_instruction(void)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	uint64_t by_libunwind;

#ifdef __SANITIZE_THREAD__
	printf("# left out: what is stepped through would be ThreadSanitizer, which that breaks\n");
	return;
#endif
	begin();
	CHECK_INT(sigaction(SIGTRAP, &action, NULL), 0);
	steps = steps_in_vdso = 0;
	by_libunwind = hs_stats_get(unwind_rows_fallback);
	step_through(call_functions);
	CHECK_INT(hs_stats_get(unwind_rows_fallback), by_libunwind);
	printf("# %zu instructions, %zu of the vDSO\n", steps, steps_in_vdso);
	CHECK(steps > 300);
	CHECK(steps_in_vdso > 10);
	end();
}

int main(void)
{
	if (hs_arena_init((size_t)256 << 20) < 0)
		return 99;
	RUN(test_register_rules);
	RUN(test_frames_of_no_constant_size);
	RUN(test_coroutine);
	RUN(test_alternate_stack_below_the_interrupted);
	RUN(test_every_instruction);
	free(capture.bytes);
	return CHECK_RESULT();
}
