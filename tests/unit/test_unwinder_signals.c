/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks that signals have interrupted are unwound without libunwind. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/stats.h"
#include "check.h"
#include "unwind_fixture.h"

#define NESTED_MOST 2

typedef void function(void);

/*
 * Each is interrupted by SIGILL at ud2: in its first instruction; with values in the red zone, of
 * which it returns the outermost; where its canonical frame address is by a register that its
 * callers know nothing of.
 */
void first_instruction(void);
unsigned long red_zone(void);
void by_rbx(void);
void by_rbp(void);
void by_r12(void);
void by_r13(void);
void by_r14(void);
void by_r15(void);

#define BY_REGISTER(name, number)                                                                  \
	"by_" name ": .cfi_startproc\n"                                                            \
	"	push %" name "\n"                                                                  \
	"	.cfi_adjust_cfa_offset 8\n"                                                        \
	"	.cfi_offset " number ", -16\n"                                                     \
	"	mov %rsp, %" name "\n"                                                             \
	"	.cfi_def_cfa " number ", 16\n"                                                     \
	"	sub $8 * (" number " + 1), %rsp\n"                                                 \
	"	ud2\n"                                                                             \
	"	mov %" name ", %rsp\n"                                                             \
	"	.cfi_def_cfa 7, 16\n"                                                              \
	"	pop %" name "\n"                                                                   \
	"	.cfi_adjust_cfa_offset -8\n"                                                       \
	"	ret\n"                                                                             \
	"	.cfi_endproc\n"

__asm__(".text\n"
	"first_instruction: .cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"red_zone: .cfi_startproc\n"
	"	movq $42, -128(%rsp)\n"
	"	movq $43, -8(%rsp)\n"
	"	ud2\n"
	"	mov -128(%rsp), %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	BY_REGISTER("rbx", "3")
	BY_REGISTER("rbp", "6")
	BY_REGISTER("r12", "12")
	BY_REGISTER("r13", "13")
	BY_REGISTER("r14", "14")
	BY_REGISTER("r15", "15"));

static int asked; /* for libunwind */

static enum hs_leave refuse_engine(bool is_first)
{
	(void)is_first;
	asked++;
	return HS_LEAVE_NEVER;
}

static void begin_without_libunwind(void)
{
	asked = 0;
	begin_unloaded(0, refuse_engine);
}

static void end_without_libunwind(void)
{
	CHECK_INT(asked, 0);
	end();
}

/* What was interrupted, and the code to which the handler returns: the innermost first. */
static struct {
	uint64_t pc;
	uint64_t restorer;
} interrupted[NESTED_MOST];
static size_t nested;
static const ucontext_t *innermost;

static void note_interrupted(const ucontext_t *context)
{
	uint64_t restorer;

	memcpy(&restorer, (const char *)context - sizeof restorer, sizeof restorer);
	memmove(interrupted + 1, interrupted, (NESTED_MOST - 1) * sizeof interrupted[0]);
	interrupted[0].pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	interrupted[0].restorer = restorer;
	nested++;
}

static void on_ill(int number, siginfo_t *info, void *context)
{
	ucontext_t *there = context;

	(void)number, (void)info;
	note_interrupted(there);
	innermost = there;
	capture_here();
	there->uc_mcontext.gregs[REG_RIP] += 2; /* behind ud2 */
}

/* Returns to where the call through the null pointer was. */
static void on_segv(int number, siginfo_t *info, void *context)
{
	ucontext_t *there = context;
	greg_t *registers = there->uc_mcontext.gregs;

	(void)number, (void)info;
	capture_here();
	memcpy(&registers[REG_RIP], (const void *)registers[REG_RSP], sizeof registers[REG_RIP]);
	registers[REG_RSP] += (greg_t)sizeof registers[REG_RIP];
}

static void on_usr1(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info;
	note_interrupted(context);
	first_instruction();
	NO_TAIL_CALL();
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	CHECK_INT(sigaction(number, &action, NULL), 0);
	nested = 0;
}

/* The frames from here on, of a stack before anything was interrupted. */
static uint64_t outer[DEPTH];
static size_t outer_count;

/* Notes the frames of its caller and further out, and calls f. */
static FRAME void call_noted(function *f)
{
	capture_here();
	unwind();
	CHECK(is_complete());
	outer_count = frame_count - 1;
	for (size_t i = 0; i < outer_count; i++)
		outer[i] = frames[i + 1].address;
	f();
	NO_TAIL_CALL();
}

