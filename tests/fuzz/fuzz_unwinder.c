/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwinder, over a real stack of this program that the input damages: registers and
 * words of the stack are replaced by noise, or by values that look right.
 *
 * The input: a byte of flags (1: the copy was cut short; 2: all of the stack is zero), a
 * 16-bit number of words that the stack keeps (0: all), a 16-bit depth (0: as deep as the
 * sampler may go), then edits: 16 bits for what (a register, else a word of the
 * stack), a byte for the kind of value, 64 bits for the value.  An input without
 * edits is the real stack, and must be unwound to its end.
 */
#include <gnu/libc-version.h>
#include <signal.h>

#include "fuzz.h"

#include "../unit/unwind_fixture.h"

#define REGISTERS (sizeof(struct hs_regs) / 8)
#define HEADER_BYTES 5
#define EDIT_BYTES 11

enum kind { KIND_NOISE, KIND_STACK, KIND_PROGRAM, KIND_LIBC, KIND_OWN_WORD, KINDS };

static struct hs_captured real;
static unsigned char *damaged;

static uint64_t number_at(const uint8_t *data, unsigned bytes)
{
	uint64_t number = 0;

	memcpy(&number, data, bytes);
	return number;
}

static void capture_in_handler(int signal_number)
{
	(void)signal_number;
	capture_here();
	NO_TAIL_CALL();
}

static int compare_and_capture(const void *a, const void *b)
{
	raise(SIGUSR1);
	NO_TAIL_CALL();
	return *(const int *)a - *(const int *)b;
}

/* Captures a stack that has frames of libc and of a signal. */
static FRAME void set_up(void)
{
	int numbers[] = { 2, 1 };

	begin();
	signal(SIGUSR1, capture_in_handler);
	qsort(numbers, 2, sizeof numbers[0], compare_and_capture);
	signal(SIGUSR1, SIG_DFL);
	real = capture.captured;
	damaged = malloc(real.stack_bytes);
}

static uint64_t value_of(enum kind kind, uint64_t number)
{
	uint64_t word;

	switch (kind) {
	case KIND_STACK:
		return real.regs.sp + (uint64_t)(int64_t)(int16_t)number;
	case KIND_PROGRAM:
		return (uintptr_t)&set_up + (uint64_t)(int64_t)(int16_t)number;
	case KIND_LIBC:
		return (uintptr_t)&gnu_get_libc_version + number % (1 << 20);
	case KIND_OWN_WORD:
		memcpy(&word, (const char *)real.stack + number % (real.stack_bytes / 8) * 8,
		       sizeof word);
		return word;
	default:
		return number;
	}
}

static void edit(const uint8_t *data)
{
	uint64_t *registers = &capture.captured.regs.pc;
	uint64_t target = number_at(data, 2);
	uint64_t value = value_of(data[2] % KINDS, number_at(data + 3, 8));

	if (target < REGISTERS)
		registers[target] = value;
	else
		memcpy(damaged + (target - REGISTERS) % (real.stack_bytes / 8) * 8, &value,
		       sizeof value);
}

static void check_frames(size_t depth)
{
	MUST(check_failures == 0);
	for (size_t i = 0; i < frame_count; i++) {
		const struct hs_frame *frame = &frames[i];
		const struct hs_mapping *mapping = hs_mapping_table_get(table, frame->mapping);

		if (frame->mapping == HS_MAPPING_NONE)
			MUST(frame->address < HS_PSEUDO_COUNT && i == frame_count - 1);
		else
			MUST(i < depth);
		if (mapping != NULL)
			MUST(frame->address >= mapping->start && frame->address < mapping->end);
		else
			MUST(frame->mapping >= HS_MAPPING_UNKNOWN);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uint8_t header[HEADER_BYTES] = { 0 };
	size_t words, depth;

	hs_arena_init(FUZZ_BUDGET);
	if (damaged == NULL)
		set_up();
	memcpy(header, data, bytes < HEADER_BYTES ? bytes : HEADER_BYTES);
	words = number_at(header + 1, 2);
	depth = number_at(header + 3, 2) % (DEPTH + 1);
	capture.captured = real;
	capture.captured.stack = damaged;
	capture.captured.stack_cut = (header[0] & 1) != 0;
	if (words > 0 && words * 8 < real.stack_bytes)
		capture.captured.stack_bytes = words * 8;
	memcpy(damaged, real.stack, real.stack_bytes);
	if ((header[0] & 2) != 0)
		memset(damaged, 0, real.stack_bytes);
	for (size_t i = HEADER_BYTES; i + EDIT_BYTES <= bytes; i += EDIT_BYTES)
		edit(data + i);
	unwind_to_depth(depth > 0 ? depth : DEPTH);
	check_frames(depth > 0 ? depth : DEPTH);
	MUST(bytes > 0 || is_complete());
	return 0;
}
