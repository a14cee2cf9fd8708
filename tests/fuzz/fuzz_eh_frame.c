/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables as they lie in memory: .eh_frame_hdr, .eh_frame, and the rows made of them.
 *
 * The input: 16 bits for the header's place, 16 bits for its length, 16 bits for a pc; then the
 * object, with code and tables.  The same bytes are also read as an .eh_frame section without a
 * header.
 */
#include "fuzz.h"

#include <sys/mman.h>

#include "unwind/eh_frame_table.h"
#include "unwind/unwind_rows.h"

#define PREFIX_BYTES 6
#define OBJECT_BYTES ((size_t)32 << 10)
#define STACK_WORDS 64
#define PLACE 0x10000
#define TABLE_ENTRIES 256

static struct hs_memory_cache *memory;
static struct hs_unwind_rows *rows;
static unsigned char *object;

/* To the mapping table the object is generated code. */
static void set_up(void)
{
	struct hs_mapping_table *table;
	struct hs_hint_frames *hinted = hs_hint_frames_create();

	object =
		mmap(NULL, OBJECT_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(object != MAP_FAILED);
	table = hs_mapping_table_create();
	MUST(table != NULL && hs_mapping_table_refresh(table) == 0);
	MUST(mprotect(object, OBJECT_BYTES, PROT_READ | PROT_WRITE) == 0);
	memory = hs_memory_cache_create(table);
	rows = hs_unwind_rows_create(memory, hinted);
	MUST(memory != NULL && hinted != NULL && rows != NULL);
}

static void apply(const struct hs_unwind_row *row)
{
	uint64_t words[STACK_WORDS];
	struct hs_stack_window window = {
		.start = PLACE, .bytes = (const uint8_t *)words, .size = sizeof words};
	struct hs_regs regs;

	for (unsigned i = 0; i < STACK_WORDS; i++)
		words[i] = PLACE + i * 8;
	for (unsigned i = 0; i < HS_ARCH_REGS; i++)
		*hs_arch_register(&regs, i) = PLACE + sizeof words / 2;
	if (hs_row_apply(row, &window, &regs))
		MUST(regs.sp % 8 != 0 || regs.pc == regs.sp - 8);
}

static void make_row(const struct hs_mapping *mapping, uint64_t pc)
{
	struct hs_unwind_row row, last;
	uint64_t end, same_end;

	hs_unwind_rows_make(rows, mapping, pc, &row, &end);
	MUST(row.kind <= HS_ROW_END && end != pc);
	if (row.kind == HS_ROW_REGISTER || row.kind == HS_ROW_REALIGNED)
		apply(&row);
	/* The result is the same again. */
	hs_unwind_rows_make(rows, mapping, pc, &last, &same_end);
	MUST(memcmp(&row, &last, sizeof row) == 0 && end == same_end);
}

static void make_table(const uint8_t *bytes, size_t size)
{
	struct hs_eh_frame section = {bytes, size, PLACE};
	struct hs_eh_frame_entry *entries = malloc(TABLE_ENTRIES * sizeof *entries);
	size_t count =
		hs_eh_frame_table_make(&section, PLACE, PLACE + (1 << 20), entries, TABLE_ENTRIES);

	MUST(count <= size / 4);
	for (size_t i = 0; i < count && i < TABLE_ENTRIES; i++) {
		MUST(entries[i].start >= 0 && entries[i].start < 1 << 20);
		MUST(entries[i].fde >= 0 && (size_t)entries[i].fde < size);
		MUST(i == 0 || entries[i - 1].start <= entries[i].start);
	}
	free(entries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct hs_mapping mapping = {.path = "object"};
	uint16_t place, length, pc;

	if (bytes < PREFIX_BYTES)
		return 0;
	hs_arena_init(FUZZ_BUDGET);
	if (rows == NULL)
		set_up();
	memcpy(&place, data, sizeof place);
	memcpy(&length, data + 2, sizeof length);
	memcpy(&pc, data + 4, sizeof pc);
	data += PREFIX_BYTES;
	bytes -= PREFIX_BYTES;
	if (bytes > OBJECT_BYTES)
		bytes = OBJECT_BYTES;
	memset(object, 0, OBJECT_BYTES);
	memcpy(object, data, bytes);
	hs_memory_cache_forget_changing(memory);
	make_table(data, bytes);
	mapping.start = (uintptr_t)object;
	mapping.end = mapping.start + OBJECT_BYTES;
	mapping.eh_frame_hdr = mapping.start + place % OBJECT_BYTES;
	mapping.eh_frame_hdr_bytes = length;
	for (uint64_t step = 0; step < 8; step++)
		make_row(&mapping, mapping.start + (pc + step * 3) % OBJECT_BYTES);
	make_row(&mapping, pc);
	make_row(&mapping, UINT64_MAX - pc);
	return 0;
}