/* The number of the frame of the innermost interrupted code. */
static size_t find_interrupted(void)
{
	size_t at = 1;

	while (at < frame_count && frames[at].address != interrupted[0].pc)
		at++;
	CHECK(at < frame_count);
	CHECK_INT(frames[at - 1].address, interrupted[0].restorer);
	return at;
}

/* Whether what call_noted() called, and has been interrupted, is the frame `at`. */
static bool is_called_by_noted(size_t at)
{
	bool equal = is_complete() && frame_count == at + 2 + outer_count &&
		     frames[at + 1].address - (uintptr_t)call_noted < 4096;

	for (size_t i = 0; equal && i < outer_count; i++)
		equal = frames[at + 2 + i].address == outer[i];
	return equal;
}

static void check_interrupted(function *f)
{
	size_t at;

	handle(SIGILL, on_ill, 0);
	call_noted(f);
	unwind();
	at = find_interrupted();
	CHECK(frames[at].address - (uintptr_t)f < 64);
	CHECK(is_called_by_noted(at));
}

static void test_first_instruction(void)
{
	begin_without_libunwind();
	check_interrupted(first_instruction);
	CHECK_INT(interrupted[0].pc, (uintptr_t)first_instruction);
	end_without_libunwind();
}

static void use_red_zone(void)
{
	CHECK_INT(red_zone(), 42);
}

static void test_red_zone(void)
{
	size_t at;

	begin_without_libunwind();
	handle(SIGILL, on_ill, 0);
	call_noted(use_red_zone);
	unwind();
	at = find_interrupted();
	CHECK(frames[at].address - (uintptr_t)red_zone < 64);
	CHECK(frames[at + 1].address - (uintptr_t)use_red_zone < 64);
	CHECK(is_called_by_noted(at + 1));
	end_without_libunwind();
}

static void test_every_register(void)
{
	function *const by[] = {by_rbx, by_rbp, by_r12, by_r13, by_r14, by_r15};

	begin_without_libunwind();
	for (size_t i = 0; i < sizeof by / sizeof by[0]; i++)
		check_interrupted(by[i]);
	end_without_libunwind();
}

static void raise_usr1(void)
{
	CHECK_INT(raise(SIGUSR1), 0);
}

static FRAME void call_null(void)
{
	void (*volatile null)(void) = NULL;

	null();
	NO_TAIL_CALL();
}

/* A pc of 0 is no end of the stack there. */
static void test_call_through_null(void)
{
	begin_without_libunwind();
	handle(SIGSEGV, on_segv, 0);
	call_null();
	unwind();
	CHECK(frame_count >= 3 && frames[frame_count - 2].address == 0);
	CHECK_INT(frames[frame_count - 2].mapping, HS_MAPPING_UNKNOWN);
	CHECK(ends_with(HS_PSEUDO_UNWIND_ERROR));
	end_without_libunwind();
}

static void test_handler_that_is_interrupted(void)
{
	size_t at;

#ifdef __SANITIZE_THREAD__
	printf("# left out: ThreadSanitizer blocks all signals in handlers\n");
	return;
#endif
	begin_without_libunwind();
	handle(SIGUSR1, on_usr1, 0);
	handle(SIGILL, on_ill, 0);
	call_noted(raise_usr1);
	CHECK_INT(nested, 2);
	unwind();
	at = find_interrupted();
	CHECK_INT(frames[at].address, (uintptr_t)first_instruction);
	CHECK(frames[at + 1].address - (uintptr_t)on_usr1 < 256);
	while (at < frame_count && frames[at].address != interrupted[1].restorer)
		at++;
	CHECK(at + 1 < frame_count && frames[at + 1].address == interrupted[1].pc);
	while (at < frame_count && frames[at].address - (uintptr_t)raise_usr1 >= 64)
		at++;
	CHECK(is_called_by_noted(at));
	end_without_libunwind();
}

/* The stack is copied up to the end of the alternate one; cut: that it goes on is known. */
static void check_alternate_stack(bool cut)
{
	stack_t alternate = {.ss_size = NEW_STACK_BYTES}, none = {.ss_flags = SS_DISABLE};
	uint64_t truncated = hs_stats_get(stack_truncated);

	handle(SIGILL, on_ill, SA_ONSTACK);
	alternate.ss_sp = new_stack(PROT_READ | PROT_WRITE);
	CHECK_INT(sigaltstack(&alternate, NULL), 0);
	first_instruction();
	CHECK_INT(sigaltstack(&none, NULL), 0);
	capture.captured.stack_cut = cut;
	unwind();
	CHECK_INT(find_interrupted(), frame_count - 2);
	CHECK(ends_with(HS_PSEUDO_TRUNCATED));
	CHECK_INT(hs_stats_get(stack_truncated), truncated + 1);
	munmap(alternate.ss_sp, NEW_STACK_BYTES);
}

static void test_alternate_stack(void)
{
	begin_without_libunwind();
	check_alternate_stack(false);
	check_alternate_stack(true);
	end_without_libunwind();
}

/* As the kernel knows it. */
struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	const void *restorer;
	unsigned long mask;
};

#define KERNEL_SA_RESTORER 0x04000000

/* mov $15, %rax; syscall: in a page without unwind information. */
static void test_restorer_of_the_program(void)
{
	static const unsigned char code[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kernel_sigaction action = {.handler = on_ill,
					  .flags = SA_SIGINFO | KERNEL_SA_RESTORER,
					  .restorer = page};
	size_t at;

	begin_without_libunwind();
	CHECK(page != MAP_FAILED);
	memcpy(page, code, sizeof code);
	CHECK_INT(syscall(SYS_rt_sigaction, SIGILL, &action, NULL, sizeof action.mask), 0);
	call_noted(by_r12);
	unwind();
	CHECK_INT(interrupted[0].restorer, (uintptr_t)page);
	at = find_interrupted();
	CHECK(is_called_by_noted(at));
	handle(SIGILL, on_ill, 0);
	munmap(page, 4096);
	end_without_libunwind();
}

/* Wherever it is cut, the stack ends before the interrupted frame, or that is right. */
static void test_cut_stack(void)
{
	uint64_t frame, end;
	size_t at;

	begin_without_libunwind();
	handle(SIGILL, on_ill, 0);
	call_noted(by_rbx);
	unwind();
	at = find_interrupted();
	frame = (uintptr_t)innermost - capture.captured.regs.sp;
	end = offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]) + 8;
	for (uint64_t bytes = 0; bytes < end + 16; bytes++) {
		for (int cut = 0; cut < 2; cut++) {
			capture.captured.stack_bytes = frame + bytes;
			capture.captured.stack_cut = cut;
			unwind();
			CHECK_INT(frame_count, at + 1 + (bytes >= end));
			CHECK(bytes < end || frames[at].address == interrupted[0].pc);
			CHECK(ends_with(cut || bytes >= end ? HS_PSEUDO_TRUNCATED
							    : HS_PSEUDO_UNWIND_ERROR));
		}
	}
	end_without_libunwind();
}

/* The interrupted code is the handler's return, with the same stack pointer. */
static void test_no_end(void)
{
	uint64_t truncated;
	ucontext_t *copy;

	begin_without_libunwind();
	handle(SIGILL, on_ill, 0);
	call_noted(first_instruction);
	truncated = hs_stats_get(depth_truncated);
	copy = (ucontext_t *)(void *)(capture.bytes +
				      ((uintptr_t)innermost - capture.captured.regs.sp));
	copy->uc_mcontext.gregs[REG_RIP] = (greg_t)interrupted[0].restorer;
	copy->uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)innermost;
	unwind();
	CHECK_INT(frame_count, DEPTH + 1);
	CHECK_INT(frames[DEPTH - 1].address, interrupted[0].restorer);
	CHECK_INT(hs_stats_get(depth_truncated), truncated + 1);
	end_without_libunwind();
}

int main(void)
{
	if (hs_arena_init((size_t)256 << 20) < 0)
		return 99;
	RUN(test_first_instruction);
	RUN(test_red_zone);
	RUN(test_every_register);
	RUN(test_call_through_null);
	RUN(test_handler_that_is_interrupted);
	RUN(test_alternate_stack);
	RUN(test_restorer_of_the_program);
	RUN(test_cut_stack);
	RUN(test_no_end);
	free(capture.bytes);
	return CHECK_RESULT();
}
